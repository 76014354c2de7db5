"""How a block's bytes get into a slot: on a copy stream of the card, beside its computing.

A copy queued on the stream that computes would wait for the work before it and hold up the work after it. Here every
card has one stream for the loads and events in both directions: a load waits until the last use of its slot is over,
the use waits until the load has arrived. Only the card waits; the host goes on issuing work.

Devices without streams take the same path with a lane that copies at once, so the order of everything is tested there.
"""

from collections.abc import Callable
from typing import Protocol

import torch

_PIECE_BYTES = 32 << 20


class LoadLane(Protocol):
    """Brings runs of bytes from RAM into one card's slots, in the order asked for."""

    def load(self, slot: int, memory: torch.Tensor, source: torch.Tensor) -> None:
        """Start copying `source` (host, uint8) to the front of `memory` (the slot's bytes on the card)."""
        ...

    def begin_use(self, slot: int) -> None:
        """Make the work issued from now on wait until the slot's last load has arrived."""
        ...

    def end_use(self, slot: int) -> None:
        """Say that all work that reads the slot has been issued; a later `load` waits for that work."""
        ...


class HostLoadLane:
    """For devices without streams: a load is complete when `load` returns."""

    def load(self, slot: int, memory: torch.Tensor, source: torch.Tensor) -> None:
        """Copy at once."""
        memory[: source.numel()].copy_(source)

    def begin_use(self, slot: int) -> None:
        """Nothing to wait for."""

    def end_use(self, slot: int) -> None:
        """Nothing to remember."""


class CudaLoadLane:
    """One card's copy stream.

    Args:
        device: The card.
        pace: Called on the copy stream after every piece, with its size in bytes; it may queue a pause there, to play
            a slower link.
    """

    def __init__(self, device: torch.device, *, pace: Callable[[int], None] | None = None) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._pace = pace
        self._arrived: dict[int, torch.cuda.Event] = {}
        self._used: dict[int, torch.cuda.Event] = {}
        self._users: dict[int, torch.cuda.Stream] = {}

    def load(self, slot: int, memory: torch.Tensor, source: torch.Tensor) -> None:
        """Queue the copy behind the slot's last use."""
        if slot in self._used:
            self._stream.wait_event(self._used[slot])
        else:
            # The allocator may have handed out memory that earlier work on the card's own stream still reads.
            self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            if self._pace is None:
                memory[: source.numel()].copy_(source, non_blocking=True)
            else:
                self._load_in_pieces(memory, source, self._pace)
        self._arrived[slot] = _now(self._stream)

    def _load_in_pieces(self, memory: torch.Tensor, source: torch.Tensor, pace: Callable[[int], None]) -> None:
        for start in range(0, source.numel(), _PIECE_BYTES):
            piece = source[start : start + _PIECE_BYTES]
            memory[start : start + piece.numel()].copy_(piece, non_blocking=True)
            pace(piece.numel())

    def begin_use(self, slot: int) -> None:
        """The card's current stream waits for the load."""
        stream = torch.cuda.current_stream(self._device)
        stream.wait_event(self._arrived[slot])
        self._users[slot] = stream

    def end_use(self, slot: int) -> None:
        """Mark the place in the stream that used the slot."""
        self._used[slot] = _now(self._users[slot])


def _now(stream: torch.cuda.Stream) -> torch.cuda.Event:
    event = torch.cuda.Event()
    event.record(stream)
    return event


def load_lane(device: torch.device, *, pace: Callable[[int], None] | None = None) -> LoadLane:
    """The lane for a device: a copy stream where there are streams, plain copies elsewhere."""
    return CudaLoadLane(device, pace=pace) if device.type == "cuda" else HostLoadLane()
