"""What `diffusionforce bench forecast` can be asked."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from diffusionforce.errors import DeviceError, UserError
from diffusionforce.pipeline.placement import full_device


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """One run of the table."""

    devices: tuple[torch.device, ...]
    """One a card; empty: nothing is run, the forecasts are shown alone."""
    names: str = ""
    """Beginnings of jobs' names, with semicolons between them; empty: all jobs."""
    edge: bool = False
    """Run jobs under budgets just above and just below what is forecast."""
    is_small: bool = False
    """Tiny models, for a dry run."""
    only_list: bool = False
    json_path: Path | None = None
    time_limit_s: float = float("inf")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise UserError(f"{message[0].upper()}{message[1:]}.", hint=f"Try: {self.prog} --help")


def parse(arguments: Sequence[str]) -> BenchOptions:
    """Read a command line.

    Args:
        arguments: What follows `diffusionforce bench`.

    Raises:
        UserError: An argument is not understood.
        DeviceError: A device is not there.
    """
    given = _parser().parse_args(arguments)
    return BenchOptions(
        devices=() if given.forecast_only or given.list else _devices(given.device),
        names=given.jobs,
        edge=given.edge,
        is_small=given.small,
        only_list=given.list,
        json_path=given.json,
        time_limit_s=given.time_limit,
    )


def _parser() -> argparse.ArgumentParser:
    top = _Parser(prog="diffusionforce bench", description="Measure on this machine.")
    forecast = top.add_subparsers(metavar="WHAT", required=True).add_parser(
        "forecast",
        help="forecast memory and time beside what the cards show",
        description="Forecasts jobs with random weights and no data, then runs them on one card or two.",
    )
    add = forecast.add_argument
    add("--list", action="store_true", help="name the jobs and end")
    add("--jobs", metavar="NAMES", default="", help="only jobs whose names begin like this; put ; between several")
    add(
        "--device",
        metavar="LIST",
        help="like cuda:0,cuda:1 (default); with one card only jobs of one card are run",
    )
    add("--forecast-only", action="store_true", help="forecast, and run nothing: needs no card")
    add("--edge", action="store_true", help="run jobs under budgets just above and just below what is forecast")
    add("--small", action="store_true", help="tiny models, for a dry run")
    add("--json", metavar="FILE", type=Path, help="write one JSON object a row")
    add("--time-limit", metavar="S", type=float, default=float("inf"), help="begin no job after so many seconds")
    return top


def _devices(text: str | None) -> tuple[torch.device, ...]:
    devices = tuple(full_device(name) for name in (text or "cuda:0,cuda:1").split(","))
    if len(devices) > 2:
        raise DeviceError(f"The jobs are for one card or two, not {len(devices)}.", hint="Name two with --device.")
    for device in devices:
        if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
            raise DeviceError(
                f"There is no {device}; this machine has {torch.cuda.device_count()} CUDA devices.",
                hint="--forecast-only shows the forecasts alone.",
            )
    return devices
