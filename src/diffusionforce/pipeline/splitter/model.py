"""The step time and the memory that a split would have: the schedule's clock, with paging in it.

A paged block's weights travel on the card's copy stream while other blocks compute; the block waits for them if they
are late, and their slot waits until its last block is done. So paging costs nothing, a little, or everything, depending
on where the paged blocks lie and how long the others compute. The model here runs the pager's own planner on modelled
seconds, two steps in a row, and takes the second: by then the slots hold what a steady run finds in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from diffusionforce.pipeline.pager.slots import Load, SlotPlanner, VisitOrder, spread, visits_of
from diffusionforce.pipeline.schedule.simulation import Clock, Costs, Span, Timeline
from diffusionforce.pipeline.schedule.ticks import Op
from diffusionforce.pipeline.splitter.costs import CardCosts, RigCosts


@dataclass(frozen=True, kw_only=True)
class Share:
    """What one card gets: blocks, and the memory they take on it. All sizes in bytes."""

    name: str
    blocks: tuple[int, ...]
    paged: frozenset[int]
    num_slots: int
    resident_bytes: int
    """Weights that stay, and what is attached to all of the card's blocks."""
    slots_bytes: int
    kept_bytes: int
    """Activations of the micro-batches under way, at their peak."""
    fixed_bytes: int
    budget_bytes: int

    @property
    def needed_bytes(self) -> int:
        """Peak memory on the card."""
        return self.resident_bytes + self.slots_bytes + self.kept_bytes + self.fixed_bytes

    @property
    def missing_bytes(self) -> int:
        """What the budget lacks; 0 if the share fits."""
        return max(0, self.needed_bytes - self.budget_bytes)


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A model cut into chunks, and the order in which a step runs them."""

    chunk_sizes: tuple[int, ...]
    card_of_chunk: tuple[int, ...]
    """Index into the rig's cards, one a chunk."""
    order: tuple[Op, ...]

    @property
    def chunks(self) -> tuple[range, ...]:
        """The block indices of each chunk."""
        first, found = 0, list[range]()
        for size in self.chunk_sizes:
            found.append(range(first, first + size))
            first += size
        return tuple(found)

    def visits(self, card: int) -> list[int]:
        """The blocks of one card in the order in which a step uses them."""
        chunks = self.chunks
        return visits_of((op.kind, chunks[op.chunk]) for op in self.order if self.card_of_chunk[op.chunk] == card)


def share_of(rig: RigCosts, cut: Cut, card: int, *, num_slots: int) -> Share:
    """What a card gets in a cut: everything resident if it fits, else as few paged blocks as the budget allows.

    Paged blocks are spread evenly among the card's blocks, so that each has the computing of others to hide behind.

    Args:
        rig: The measured costs.
        cut: The split.
        card: Index into the rig's cards.
        num_slots: How many blocks may be in slots at once, if the card pages at all.
    """
    costs = rig.cards[card]
    blocks = tuple(
        block for chunk, at in zip(cut.chunks, cut.card_of_chunk, strict=True) if at == card for block in chunk
    )
    weights = rig.blocks.weights
    kept = _peak_kept_bytes(rig, cut, card)
    attached = rig.blocks.attached_to(blocks)
    room = costs.budget_bytes - costs.fixed_bytes - kept - attached
    resident = sum(weights[block] for block in blocks)
    paged: frozenset[int] = frozenset()
    slots_bytes = 0
    if resident > room and costs.paging_bytes_per_s > 0 and len(blocks) > num_slots:
        for num_paged in range(num_slots + 1, len(blocks) + 1):
            paged = spread(blocks, num_paged)
            slots_bytes = num_slots * max(weights[block] for block in paged)
            resident = sum(weights[block] for block in blocks if block not in paged)
            if resident + slots_bytes <= room:
                break
    return Share(
        name=costs.name,
        blocks=blocks,
        paged=paged,
        num_slots=num_slots if paged else 0,
        resident_bytes=resident + attached,
        slots_bytes=slots_bytes,
        kept_bytes=kept,
        fixed_bytes=costs.fixed_bytes,
        budget_bytes=costs.budget_bytes,
    )


def modelled_step(rig: RigCosts, cut: Cut, shares: Sequence[Share], *, num_steps: int = 2) -> Timeline:
    """A step of a steady run, `rig.between_steps_s` not included.

    Args:
        rig: The measured costs.
        cut: The split.
        shares: One a card; `paged` and `num_slots` are used.
        num_steps: Steps to run before and with the one that is timed. 1 is quicker and takes the slots as filled at the
            beginning, which is a little too good where a link is the bottleneck.

    Returns:
        The timeline. Devices are named by their index into the rig's cards; busy seconds do not include waiting for
        paged weights.
    """
    costs = chunk_costs(rig, cut)
    pages = {
        card: _Pages(cut, rig.cards[card], rig.blocks.weights, share, cut.visits(card))
        for card, share in enumerate(shares)
        if share.paged
    }
    if not pages:
        clock = Clock(costs)
        for op in cut.order:
            clock.run(op)
        return Timeline.of_spans(clock.spans)
    begin_s = 0.0
    timeline = None
    for _ in range(num_steps):
        clock = _PagedClock(costs, pages, begin_s=begin_s)
        for op in cut.order:
            clock.run(op)
        end_s = max(span.end_s for span in clock.spans)
        busy_s = {
            card: sum(costs.seconds(op) for op in cut.order if costs.device_of[op.chunk] == card) for card in pages
        }
        timeline = Timeline(end_s - begin_s, {**Timeline.of_spans(clock.spans).busy_s, **busy_s}, tuple(clock.spans))
        begin_s = end_s + rig.between_steps_s
    assert timeline is not None
    return timeline


def chunk_costs(rig: RigCosts, cut: Cut) -> Costs:
    """The clock's costs of a cut with everything resident."""
    last, home = cut.card_of_chunk[-1], cut.card_of_chunk[0]
    pairs = range(len(rig.cards))
    return Costs(
        device_of=cut.card_of_chunk,
        forward_s=_chunk_seconds(cut, [card.forward_s for card in rig.cards]),
        backward_s=_chunk_seconds(cut, [card.backward_s for card in rig.cards]),
        transfer_s={(a, b): rig.crossing_s[a][b] for a in pairs for b in pairs},
        tail_s=rig.tail_s + rig.crossing_s[last][home] + rig.crossing_s[home][last],
    )


class _Pages:
    """One card's slots on a modelled clock."""

    def __init__(self, cut: Cut, card: CardCosts, weights: Sequence[int], share: Share, visits: Sequence[int]) -> None:
        self._chunks = cut.chunks
        self._card = card
        self._paged = share.paged
        self._load_s = {block: weights[block] / card.paging_bytes_per_s for block in share.paged}
        self._planner = SlotPlanner(
            VisitOrder(block for block in visits if block in share.paged), num_slots=share.num_slots
        )
        self._arrival_s = [0.0] * share.num_slots
        self._free_s = [0.0] * share.num_slots
        self._lane_free_s = 0.0
        self._current: int | None = None
        self._run_ahead()
        self._arrival_s = [0.0] * share.num_slots
        self._lane_free_s = 0.0

    def end_s(self, op: Op, start_s: float) -> float:
        """When an op that starts at `start_s` ends."""
        blocks = self._chunks[op.chunk]
        now_s = start_s
        for block in blocks if op.kind == "F" else reversed(blocks):
            if block in self._paged:
                now_s = self._arrive(block, now_s)
            elif self._current is not None:
                self._leave()
            now_s += (self._card.forward_s if op.kind == "F" else self._card.backward_s)[block]
            if self._current is not None and (slot := self._planner.active) is not None:
                self._free_s[slot] = now_s
        return now_s

    def _arrive(self, block: int, now_s: float) -> float:
        if block != self._current:
            self._leave()
            self._current = block
            load = self._planner.arrive(block)
            if load is not None:
                self._start(load)
            self._run_ahead()
        slot = self._planner.active
        assert slot is not None
        return max(now_s, self._arrival_s[slot])

    def _leave(self) -> None:
        self._current = None
        self._planner.leave()
        self._run_ahead()

    def _run_ahead(self) -> None:
        while (load := self._planner.next_load()) is not None:
            self._start(load)

    def _start(self, load: Load) -> None:
        begin_s = max(self._lane_free_s, self._free_s[load.slot])
        self._lane_free_s = self._arrival_s[load.slot] = begin_s + self._load_s[load.block]


class _PagedClock(Clock):
    """A clock on which ops of paging cards take as long as their weights make them."""

    def __init__(self, costs: Costs, pages: dict[int, _Pages], *, begin_s: float) -> None:
        super().__init__(costs)
        self._pages = pages
        self._device_free_s = dict.fromkeys(costs.device_of, begin_s)

    def run(self, op: Op) -> Span:
        device = self._costs.device_of[op.chunk]
        if device not in self._pages:
            return super().run(op)
        start_s = self.start_s(op)
        span = Span(op, device, start_s, self._pages[device].end_s(op, start_s))  # pyright: ignore[reportArgumentType]
        self.spans.append(span)
        self._device_free_s[device] = span.end_s
        self._send(op, device, span.end_s)
        return span


def _chunk_seconds(cut: Cut, block_s: Sequence[Sequence[float]]) -> list[float]:
    return [
        sum(block_s[card][block] for block in chunk) for chunk, card in zip(cut.chunks, cut.card_of_chunk, strict=True)
    ]


def _peak_kept_bytes(rig: RigCosts, cut: Cut, card: int) -> int:
    kept = [sum(rig.blocks.kept[block] for block in chunk) for chunk in cut.chunks]
    held = peak = 0
    for op in cut.order:
        if cut.card_of_chunk[op.chunk] == card:
            held += kept[op.chunk] if op.kind == "F" else -kept[op.chunk]
            peak = max(peak, held)
    return peak
