"""What `diffusionforce bench pipeline` can be asked."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from diffusionforce.errors import DeviceError, UserError
from diffusionforce.pipeline.bench.model import BenchmarkShape
from diffusionforce.pipeline.placement import full_device

WAYS = ("turns", "gpipe", "1f1b", "interleaved", "greedy", "alone", "resident", "split")
_NUM_CHUNKS = 10
_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """One benchmark run."""

    devices: tuple[torch.device, ...]
    """One a card; the same device may appear twice to play two cards."""
    shape: BenchmarkShape = field(default_factory=BenchmarkShape)
    num_tokens: int = 4096
    num_microbatches: tuple[int, ...] = (2, 4, 8)
    ways: tuple[str, ...] = ("turns", "gpipe", "1f1b", "interleaved")
    """Out of `WAYS`. alone: the fastest card by itself, paging what it cannot hold; resident: the splitter's choice
    without paging; split: the splitter's choice."""
    chunks_per_card: int = _NUM_CHUNKS
    budgets_bytes: tuple[int, ...] = ()
    """What each card may use; empty: all it has."""
    slowdowns: tuple[float, ...] = ()
    """How many times slower each card is played; empty: none."""
    links_bytes_per_s: tuple[float, ...] = ()
    """What each card's link is played to deliver; 0 or empty: what it does."""
    recompute: str = "pipeline"
    """Who recomputes activations: the "model" inside its blocks, the "pipeline" around them, or its captured "graphs".
    One card alone always leaves it to the model."""
    num_steps: int = 3
    num_warm_up_steps: int = 2
    num_neighbours: int = 0
    """Also measure splits with up to so many blocks more or fewer on the first card than the splitter's choice."""
    pinned_limit_bytes: int | None = None
    json_path: Path | None = None
    timeline_folder: Path | None = None
    time_limit_s: float = float("inf")

    def slowdown(self, card: int) -> float:
        """How many times slower a card is played; 1 is as it is."""
        return self.slowdowns[card] if self.slowdowns else 1.0

    def link_bytes_per_s(self, card: int) -> float:
        """What a card's link is played to deliver; 0 is what it does."""
        return self.links_bytes_per_s[card] if self.links_bytes_per_s else 0.0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise UserError(f"{message[0].upper()}{message[1:]}.", hint=f"Try: {self.prog} --help")


def parse(arguments: Sequence[str]) -> BenchOptions:
    """Read a command line.

    Args:
        arguments: What follows `diffusionforce bench`.

    Raises:
        UserError: An argument is not understood.
        DeviceError: A device is not there, or a list has not one entry for each device.
    """
    given = _parser().parse_args(arguments)
    devices = tuple(full_device(name) for name in (given.device or _cards()).split(","))
    for device in devices:
        if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
            raise DeviceError(f"There is no {device}; this machine has {torch.cuda.device_count()} CUDA devices.")
    if given.width % given.heads:
        raise UserError(f"--width is {given.width}, which {given.heads} heads cannot share.", hint="Change --heads.")
    shape = BenchmarkShape(
        num_blocks=given.blocks,
        width=given.width,
        feed_forward_width=given.feed_forward,
        num_heads=given.heads,
        num_text_tokens=given.text_tokens,
        lora_rank=given.rank,
        dtype=_DTYPES[given.dtype],
    )
    return BenchOptions(
        devices=devices,
        shape=shape,
        num_tokens=given.tokens,
        num_microbatches=_counts(given.microbatches),
        ways=_ways(given.ways),
        chunks_per_card=_chunks(given.chunks, num_blocks=given.blocks, num_cards=len(devices)),
        budgets_bytes=tuple(int(gib * 2**30) for gib in _each(given.budget_gib, devices, "--budget-gib")),
        slowdowns=_each(given.slowdown, devices, "--slowdown"),
        links_bytes_per_s=tuple(rate * 1e9 for rate in _each(given.link_gbps, devices, "--link-gbps")),
        recompute=given.recompute,
        num_steps=given.steps,
        num_warm_up_steps=given.warm_up,
        num_neighbours=given.neighbours,
        pinned_limit_bytes=None if given.pinned_gib is None else int(given.pinned_gib * 2**30),
        json_path=given.json,
        timeline_folder=given.timeline,
        time_limit_s=given.time_limit,
    )


def _parser() -> argparse.ArgumentParser:
    top = _Parser(prog="diffusionforce bench", description="Measure the pipeline on this machine.")
    pipeline = top.add_subparsers(metavar="WHAT", required=True).add_parser(
        "pipeline",
        help="schedules side by side on random weights",
        description="Trains a model of the Wan 2.1 14B shape with random weights for a few steps in several ways.",
    )
    add = pipeline.add_argument
    add("--device", metavar="LIST", help="cards in order, like cuda:0,cuda:1 (default: all); cpu,cpu for a dry run")
    add("--ways", metavar="LIST", default="turns,gpipe,1f1b,interleaved", help=f"out of {','.join(WAYS)}")
    add("--microbatches", metavar="LIST", default="2,4,8", help="micro-batches of a step")
    add(
        "--chunks",
        metavar="N",
        type=_count,
        help="chunks a card of the interleaved schedules (default: 10, or what fits)",
    )
    add("--recompute", choices=("model", "pipeline", "graphs"), default="pipeline", help="who recomputes activations")
    add("--steps", metavar="N", type=_count, default=3, help="measured steps; 200 shows leaks and drift")
    add("--warm-up", metavar="N", type=_count_or_none, default=2, help="steps before them")
    add("--budget-gib", metavar="LIST", help="memory that each card may use; plays smaller cards")
    add("--slowdown", metavar="LIST", help="how many times slower each card is to be; plays slower cards")
    add("--link-gbps", metavar="LIST", help="GB/s that each card's link is to deliver, 0 for what it does")
    add(
        "--neighbours",
        metavar="N",
        type=_count_or_none,
        default=0,
        help="also measure splits N blocks around the chosen one",
    )
    add("--pinned-gib", metavar="GIB", type=float, help="the most RAM to lock (default: half of what is free)")
    add("--json", metavar="FILE", type=Path, help="write one JSON object a row")
    add("--timeline", metavar="DIR", type=Path, help="write who was busy when, as a picture and as JSON")
    add("--time-limit", metavar="S", type=float, default=float("inf"), help="begin no row after so many seconds")
    add("--tokens", metavar="N", type=_count, default=4096, help="picture tokens of a sample (1024 x 1024: 4096)")
    add("--blocks", metavar="N", type=_count, default=40, help="blocks of the model")
    add("--width", metavar="N", type=_count, default=5120, help="width of a block")
    add("--feed-forward", metavar="N", type=_count, default=13824, help="width inside its feed-forward part")
    add("--heads", metavar="N", type=_count, default=40, help="attention heads; they share the width evenly")
    add("--text-tokens", metavar="N", type=_count, default=512, help="text tokens of a sample")
    add("--rank", metavar="N", type=_count, default=32, help="LoRA rank")
    add("--dtype", choices=sorted(_DTYPES), default="bf16", help="number format of the weights")
    return top


def _cards() -> str:
    count = torch.cuda.device_count()
    if not count:
        raise DeviceError(
            "No CUDA device was found to measure.", hint="Name devices with --device; cpu,cpu makes a dry run."
        )
    return ",".join(f"cuda:{index}" for index in range(count))


def _ways(text: str) -> tuple[str, ...]:
    ways = tuple(text.split(","))
    for way in ways:
        if way not in WAYS:
            raise UserError(f'"{way}" is no way to train.', hint=f"Choose out of {', '.join(WAYS)}.")
    return ways


def _count(text: str, *, least: int = 1) -> int:
    """The type of arguments that count something."""
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} up")
    return int(text)


def _count_or_none(text: str) -> int:
    return _count(text, least=0)


def _counts(text: str) -> tuple[int, ...]:
    try:
        return tuple(_count(part) for part in text.split(","))
    except argparse.ArgumentTypeError as problem:
        raise UserError(f"--microbatches: {problem}.", hint="Write them like 2,4,8.") from problem


def _chunks(given: int | None, *, num_blocks: int, num_cards: int) -> int:
    """What was asked for, if every chunk gets a block; else ten, or as many as there can be."""
    most = num_blocks // num_cards
    if most == 0:
        raise UserError(f"--blocks is {num_blocks}, fewer than cards.", hint=f"Write at least {num_cards}.")
    if given is not None and given > most:
        raise UserError(
            f"--chunks is {given}: {num_blocks} blocks on {num_cards} cards make {most} a card at most.",
            hint=f"Write up to {most}, or more --blocks.",
        )
    return given or min(_NUM_CHUNKS, most)


def _numbers(text: str, name: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError as problem:
        raise UserError(f'{name} is "{text}", which is no list of numbers.', hint="Write them like 2,4,8.") from problem
    # A budget or a slowdown of 0 leaves nothing to measure; a link of 0 is left as it is.
    if not all(math.isfinite(value) and (value > 0 or (value == 0 and name == "--link-gbps")) for value in values):
        raise UserError(f'{name} is "{text}"; write finite numbers above 0.')
    return values


def _each(text: str | None, devices: Sequence[torch.device], name: str) -> tuple[float, ...]:
    if text is None:
        return ()
    values = _numbers(text, name)
    if len(values) == 1:
        values *= len(devices)
    if len(values) != len(devices):
        raise DeviceError(f"{name} has {len(values)} entries for {len(devices)} devices.")
    return values
