"""The slots of one card that pages: what is in them, who is using one, what to copy next.

A visit is the time from a block's first kernel being issued to its last; then its slot may be overwritten once the
card has run them. The host only issues: waiting happens on the card, by the events of the copy lane.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.pager.lanes import LoadLane
from diffusionforce.pipeline.pager.slots import Load, SlotPlanner, VisitOrder
from diffusionforce.pipeline.pager.store import PackedBlock


@dataclass(slots=True)
class PagingCount:
    """What one card's pager has done so far."""

    visits: int = 0
    """Visits to paged blocks."""
    loads: int = 0
    """Copies from RAM."""
    late_loads: int = 0
    """Copies started only when the block was already wanted: the visit order is not the real one."""
    loaded_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _SlotReference:
    """A saved tensor that lies in a slot: where, relative to the slot's beginning, and in whose block."""

    block: int
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    """In elements of `dtype`."""


class PagedCard:
    """The slots, the copy lane and the current visit of one card.

    Args:
        device: The card.
        blocks: All of its blocks, in calling order.
        packed: Those of them that are paged, by index.
        num_slots: How many of these fit at once.
        lane: Copies them in.
    """

    def __init__(
        self,
        device: torch.device,
        blocks: Sequence[int],
        packed: dict[int, PackedBlock],
        *,
        num_slots: int,
        lane: LoadLane,
    ) -> None:
        self.count = PagingCount()
        self._device, self._blocks, self._num_slots = device, tuple(blocks), num_slots
        self._packed: dict[int, PackedBlock] = {}
        self._slots: list[torch.Tensor] = []
        self._lane = lane
        self._current: int | None = None
        self.page(packed)
        self._training_order = self._forward_order

    def page(self, packed: dict[int, PackedBlock]) -> None:
        """Page these blocks and no others. The card must be idle: slots that do not fit are made anew."""
        for block in (self._packed | packed).values():
            block.forget_slots()
        self._packed = packed
        size = max((block.num_bytes for block in packed.values()), default=0)
        if [slot.numel() for slot in self._slots] != [size] * (self._num_slots if packed else 0):
            self._slots.clear()
            for _ in range(self._num_slots if packed else 0):
                self._slots.append(torch.empty(size, dtype=torch.uint8, device=self._device))
        self._planner = SlotPlanner(VisitOrder([]), num_slots=len(self._slots) or 2)
        self._forward_order = VisitOrder([block for block in self._blocks if block in packed])

    def follow(self, visits: Iterable[int]) -> None:
        """Prepare for steps that visit the blocks in this order, and bring in the first ones."""
        self._training_order = VisitOrder([block for block in visits if block in self._packed])
        self.go_round()

    def go_round(self, *, forward_only: bool = False) -> None:
        """Begin a training step's order, or one forward pass after another, from the start."""
        if self._packed:
            self._planner.follow(self._forward_order if forward_only else self._training_order)
            self._run_ahead()

    def visit(self, block: int) -> None:
        """A paged block's work is about to be issued."""
        if block == self._current:
            return
        self.leave()
        self._current = block
        self._bring_in(block)
        self._run_ahead()

    def leave(self) -> None:
        """The current block's work, if there is one, has all been issued."""
        block, written = self._end_visit()
        if written is not None:
            raise DeviceError(
                f'Block {block} cannot be paged: its forward writes to its buffer "{written}", and what a paged block '
                "writes is lost.",
                hint=f"Keep block {block} resident.",
            )

    def break_off(self) -> None:
        """End a visit that an exception may have interrupted, without asking what it wrote."""
        self._end_visit(run_ahead=False)

    def _end_visit(self, *, run_ahead: bool = True) -> tuple[int | None, str | None]:
        """The block whose visit ends here, and the name of a buffer that it wrote to."""
        block, self._current = self._current, None
        if block is None:
            return None, None
        slot = self._planner.active
        assert slot is not None
        packed = self._packed[block]
        written = packed.written_buffer()
        packed.drop()
        self._lane.end_use(slot)
        self._planner.leave()
        if run_ahead:
            self._run_ahead()
        return block, written

    def pack(self, block: int, tensor: torch.Tensor) -> Any:
        """Turn a tensor to be saved for backward into a reference if it lies in the slot in use."""
        slot = self._planner.active
        assert slot is not None, "blocks save tensors only during their visit"
        memory = self._slots[slot]
        if tensor.device != memory.device or tensor.untyped_storage().data_ptr() != memory.data_ptr():
            return tensor.detach()  # Without its history, which would hold the tensor in a circle.
        return _SlotReference(block, tensor.dtype, tuple(tensor.shape), tensor.stride(), int(tensor.storage_offset()))

    def unpack(self, saved: Any) -> torch.Tensor:
        """The saved tensor, looked up where its block is now."""
        if not isinstance(saved, _SlotReference):
            return saved
        self.visit(saved.block)
        slot = self._planner.active
        assert slot is not None
        run = self._slots[slot].view(saved.dtype)
        return torch.as_strided(run, saved.size, saved.stride, saved.offset)

    def _bring_in(self, block: int) -> None:
        self.count.visits += 1
        load = self._planner.arrive(block)
        if load is not None:
            self.count.late_loads += 1
            self._start(load)
        slot = self._planner.active
        assert slot is not None
        self._lane.begin_use(slot)
        self._packed[block].move_into(self._slots[slot])

    def _run_ahead(self) -> None:
        while (load := self._planner.next_load()) is not None:
            self._start(load)

    def _start(self, load: Load) -> None:
        packed = self._packed[load.block]
        self._lane.load(load.slot, self._slots[load.slot], packed.host)
        self.count.loads += 1
        self.count.loaded_bytes += packed.num_bytes
