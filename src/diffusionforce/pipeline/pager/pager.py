"""Blocks that do not fit a card stay in RAM and are brought in ahead of their turn, forward and backward.

A card that takes its fair share of the computing often cannot hold that share's weights. The pager keeps the blocks
over its budget in page-locked RAM and copies each into a slot on the card before the block's turn, beside the computing
of other blocks. Every card has its own slots, its own copy stream and its own order of visits, so both links work at
once. Frozen weights are never written back: a slot that is needed is simply overwritten.

How it fits an unmodified model: a block's `forward` is wrapped, so that a visit begins when the model calls the block,
and a hook on the block's output begins the visit in the backward pass, before any node of the block's own graph runs
(recomputation under activation checkpointing included). A forward visit ends with the block's forward, a backward visit
when another block of the card begins, paged or resident. What a block saves for its backward may be a view of a slot
that will hold another block by then; such tensors are kept as references and looked up again in the slot that holds the
block in the backward pass.

Install the pager before anything else that wraps `forward` (the step executor), so that its wrapper is the inner one
and a micro-batch that waits for its turn does not begin a visit before it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import psutil
import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.nesting import map_tensors
from diffusionforce.pipeline.pager.card import PagedCard, PagingCount
from diffusionforce.pipeline.pager.lanes import LoadLane, load_lane
from diffusionforce.pipeline.pager.marks import mark_paged
from diffusionforce.pipeline.pager.store import PackedBlock, PinnedMemory, frozen_tensors, tensors_in_common
from diffusionforce.pipeline.wrapping import replace_forward

# Private, but what torch.utils.checkpoint itself is built on; there is no public way to ask.
_graph_task: Callable[[], int] = torch._C._current_graph_task_id  # pyright: ignore
_top_hooks: Callable[[bool], Any] = torch._C._autograd._top_saved_tensors_default_hooks  # pyright: ignore

DEFAULT_SLOTS = 3
"""One block in use, one arriving, one of slack for uneven gaps between paged blocks."""


@dataclass(frozen=True, kw_only=True)
class CardPaging:
    """What one card (or one of several logical cards on a device) owns, and which part of it is paged."""

    device: torch.device
    blocks: tuple[int, ...]
    """All blocks of the card, as indices into the model's blocks."""
    paged: frozenset[int] = frozenset()
    """Those of them that live in RAM. Empty: nothing is paged on this card."""
    num_slots: int = DEFAULT_SLOTS


class Pager:
    """Pages the blocks of a model on one or more cards.

    Making one moves the paged blocks' frozen tensors to RAM and everything else of the cards' blocks to the cards. Call
    `follow` with the order of a training step, train, and `close` when done.

    Args:
        blocks: The model's blocks in calling order.
        cards: What each card owns. A block belongs to one card at most.
        pinned_limit_bytes: The most RAM to lock. None: half of what is free now.
        lanes: The copy lane of each card. None: the one that fits the card's device.

    Raises:
        DeviceError: A block is given to two cards, or a card pages a block that it does not own.
    """

    def __init__(
        self,
        blocks: Sequence[nn.Module],
        cards: Sequence[CardPaging],
        *,
        pinned_limit_bytes: int | None = None,
        lanes: Sequence[LoadLane] | None = None,
    ) -> None:
        _check(cards)
        if pinned_limit_bytes is None:
            pinned_limit_bytes = psutil.virtual_memory().available // 2
        self.pinned = PinnedMemory(limit_bytes=pinned_limit_bytes)
        self.plans = tuple(cards)
        self._blocks = list(blocks)
        self._packed: dict[int, PackedBlock] = {}
        """All blocks that lie, or once stepped aside, in RAM."""
        self._put_back: dict[int, Callable[[], None]] = {}
        """For each block whose forward is wrapped, what unwraps it."""
        self._aside: list[tuple[int, torch.device]] = []
        self._watches: list[RemovableHandle] = []
        self._cards: list[PagedCard] = []
        shared = tensors_in_common(blocks)
        for index, plan in enumerate(cards):
            packed = {block: self._pack(block, plan.device, shared) for block in sorted(plan.paged)}
            for block in plan.blocks:
                _move_rest(blocks[block], packed.get(block), plan.device)
            card = PagedCard(
                plan.device,
                plan.blocks,
                packed,
                num_slots=plan.num_slots,
                lane=lanes[index] if lanes else load_lane(plan.device),
            )
            self._cards.append(card)
            for block in plan.blocks if packed else ():
                if block in packed:
                    self._wrap(block, card)
                else:
                    self._watch(blocks[block], card)

    @property
    def counts(self) -> list[PagingCount]:
        """What each card's pager has done so far, in the order of the cards."""
        return [card.count for card in self._cards]

    def follow(self, visits: Sequence[Iterable[int]]) -> None:
        """Prepare for steps that visit the blocks in this order, again and again, and bring in the first ones.

        Args:
            visits: For each card the blocks in the order a step uses them (see `slots.visits_of`). Resident
                blocks may be among them. An order that differs from the real one costs time, never correctness.
        """
        for card, card_visits in zip(self._cards, visits, strict=True):
            card.follow(card_visits)

    @contextmanager
    def forward_only(self) -> Iterator[None]:
        """While samples are made or losses are measured: forward passes only, one after another."""
        for card in self._cards:
            card.go_round(forward_only=True)
        try:
            yield
        finally:
            for card in self._cards:
                card.leave()
                card.go_round()

    def close(self) -> None:
        """Undo the wrapping and leave the paged tensors in RAM, unlocked."""
        for card in self._cards:
            card.leave()
        for put_back in self._put_back.values():
            put_back()
        self._put_back.clear()
        for watch in self._watches:
            watch.remove()
        self._watches.clear()
        if self.pinned.locked_bytes:
            torch.cuda.synchronize()
        self.pinned.release()
        self._cards.clear()

    def step_aside(self, aside: Sequence[Iterable[int]]) -> None:
        """Page further blocks, which are resident in training, for forward passes that need their room.

        The cards must be idle, and nothing else may wrap the forwards of these blocks now. Whatever this raises,
        `come_back` makes good.

        Args:
            aside: For each card the blocks that go to RAM.

        Raises:
            DeviceError: A block is not its card's.
        """
        shared = tensors_in_common(self._blocks)
        for card, plan, further in zip(self._cards, self.plans, aside, strict=True):
            wanted = plan.paged | frozenset(further)
            _check([replace(plan, paged=wanted)])
            card.break_off()
            for block in sorted(wanted - plan.paged):
                self._pack(block, plan.device, shared)
                self._aside.append((block, plan.device))
                self._wrap(block, card)
            if wanted != plan.paged:
                card.page({block: self._packed[block] for block in wanted})
            card.go_round(forward_only=True)

    def come_back(self) -> None:
        """Bring the blocks back that stepped aside, bit for bit. The cards must be idle, and the forwards unwrapped."""
        for card, plan in zip(self._cards, self.plans, strict=True):
            card.break_off()
            card.page({block: self._packed[block] for block in plan.paged})
        while self._aside:
            block, device = self._aside[-1]
            self._packed[block].unpack(device)
            if (put_back := self._put_back.pop(block, None)) is not None:
                put_back()
            self._aside.pop()
        for device in {plan.device for plan in self.plans if plan.device.type == "cuda"}:
            torch.cuda.synchronize(device)
        for card in self._cards:
            card.go_round()

    def paged_bytes(self, block: int) -> int:
        """What a block takes in RAM, and frees on its card, while it is there: its frozen tensors."""
        return sum(tensor.numel() * tensor.element_size() for _, tensor, _ in frozen_tensors(self._blocks[block]))

    def _pack(self, block: int, device: torch.device, shared: set[int]) -> PackedBlock:
        """Move a block to RAM; to the same place as before if it was there once."""
        known = self._packed.get(block)
        if known is not None and known.still_packs(self._blocks[block]):
            known.pack()
            return known
        pinned = self.pinned if device.type == "cuda" else None
        self._packed[block] = PackedBlock(self._blocks[block], excluded=shared, pinned=pinned)
        return self._packed[block]

    def _wrap(self, block: int, card: PagedCard) -> None:
        """A paged block is visited where its own forward begins, innermost of all that wraps it."""
        module = self._blocks[block]
        original = module.forward

        def forward(*args: Any, **kwargs: Any) -> Any:
            if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
                raise RuntimeError(f"block {block} is paged: a captured graph would read whatever its slot holds then")
            card.visit(block)
            with _slot_references(block, card):
                output = original(*args, **kwargs)
            if not _in_backward():
                # The visit ends here, so that outside of a visit the block is seen where it can stay: in RAM.
                _before_backward(output, lambda: card.visit(block))
                card.leave()
            return output

        mark_paged(forward, self._packed[block])
        self._put_back[block] = replace_forward(module, forward)

    def _watch(self, module: nn.Module, card: PagedCard) -> None:
        """A resident block only ends the visit before it. Its own forward may be replayed from a graph: stay out."""

        def end_visit(_module: nn.Module, _args: Any) -> None:
            card.leave()

        def end_visit_in_backward(_module: nn.Module, _args: Any, output: Any) -> None:
            _before_backward(output, card.leave)

        self._watches.append(module.register_forward_pre_hook(end_visit))
        self._watches.append(module.register_forward_hook(end_visit_in_backward))


def _in_backward() -> bool:
    """Whether this call is a recomputation: what follows it is the block's backward."""
    return _graph_task() != -1


def _before_backward(output: Any, call: Callable[[], None]) -> None:
    """Call a function before the backward of what made the output begins."""

    def hook(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.grad_fn is not None:
            tensor.grad_fn.register_prehook(lambda _gradients: call())
        return tensor

    if torch.is_grad_enabled():
        map_tensors(output, hook)


def _slot_references(block: int, card: PagedCard) -> AbstractContextManager[Any]:
    """Keeps saved tensors that lie in a slot as references, where nobody else looks after saved tensors.

    Under activation checkpointing somebody does: the saved tensors are recomputed when the block is in a slot again.
    What a recomputation itself saves is used during the same visit, and needs no looking after.
    """
    if not torch.is_grad_enabled() or _in_backward():
        return nullcontext()
    if _top_hooks(False) is not None:
        return nullcontext()
    return torch.autograd.graph.saved_tensors_hooks(lambda tensor: card.pack(block, tensor), card.unpack)


def _check(cards: Sequence[CardPaging]) -> None:
    owner: dict[int, int] = {}
    for index, plan in enumerate(cards):
        strangers = plan.paged - set(plan.blocks)
        if strangers:
            raise DeviceError(f"Card {index} is to page blocks {sorted(strangers)}, which are not its own.")
        for block in plan.blocks:
            if owner.setdefault(block, index) != index:
                raise DeviceError(f"Block {block} is given to cards {owner[block]} and {index}; it can be on one only.")


def _move_rest(block: nn.Module, packed: PackedBlock | None, device: torch.device) -> None:
    """Move what is not paged to the card, in place, so that optimisers keep the parameters they know."""
    away = {id(item.tensor) for item in packed.tensors} if packed else set[int]()
    for tensor in [*block.parameters(), *block.buffers()]:
        if id(tensor) not in away:
            tensor.data = tensor.data.to(device)
