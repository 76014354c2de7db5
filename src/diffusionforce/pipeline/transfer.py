"""Copies between devices that no device has to wait for before it must.

A plain `tensor.to("cuda:1")` couples two cards: the copy is queued on both cards' compute streams, behind all work
queued there, and each waits for the other. Here a copy starts when its tensor is produced, on streams of its own, and
whoever uses the copy waits for its event, on the card and not on the host. Devices without streams take the same
path with a stand-in lane whose copies are done when they return.

Memory: a copy's storage belongs to the copy stream, so it is marked as used by the stream that receives it, and the
source as used by the copy stream. The allocator then reuses neither before both are done, whoever drops them first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from diffusionforce.pipeline.throttle import pause

Link = tuple[torch.device, torch.device]
"""(from, to)"""


@dataclass(slots=True)
class Parcel:
    """A copy under way: the tensor on its new device, usable once `Transfers.receive` has been called."""

    tensor: torch.Tensor
    ready: torch.Event | None
    """Recorded when the tensor is complete; None on a device without streams."""
    made_on: torch.cuda.Stream | None = None
    """The stream on which it is complete without waiting for the event; there is one wherever there is an event."""


class Lane(Protocol):
    """One direction of copying between two devices."""

    def copy(self, tensor: torch.Tensor, device: torch.device) -> Parcel:
        """Start copying a tensor that carries no gradient to the device at the lane's far end."""
        ...


class HostLane:
    """Stand-in for devices without streams: the copy is complete when `copy` returns."""

    def copy(self, tensor: torch.Tensor, device: torch.device) -> Parcel:
        """Copy at once."""
        return Parcel(tensor.to(device), None)


class CudaLane:
    """Copies from one card to another on a stream of each, in the order in which they were asked for.

    Args:
        link: Source and destination card.
        slowdown_s_per_byte: Extra seconds that every byte takes, to play a slower link on a fast one. 0: none.
    """

    def __init__(self, link: Link, *, slowdown_s_per_byte: float = 0.0) -> None:
        source, destination = link
        self._outgoing = torch.cuda.Stream(source, priority=-1)
        self._incoming = torch.cuda.Stream(destination, priority=-1)
        self._slowdown_s_per_byte = slowdown_s_per_byte

    def copy(self, tensor: torch.Tensor, device: torch.device) -> Parcel:
        """Start the copy behind the work that produces the tensor on the current stream of its card."""
        tensor = tensor.contiguous()
        self._outgoing.wait_event(torch.cuda.current_stream(tensor.device).record_event())
        with torch.cuda.stream(self._outgoing), torch.cuda.stream(self._incoming):
            copied = torch.empty_like(tensor, device=device)
            copied.copy_(tensor, non_blocking=True)
            pause(device, self._slowdown_s_per_byte * tensor.numel() * tensor.element_size())
        tensor.record_stream(self._outgoing)
        return Parcel(copied, self._incoming.record_event(), self._incoming)


class Transfers:
    """Starts copies and hands them over; one lane for each producing stream and link.

    Args:
        link_bytes_per_s: Plays slower links than the machine has: bytes a second per (from, to) link. The time is
            added to what the real link takes. Only between CUDA devices.
    """

    def __init__(self, *, link_bytes_per_s: Mapping[Link, float] | None = None) -> None:
        self.num_copies = 0
        """Copies that crossed from one device to another so far."""
        self._played = dict(link_bytes_per_s or {})
        self._lanes: dict[tuple[int, torch.device, torch.device], Lane] = {}

    def send(self, tensor: torch.Tensor, device: torch.device) -> Parcel:
        """Start a copy.

        Args:
            tensor: Any tensor; its values travel, its autograd history does not.
            device: Where it is wanted.

        Returns:
            The parcel to `receive` where the copy is used. A tensor already there travels nowhere, but may be received
            on another stream.
        """
        tensor = tensor.detach()
        if tensor.device == device:
            if device.type != "cuda":
                return Parcel(tensor, None)
            stream = torch.cuda.current_stream(device)
            return Parcel(tensor, stream.record_event(), stream)
        self.num_copies += 1
        return self._lane(tensor.device, device).copy(tensor, device)

    def receive(self, parcel: Parcel) -> torch.Tensor:
        """Make the current stream of the parcel's device wait for the copy, and give the copy."""
        if parcel.ready is not None:
            stream = torch.cuda.current_stream(parcel.tensor.device)
            assert parcel.made_on is not None  # `stream != None` is False: PyTorch compares streams with streams only.
            if stream != parcel.made_on:
                stream.wait_event(parcel.ready)
                parcel.tensor.record_stream(stream)
        return parcel.tensor

    def move(self, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        """A copy that is needed at once: `send`, then `receive`."""
        return self.receive(self.send(tensor, device))

    def _lane(self, source: torch.device, destination: torch.device) -> Lane:
        on_cards = source.type == destination.type == "cuda"
        # Each producing stream has its own lane: copies queue in order, and one that waits for a slow stream would
        # hold up the copies of another that is done.
        key = (torch.cuda.current_stream(source).cuda_stream if on_cards else 0, source, destination)
        if key not in self._lanes:
            rate = self._played.get((source, destination))
            slowdown = 1.0 / rate if rate else 0.0
            self._lanes[key] = CudaLane((source, destination), slowdown_s_per_byte=slowdown) if on_cards else HostLane()
        return self._lanes[key]


class Hop(torch.autograd.Function):
    """A copy to another device whose gradient comes back the same way."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, device: torch.device, transfers: Transfers) -> torch.Tensor:
        """Copy `tensor` to `device`."""
        ctx.source, ctx.transfers = tensor.device, transfers
        # The gradient is used on the stream on which the tensor was made, which autograd does not tell `backward`.
        ctx.stream = torch.cuda.current_stream(tensor.device) if tensor.device.type == "cuda" else None
        return transfers.move(tensor, device)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """Copy the gradient back to where the tensor came from."""
        if ctx.stream is None:
            return ctx.transfers.move(gradients[0], ctx.source), None, None
        parcel = ctx.transfers.send(gradients[0], ctx.source)
        with torch.cuda.stream(ctx.stream):
            return ctx.transfers.receive(parcel), None, None
