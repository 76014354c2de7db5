"""Measures the cards of this machine: one block of a large model's kind on each, and the links between all of them.

The block is smaller than those of the largest models, so that it fits a card of 8 GB that shows a desktop as well, and
its matrix products are large enough to be limited by the card and not by whoever issues them. The rest of a block waits
for the card's memory, which is measured by itself: models differ in how much of that there is.
"""

from collections.abc import Sequence

import torch
from torch import nn

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.bench.model import BenchmarkModel, BenchmarkShape, WanShapedBlock, random_batch
from diffusionforce.pipeline.recompute.eager import recomputed
from diffusionforce.pipeline.splitter.calibration import LinkRates, time_block, time_links
from diffusionforce.pipeline.splitter.host_time import host_seconds
from diffusionforce.pipeline.tracer.numbers import BlockTrace
from diffusionforce.pipeline.tracer.trace import Subject, trace_training
from diffusionforce.trainer.forecasting.card_speeds import CardSpeed, CardSpeeds
from diffusionforce.trainer.forecasting.rigs import MEASURED, Rig

PROBE = BenchmarkShape(num_blocks=2, width=3072, feed_forward_width=8192, num_heads=24)
PROBE_TOKENS = 8192
_FEW_TOKENS = 64
_MEMORY_LIMIT_S = 0.3
_LEAST_MULTIPLYING = 0.2
"""Share of a block's time that is taken for its products at least, whatever was measured of memory."""
_BOUNDARY_BYTES = 42 << 20
"""What crosses for a picture of 1024 x 1024 in a model of 14 billion parameters."""


def measure_rig(rig: Rig, *, speeds: CardSpeeds | None = None) -> None:
    """Measure the cards of this machine and remember what was found.

    Args:
        rig: The cards that are here.
        speeds: Where it is remembered. None: in the data folder.

    Raises:
        DeviceError: PyTorch does not see a card that the driver shows, or a card has no room for the block.
    """
    devices = [_device_of(name) for name in rig.names]
    found = measured(devices)
    names = [name.removesuffix(MEASURED) for name in rig.names]
    (speeds or CardSpeeds()).keep(dict(zip(names, found, strict=True)))


def measured(
    devices: Sequence[torch.device],
    *,
    shape: BenchmarkShape = PROBE,
    num_tokens: int = PROBE_TOKENS,
    boundary_bytes: int = _BOUNDARY_BYTES,
) -> list[CardSpeed]:
    """Measure devices.

    Args:
        devices: All that will work together.
        shape: Sizes of the block.
        num_tokens: Tokens that it is given.
        boundary_bytes: Size of what is sent across.

    Raises:
        DeviceError: A card has no room for the block.
    """
    block = _traced_block(shape, num_tokens)
    links = time_links(devices, boundary_bytes=boundary_bytes)
    seconds = [_block_s(device, shape, num_tokens) for device in devices]
    rates = [_memory_bytes_per_s(device, shape, num_tokens) for device in devices]
    moved_bytes = block.forward_moved_bytes + block.backward_moved_bytes
    return [
        CardSpeed(
            flops=(block.forward_flops + block.backward_flops)
            / max(on_card_s - moved_bytes / rates[index], _LEAST_MULTIPLYING * on_card_s),
            memory_bytes_per_s=rates[index],
            paging_bytes_per_s=links.paging_bytes_per_s[index],
            crossing_bytes_per_s=_crossing(links, index, boundary_bytes),
            launch_s=on_host_s / block.launches,
        )
        for index, (on_card_s, on_host_s) in enumerate(seconds)
    ]


def _block_s(device: torch.device, shape: BenchmarkShape, num_tokens: int) -> tuple[float, float]:
    """(on the card, on the host) for a forward and backward, recomputed as the pipeline does it."""
    try:
        block = _Recomputed(WanShapedBlock(shape, device, checkpointing=False))
        times = time_block(block, _call(shape, num_tokens, device), {}, device=device)
        on_host_s = sum(host_seconds(block, _call(shape, _FEW_TOKENS, device), {}, device=device))
    except torch.OutOfMemoryError as error:
        raise DeviceError(
            f"{device} has no room to be measured.", hint="Close other programs that use the card.", detail=str(error)
        ) from error
    return times.forward_s + times.backward_s, on_host_s


class _Recomputed(nn.Module):
    """A block as the pipeline calls it."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        return recomputed(self.block, args, {})


def _memory_bytes_per_s(device: torch.device, shape: BenchmarkShape, num_tokens: int) -> float:
    """What a few kernels read and write that change the numbers of a block's output, one after the other."""
    x = torch.randn(num_tokens, shape.width, device=device).to(shape.dtype)
    half_bytes, full_bytes = x.itemsize, torch.float32.itemsize
    moved_bytes = x.numel() * (2 * (half_bytes + full_bytes) + 2 * 2 * full_bytes)
    times = time_block(_Changed(), (x,), {}, device=device, limit_s=_MEMORY_LIMIT_S)
    return moved_bytes / times.forward_s


class _Changed(nn.Module):
    """Into full precision, two operations there, and back."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(T, D) -> (T, D)"""
        return (x.float() * 0.5 + 0.25).to(x.dtype)


def _call(shape: BenchmarkShape, num_tokens: int, device: torch.device) -> tuple[torch.Tensor, ...]:
    """A block's arguments."""
    x = torch.randn(1, num_tokens, shape.width, device=device).to(shape.dtype)
    modulation = torch.zeros(1, 6, shape.width, device=device, dtype=shape.dtype)
    return x, modulation, random_batch(shape, num_tokens=num_tokens, device=device).text


def _traced_block(shape: BenchmarkShape, num_tokens: int) -> BlockTrace:
    """A block as a forecast counts it."""
    trace = trace_training(
        Subject(
            make_model=lambda: BenchmarkModel(shape, home=torch.device("meta")),
            blocks_of=lambda model: list(model.blocks),  # pyright: ignore[reportArgumentType]
            make_batch=lambda device: random_batch(shape, num_tokens=num_tokens, device=device),
            run=lambda model, batch: model.loss(batch),  # pyright: ignore[reportCallIssue]
        )
    )
    return trace.kinds[trace.kind_of_block[-1]]


def _crossing(links: LinkRates, index: int, boundary_bytes: int) -> float:
    others = [other for other in range(len(links.crossing_s)) if other != index]
    slowest_s = max(
        (max(links.crossing_s[index][other], links.crossing_s[other][index]) for other in others), default=0.0
    )
    return boundary_bytes / slowest_s if slowest_s > 0 else 0.0


def _device_of(name: str) -> torch.device:
    """The device of a card, found by what the driver calls it."""
    for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        if str(torch.cuda.get_device_properties(index).uuid) in name:
            return torch.device("cuda", index)
    raise DeviceError(
        "PyTorch does not see a card that the driver shows, so it cannot be measured.",
        hint="diffusionforce doctor says why a card is not seen.",
        detail=name,
    )
