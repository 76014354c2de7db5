"""Plays slower cards and slower links on the ones that are there.

Whether a split suits a 5080 beside a 4060 Ti behind four PCIe lanes can be measured without owning them: a fast card
that pauses in proportion after every block is a slow card, and a copy stream that pauses after every piece is a slow
link. The pauses are queued on the card's own streams, so the host runs ahead as it would, and everything that a real
slow card would overlap is still overlapped.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from diffusionforce.pipeline.nesting import map_tensors


def pause(device: torch.device, seconds: float) -> None:
    """Queue a pause on the device's current stream; on devices without streams, wait.

    Args:
        device: Where.
        seconds: How long. 0 or less does nothing.
    """
    if seconds <= 0:
        return
    if device.type != "cuda":
        time.sleep(seconds)
        return
    with torch.cuda.device(device):
        # One thread of one multiprocessor spins; the rest of the card idles, as a slower card's would be busy.
        torch.cuda._sleep(round(seconds * _clock_hz(device)))  # pyright: ignore[reportPrivateUsage]


def _prepare(device: torch.device) -> None:
    """Measure the clock before there is work that the measurement would wait for."""
    if device.type == "cuda":
        _clock_hz(device)


_CLOCKS_HZ: dict[torch.device, float] = {}
_WAKING_S = 0.5
"""A card that did nothing runs at a low clock for a moment."""


def _clock_hz(device: torch.device) -> float:
    """Cycles a second of the card's clock, measured once while the card does nothing else."""
    if device not in _CLOCKS_HZ:
        torch.cuda.synchronize(device)
        with torch.cuda.device(device):
            end_s = time.perf_counter() + _WAKING_S
            while time.perf_counter() < end_s:
                _measured_clock_hz()
            _CLOCKS_HZ[device] = max(_measured_clock_hz() for _ in range(3))
    return _CLOCKS_HZ[device]


def _measured_clock_hz() -> float:
    cycles = 50_000_000
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    torch.cuda._sleep(cycles)  # pyright: ignore[reportPrivateUsage]
    end.record()
    end.synchronize()
    return cycles / (start.elapsed_time(end) / 1000)


class SlowBlocks:
    """Makes blocks take longer than they do, forward and backward, until it is removed.

    The pauses are queued outside of the blocks' own forwards, which may be wrapped, recomputed or replayed from graphs.

    Args:
        blocks: The blocks of one card.
        device: The card.
        forward_s: Seconds added to every forward.
        backward_s: Seconds added to every backward, recomputation included.
    """

    def __init__(
        self, blocks: Sequence[nn.Module], device: torch.device, *, forward_s: float, backward_s: float
    ) -> None:
        self._device = device
        self._forward_s, self._backward_s = forward_s, backward_s
        _prepare(device)
        self._hooks = [block.register_forward_hook(self._after_forward) for block in blocks]

    def remove(self) -> None:
        """Give the blocks their own speed back."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _after_forward(self, _module: nn.Module, _args: Any, output: Any) -> None:
        if torch._C._current_graph_task_id() != -1:  # pyright: ignore
            return  # A recomputation through the whole block: it is part of the backward, which was slowed already.
        pause(self._device, self._forward_s)
        if torch.is_grad_enabled():
            map_tensors(output, self._slow_backward)

    def _slow_backward(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.grad_fn is not None:
            tensor.grad_fn.register_prehook(lambda _gradients: pause(self._device, self._backward_s))
        return tensor


def link_pace(device: torch.device, *, bytes_per_s: float, natural_bytes_per_s: float) -> Callable[[int], None] | None:
    """A pause after every copied piece that makes a link look slower (see `CudaLoadLane`).

    Args:
        device: The card at the link's end.
        bytes_per_s: What the link is to deliver. 0: what it does.
        natural_bytes_per_s: What it delivers by itself.

    Returns:
        A function of the piece's bytes, or None if there is nothing to slow down.
    """
    if not 0 < bytes_per_s < natural_bytes_per_s:
        return None
    _prepare(device)
    pause_s_per_byte = 1 / bytes_per_s - 1 / natural_bytes_per_s
    return lambda num_bytes: pause(device, num_bytes * pause_s_per_byte)
