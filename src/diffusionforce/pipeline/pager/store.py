"""A block's frozen tensors as one run of bytes in RAM, from which the whole block travels in one copy.

A block of a diffusion transformer holds some thirty tensors. Copied one by one they are thirty launches a visit, and
the small ones never reach the link's speed. So each block's frozen parameters and buffers (the scales of 8-bit weights
among them) are packed into one host buffer, and a slot on the card is another run of bytes with the same layout:
one copy brings everything, and a block "moves in" by pointing its tensors at views of the slot.

Trained parameters stay on the card: they are small (LoRA), the optimiser writes them, and what a slot drops is never
written back.

Host buffers are page-locked, because only then a copy runs beside the card's work. The amount that a machine lets a
program lock is limited (Windows: about half the RAM), so locking stops at a limit, and what is over it stays ordinary
memory: slower, but it trains. PyTorch's own pinned allocator rounds sizes up to a power of two, which costs up to half
the RAM at 700 MB a block; so memory is taken as usual and registered with the driver.
"""

import logging
import weakref
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

logger = logging.getLogger(__name__)

_ALIGNMENT_BYTES = 256
_PAGE_BYTES = 4096
_PORTABLE = 1
"""The memory counts as locked for all cards, not only for the current one."""


@dataclass(frozen=True, kw_only=True)
class PackedTensor:
    """Where one tensor of a block lies in the block's run of bytes."""

    name: str
    """Qualified name inside the block, for messages."""
    tensor: torch.Tensor
    """The module's own parameter or buffer; its `.data` is what moves."""
    is_buffer: bool
    offset_bytes: int
    num_bytes: int
    stride: tuple[int, ...]
    """How the tensor lay in memory of its own before it was packed. Kernels are chosen by it."""

    def view(self, run: torch.Tensor) -> torch.Tensor:
        """The tensor's bytes in `run` (1-D, uint8), with its dtype and shape."""
        piece = run[self.offset_bytes : self.offset_bytes + self.num_bytes]
        return piece.view(self.tensor.dtype).view(self.tensor.shape)


def frozen_tensors(block: nn.Module) -> Iterator[tuple[str, torch.Tensor, bool]]:
    """The tensors of a block that may be paged: (name, tensor, is it a buffer).

    Trained parameters, parameters that share memory with others of the block, and tensor subclasses (whose bytes are
    not all in one place) are left out and stay where they are. Neighbours in one large buffer share none.
    """
    taken: list[_Span] = []
    named = [(name, item, False) for name, item in block.named_parameters()]
    named += [(name, item, True) for name, item in block.named_buffers()]
    for name, item, is_buffer in named:
        plain = type(item) in (nn.Parameter, torch.Tensor)
        if not plain or item.requires_grad or item.numel() == 0 or item.layout != torch.strided:
            continue
        span = _span(item)
        if not any(span.overlaps(other) for other in taken):
            taken.append(span)
            yield name, item, is_buffer


def tensors_in_common(blocks: Sequence[nn.Module]) -> set[int]:
    """The identities of frozen tensors whose memory tensors of other blocks use too."""
    spans = sorted(
        (_span(tensor), index, id(tensor))
        for index, block in enumerate(blocks)
        for _, tensor, _ in frozen_tensors(block)
    )
    found: set[int] = set()
    for number, (span, index, identity) in enumerate(spans):
        for other, its_index, its_identity in spans[number + 1 :]:
            if not span.overlaps(other):
                break
            if its_index != index:
                found |= {identity, its_identity}
    return found


class _Span(NamedTuple):
    """The addresses that a tensor's entries take."""

    device: str
    first: int
    end: int

    def overlaps(self, other: "_Span") -> bool:
        return self.device == other.device and self.first < other.end and other.first < self.end


def _span(tensor: torch.Tensor) -> _Span:
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    first = tensor.data_ptr()
    return _Span(str(tensor.device), first, first + (reach + 1) * tensor.element_size())


class PackedBlock:
    """One block's frozen tensors in host memory, and the switch that points them there or at a slot.

    Making one moves the block's frozen tensors to host memory.

    Args:
        block: The block, on any device.
        excluded: Identities of tensors that stay where they are, see `tensors_in_common`.
        pinned: Locks the host memory, if it can.
    """

    def __init__(
        self, block: nn.Module, *, excluded: Container[int] = (), pinned: "PinnedMemory | None" = None
    ) -> None:
        self.tensors: list[PackedTensor] = []
        offset = 0
        for name, tensor, is_buffer in frozen_tensors(block):
            if id(tensor) in excluded:
                continue
            num_bytes = tensor.numel() * tensor.element_size()
            self.tensors.append(
                PackedTensor(
                    name=name,
                    tensor=tensor,
                    is_buffer=is_buffer,
                    offset_bytes=offset,
                    num_bytes=num_bytes,
                    stride=torch.empty_like(tensor, device="meta").stride(),
                )
            )
            offset += -(-num_bytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
        self.num_bytes = offset
        self.host = page_aligned(offset)
        self._pinned = pinned  # Kept: the memory must stay locked as long as somebody can copy from it.
        if pinned is not None and offset:
            pinned.lock(self.host)  # Before it is filled: copies from a card into locked memory are much faster.
        self._home = [packed.view(self.host) for packed in self.tensors]
        self._views: dict[int, list[torch.Tensor]] = {}
        self._buffers = [packed for packed in self.tensors if packed.is_buffer]
        self._versions: list[int] = []
        self.pack()

    def pack(self) -> None:
        """Copy the tensors from where they are to host memory, and point them there."""
        for packed, home in zip(self.tensors, self._home, strict=True):
            home.copy_(packed.tensor.data)
        self.drop()

    def unpack(self, device: torch.device) -> None:
        """Give each tensor memory of its own again, laid out as it was; the copies are queued on the current stream."""
        for packed, home in zip(self.tensors, self._home, strict=True):
            own = torch.empty_strided(home.shape, packed.stride, dtype=home.dtype, device=device)
            own.copy_(home, non_blocking=True)
            packed.tensor.data = own

    def still_packs(self, block: nn.Module) -> bool:
        """Whether these are the block's tensors, and could be packed once more."""
        present = {id(tensor) for _, tensor, _ in frozen_tensors(block)}
        return all(id(packed.tensor) in present for packed in self.tensors)

    def move_into(self, slot: torch.Tensor) -> None:
        """Point the tensors at `slot`, a run of bytes (1-D, uint8) on a card. Copies nothing."""
        key = slot.data_ptr()
        if key not in self._views:
            # Views made while gradients are off for good could never be trained with.
            with torch.inference_mode(False):
                self._views[key] = [packed.view(slot) for packed in self.tensors]
        self._point_at(self._views[key])
        self._versions = [packed.tensor._version for packed in self._buffers]

    def drop(self) -> None:
        """Point the tensors at host memory again. A use out of turn then fails loudly, by its device."""
        self._point_at(self._home)

    def forget_slots(self) -> None:
        """Let go of slots, which live as long as views of them are kept."""
        self._views.clear()

    def written_buffer(self) -> str | None:
        """The name of a buffer that was written in place since `move_into`: its new value would be lost."""
        for packed, version in zip(self._buffers, self._versions, strict=True):
            if packed.tensor._version != version:
                return packed.name
        return None

    def _point_at(self, views: list[torch.Tensor]) -> None:
        for packed, view in zip(self.tensors, views, strict=True):
            packed.tensor.data = view


def page_aligned(num_bytes: int) -> torch.Tensor:
    """Host memory that begins and ends on page boundaries, so that it can be locked without touching a neighbour.

    Returns:
        1-D uint8 tensor on the CPU of `num_bytes` bytes, uninitialised.
    """
    whole = -(-max(num_bytes, 1) // _PAGE_BYTES) * _PAGE_BYTES
    memory = torch.empty(whole + _PAGE_BYTES, dtype=torch.uint8)
    start = -memory.data_ptr() % _PAGE_BYTES
    return memory[start : start + num_bytes]


class PinnedMemory:
    """Locks host buffers in RAM until it is released or garbage, up to a limit.

    Args:
        limit_bytes: The most to lock. 0 locks nothing.
    """

    def __init__(self, *, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.locked_bytes = 0
        self.unlocked_bytes = 0
        """Bytes that were over the limit, or that the driver refused."""
        self._locked: list[torch.Tensor] = []
        self._finalizer = weakref.finalize(self, _unlock, self._locked)

    def lock(self, buffer: torch.Tensor) -> bool:
        """Lock a buffer made by `page_aligned`.

        Returns:
            Whether it is locked now. The first refusal is logged as a warning.
        """
        num_bytes = -(-buffer.numel() // _PAGE_BYTES) * _PAGE_BYTES
        if self.locked_bytes + num_bytes <= self.limit_bytes and _register(buffer, num_bytes):
            self._locked.append(buffer)
            self.locked_bytes += num_bytes
            return True
        if not self.unlocked_bytes:
            logger.warning(
                "Only %.1f GiB of RAM could be locked for paging (limit %.1f GiB); the rest is copied from ordinary "
                "memory, which is slower. Close other programs, or page fewer blocks.",
                self.locked_bytes / 2**30,
                self.limit_bytes / 2**30,
            )
        self.unlocked_bytes += num_bytes
        return False

    def release(self) -> None:
        """Unlock everything. The buffers stay valid as ordinary memory."""
        _unlock(self._locked)
        self.locked_bytes = 0


def _register(buffer: torch.Tensor, num_bytes: int) -> bool:
    runtime: Any = torch.cuda.cudart()
    if runtime.cudaHostRegister(buffer.data_ptr(), num_bytes, _PORTABLE) == runtime.cudaError.success:
        return True
    # The runtime remembers the refusal and would report it at the next, innocent, kernel launch.
    try:
        torch.zeros(1, device="cuda")
    except RuntimeError:
        logger.debug("cleared the driver's note of a refused registration")
    return False


def _unlock(locked: list[torch.Tensor]) -> None:
    runtime: Any = torch.cuda.cudart() if locked else None
    while locked:
        runtime.cudaHostUnregister(locked.pop().data_ptr())
