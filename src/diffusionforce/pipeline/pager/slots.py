"""Which paged block goes into which slot, and when: plain numbers, no tensors.

A card that does not hold all of its blocks keeps a few *slots* in its memory and brings blocks in from RAM ahead
of their turn. A cache that reacts (load on use, throw out the oldest) always loads too late, and throws out the very
block that the backward pass needs first. But the order in which a training step visits its blocks is known before the
step begins, and it repeats. So the planner loads ahead along that order and gives up the block whose next visit lies
furthest in the future, which is the choice that costs the fewest loads for a known order.

The pager drives this planner with real copies and the splitter drives it with modelled ones, so the forecast of a step
and the step itself take the same decisions.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from diffusionforce.errors import DeviceError


@dataclass(frozen=True, kw_only=True)
class Load:
    """One copy to start: `block` (index in the model) into `slot` (index on the card)."""

    slot: int
    block: int


class VisitOrder:
    """The order in which one card visits its paged blocks, repeated without end.

    Positions count on through the repetitions: position `p` visits `visits[p % len(visits)]`.

    Args:
        visits: Block indices in the order of one training step. Empty when the card pages nothing.
    """

    def __init__(self, visits: Iterable[int]) -> None:
        self.visits = tuple(visits)
        self._where: dict[int, list[int]] = {}
        for position, block in enumerate(self.visits):
            self._where.setdefault(block, []).append(position)

    def __len__(self) -> int:
        return len(self.visits)

    def block_at(self, position: int) -> int:
        """The block visited at `position` (0 or more)."""
        return self.visits[position % len(self.visits)]

    def next_visit(self, block: int, *, after: int) -> int | None:
        """The first position later than `after` that visits `block`; None when no step ever does."""
        where = self._where.get(block)
        if where is None:
            return None
        lap, within = divmod(after, len(self.visits))
        index = bisect_right(where, within)
        if index < len(where):
            return lap * len(self.visits) + where[index]
        return (lap + 1) * len(self.visits) + where[0]


class SlotPlanner:
    """Decides what every slot of one card holds while the card goes round its visit order.

    Args:
        order: The visits of a step.
        num_slots: How many blocks fit at once. At least 2: one in use, one on its way.
    """

    def __init__(self, order: VisitOrder, *, num_slots: int) -> None:
        if num_slots < 2:
            raise ValueError(f"a pager needs at least 2 slots, one in use and one on its way; got {num_slots}")
        self._order = order
        self._position = -1
        self._ahead = 0
        self._active: int | None = None
        self.held: list[int | None] = [None] * num_slots
        self._due: list[float] = [-1.0] * num_slots  # when each held block is next visited, as far as was looked

    @property
    def active(self) -> int | None:
        """The slot whose block is being visited; None before the first visit and between visits."""
        return self._active

    def follow(self, order: VisitOrder) -> None:
        """Go round another order from its beginning. What the slots hold stays and is used where it fits."""
        self._order = order
        self._position = -1
        self._ahead = 0
        self._due = [-1.0] * len(self.held)

    def slot_of(self, block: int) -> int | None:
        """The slot that holds `block` or that it is on its way to; None when it is in neither."""
        return self.held.index(block) if block in self.held else None

    def arrive(self, block: int) -> Load | None:
        """Begin the visit to `block`.

        A block that the order did not announce is served too: it takes the slot needed last, and the planner goes on
        from the next place where the order visits it.

        Returns:
            None when the block is in a slot (or on its way there); otherwise the load to start and wait for.
        """
        position = self._order.next_visit(block, after=self._position)
        if position is not None:
            self._position = position
            self._ahead = max(self._ahead, position + 1)
        slot = self.slot_of(block)
        load = None
        if slot is None:
            self._active = None
            slot = self._furthest(needed_after=None)
            load = self._put(slot, block)
            self._ahead = self._position + 1
        self._active = slot
        return load

    def leave(self) -> None:
        """End the visit: its slot may be given to another block."""
        self._active = None

    def next_load(self) -> Load | None:
        """The next copy worth starting now; None when every slot holds something needed sooner.

        Call it until it returns None, after each `arrive`.
        """
        limit = self._position + 1 + len(self._order)
        while self._ahead < limit:
            block = self._order.block_at(self._ahead)
            if block not in self.held:
                slot = self._furthest(needed_after=self._ahead)
                return None if slot is None else self._put(slot, block)
            self._ahead += 1
        return None

    def _put(self, slot: int | None, block: int) -> Load:
        assert slot is not None, "with two slots, one is always free for a block that must be here now"
        self.held[slot] = block
        self._due[slot] = -1.0
        return Load(slot=slot, block=block)

    def _furthest(self, *, needed_after: int | None) -> int | None:
        """The free slot, or the one whose block is next visited last, if that is later than `needed_after`."""
        best, best_visit = None, -1.0
        for slot, block in enumerate(self.held):
            if slot == self._active:
                continue
            if block is None:
                return slot
            if self._due[slot] <= self._position:
                visit = self._order.next_visit(block, after=self._position)
                self._due[slot] = float("inf") if visit is None else float(visit)
            if self._due[slot] > best_visit:
                best, best_visit = slot, self._due[slot]
        if needed_after is not None and best_visit <= needed_after:
            return None
        return best


def visits_of(ops: Iterable[tuple[str, Sequence[int]]]) -> list[int]:
    """Block visits of a card's operations: a forward goes through its blocks, a backward comes back through them.

    Args:
        ops: Pairs of "F" or "B" and the blocks of the operation's chunk, in the order the card runs them.
    """
    visits: list[int] = []
    for kind, blocks in ops:
        visits.extend(blocks if kind == "F" else reversed(blocks))
    return visits


def spread(blocks: Sequence[int], num: int) -> frozenset[int]:
    """Take some of a card's blocks evenly, so that each has the computing of others to hide its paging behind.

    Raises:
        DeviceError: There are not so many.
    """
    if num > len(blocks):
        raise DeviceError(f"{num} blocks are to step aside, but only {len(blocks)} of the card's are resident.")
    return frozenset(blocks[int((index + 0.5) * len(blocks) / num)] for index in range(num))
