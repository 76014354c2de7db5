"""Seconds that a forecast of time is made of, measured on the cards that will run the jobs.

A card's own time for a block is one half. The other is the host: it issues the kernels of all cards in turn, and where
it takes longer than the cards take to run them, it sets the pace. Its time shows where the cards have almost nothing
to do, with a few tokens.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from diffusionforce.pipeline.nesting import map_tensors
from diffusionforce.pipeline.recompute.eager import recomputed
from diffusionforce.pipeline.splitter.calibration import LinkRates, time_block, time_links
from diffusionforce.pipeline.splitter.host_time import host_seconds
from diffusionforce.pipeline.tracer.hollow import HollowMode
from diffusionforce.pipeline.tracer.parts import made_of_nothing, make_hollow
from diffusionforce.pipeline.tracer.standins import autocast_for_cards
from diffusionforce.trainer.forecast_bench.jobs import Recompute
from diffusionforce.trainer.forecast_bench.models import BenchModel, blocks_of

FEW_TOKENS = 64
_TURNS = 12
_MEASURE_S = 0.8

Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class BlockSpeed:
    """One micro-batch through one block."""

    forward_s: float
    backward_s: float
    """On the card, recomputing included."""
    host_forward_s: float = 0.0
    host_backward_s: float = 0.0
    """Of the thread that issues it."""


class _Called(nn.Module):
    """A block as a job calls it.

    Args:
        block: The block.
        recompute: Who recomputes.
        autocast: Whether to run it under autocast to bfloat16.
    """

    def __init__(self, block: nn.Module, *, recompute: Recompute, autocast: bool) -> None:
        super().__init__()
        self.block, self._recompute, self._autocast = block, recompute, autocast

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the block."""
        with torch.autocast("cuda", torch.bfloat16, enabled=self._autocast):
            if self._recompute in ("pipeline", "graphs"):
                return recomputed(self.block, args, kwargs)
            return self.block(*args, **kwargs)


def calls_of(model: BenchModel, *, num_tokens: int, blocks: Sequence[int]) -> list[Arguments]:
    """What a model hands to some of its blocks, as tensors without contents.

    Args:
        model: The model.
        num_tokens: Picture tokens.
        blocks: Indices of the blocks.
    """
    calls: dict[int, Arguments] = {}
    made = made_of_nothing(lambda: model.make(torch.device("meta"), None))

    def noted(index: int) -> Callable[..., None]:
        def note(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            calls[index] = map_tensors(args, _shape), map_tensors(kwargs, _shape)

        return note

    with autocast_for_cards(), HollowMode(), torch.no_grad():
        make_hollow(made, skipping=())
        listed = blocks_of(made)
        for index in blocks:
            listed[index].register_forward_pre_hook(noted(index), with_kwargs=True)
        model.evaluate(made, model.make_batch(num_tokens, torch.device("cpu"), 0))
    return [calls[index] for index in blocks]


def block_speed(
    block: nn.Module,
    call: Arguments,
    few: Arguments,
    *,
    device: torch.device,
    recompute: Recompute,
    autocast: bool,
) -> BlockSpeed:
    """Measure a block where it is.

    Args:
        block: The block, on `device`.
        call: What it is called with, see `calls_of`.
        few: The same with few tokens.
        device: The card.
        recompute: Who recomputes.
        autocast: Whether the job runs under autocast.
    """
    wrapped = _Called(block, recompute=recompute, autocast=autocast and device.type == "cuda")
    args, kwargs = _on(call, device)
    limit_s = _MEASURE_S if device.type == "cuda" else 0.0
    times = time_block(wrapped, args, kwargs, device=device, limit_s=limit_s)
    if device.type != "cuda":
        return BlockSpeed(forward_s=times.forward_s, backward_s=times.backward_s)
    few_args, few_kwargs = _on(few, device)
    host = host_seconds(wrapped, few_args, few_kwargs, device=device)
    for parameter in block.parameters():
        parameter.grad = None
    if recompute == "graphs":
        host = 0.0, 0.0  # A replay is one launch.
    return BlockSpeed(
        forward_s=times.forward_s, backward_s=times.backward_s, host_forward_s=host[0], host_backward_s=host[1]
    )


def sample_speed(block: nn.Module, call: Arguments, *, device: torch.device) -> BlockSpeed:
    """Measure a block's forward without gradients where it is. Arguments as for `block_speed`."""
    args, kwargs = _on(call, device)
    found: list[float] = []
    with torch.no_grad():
        for _ in range(_TURNS):
            _wait(device)
            begin_s = time.perf_counter()
            for _ in range(3):
                block(*args, **kwargs)
            _wait(device)
            found.append((time.perf_counter() - begin_s) / 3)
    return BlockSpeed(forward_s=statistics.median(found[2:]), backward_s=0.0)


def optimizer_s(parameters: Sequence[nn.Parameter], model: BenchModel) -> float:
    """Seconds of an optimiser step for some parameters, as the host sees it."""
    device = parameters[0].device
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    copies = [nn.Parameter(parameter.detach().clone()) for parameter in parameters]
    optimizer = model.make_optimizer(copies)
    found: list[float] = []
    for _ in range(_TURNS // 2):
        for copied, parameter in zip(copies, parameters, strict=True):
            copied.grad = parameter.grad
        _wait(device)
        begin_s = time.perf_counter()
        optimizer.step()
        _wait(device)
        found.append(time.perf_counter() - begin_s)
    for parameter in parameters:
        parameter.grad = None
    return statistics.median(found[1:])


def links(devices: Sequence[torch.device], *, boundary_bytes: int) -> LinkRates:
    """What crossing between the cards and paging to them takes."""
    return time_links(devices, boundary_bytes=boundary_bytes)


def _shape(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")


def _on(call: Arguments, device: torch.device) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Random numbers of a call's shapes on a device."""

    def made(shape: torch.Tensor) -> torch.Tensor:
        return torch.randn(shape.shape, device=device).to(shape.dtype)

    args, kwargs = call
    return map_tensors(args, made), map_tensors(dict(kwargs), made)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
