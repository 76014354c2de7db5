"""Finds the fastest split among more candidates than anyone can try.

A model of 40 blocks can be cut into 10 chunks in 200 million ways. But the sum of a card's blocks decides most of the
step, and it has few values; how the sum is divided among the card's chunks decides the rest, and an even division is
nearly best. So the search takes the sums in the order of a bound that no schedule can beat, stops where the bound is
worse than the best found, and then moves single blocks between chunks until no move helps. Where all ways are few they
are all tried. Tests compare it with trying everything.
"""

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from diffusionforce.pipeline.schedule.generators import gpipe, greedy, interleaved, turns
from diffusionforce.pipeline.schedule.simulation import Costs, Timeline
from diffusionforce.pipeline.schedule.ticks import Op
from diffusionforce.pipeline.splitter.costs import RigCosts
from diffusionforce.pipeline.splitter.model import Cut, Share, chunk_costs, modelled_step, share_of

SEARCH_SLOTS = 3
"""Slots of a paging card while the cut is searched; the number is refined for the cut that is found."""
_MOST_TOTALS = 60
_NUM_TAPERED = 4
_BEAM = 4
_NARROW_BEAM = 2
_LEAST_GAIN = 0.003
"""With many chunks one block is a small part of the step, and the even start is within a per cent or two already."""
_FEW_CHUNKS = 6
_WORTH_CLIMBING = 1.08
"""A pattern whose best start is slower than the best of all by more than this is not climbed."""
_CHUNKS_EACH = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
"""Numbers of chunks a card that are tried. Beyond a few, one more changes next to nothing."""
_MOST_CLIMBED = 10
_PROVEN = 1.02
_NUM_FINALISTS = 2
_SLOT_CHOICES = (2, 3, 4, 6)
_PAGING_HANDICAP = 1.01


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A judged split."""

    schedule: str
    cut: Cut
    shares: tuple[Share, ...]
    timeline: Timeline
    step_s: float
    """The modelled step, with what happens between steps."""

    @property
    def missing_bytes(self) -> int:
        """What the card that lacks most lacks; 0 if the split fits."""
        return max(share.missing_bytes for share in self.shares)


@dataclass(kw_only=True)
class Search:
    """One search for the fastest split of a rig's model.

    Attributes:
        rig: The measured costs.
        num_microbatches: Micro-batches of a step.
        schedules: Names out of `SCHEDULES`.
        max_chunks_per_card: The most chunks that a card may get.
        every_card: Consider only splits that give every card a block.
        try_all_below: Up to this many ways of cutting a model are all tried.
        num_judged: Splits judged so far.
        known: Those of them that the search may meet again.
    """

    rig: RigCosts
    num_microbatches: int
    schedules: Sequence[str]
    max_chunks_per_card: int
    every_card: bool = False
    try_all_below: int = 500
    num_judged: int = 0
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Candidate] = field(default_factory=dict)

    def best(self) -> Candidate:
        """The fastest split that fits; if none does, the one that lacks least."""
        starts: list[Candidate] = []
        for cards in _subsets(len(self.rig.cards)):
            if self.every_card and len(cards) < len(self.rig.cards):
                continue
            most = self.max_chunks_per_card if len(cards) > 1 and self.num_microbatches > 1 else 1
            for chunks_each in _CHUNKS_EACH:
                if chunks_each <= most and chunks_each * len(cards) <= self.rig.num_blocks:
                    starts += self._survey(cards, chunks_each, starts)
        starts.sort(key=_rank)
        worth_s = starts[0].step_s * _WORTH_CLIMBING
        groups = _by_pattern(one for one in starts if one.missing_bytes == starts[0].missing_bytes)
        found: list[Candidate] = []
        for group in groups.values():
            if group[0].step_s <= worth_s and not any(self._is_proven(one) for one in found):
                found.append(self._climb(group))
        return self.refine(sorted(found, key=_rank)[:_NUM_FINALISTS])

    def judge(
        self, sizes: tuple[int, ...], cards: tuple[int, ...], *, num_slots: int = SEARCH_SLOTS, num_steps: int = 1
    ) -> Candidate:
        """The best schedule for one way of cutting the model.

        Args:
            sizes: Blocks of each chunk.
            cards: The card of each chunk.
            num_slots: Slots of the cards that page.
            num_steps: See `modelled_step`.
        """
        quick = num_slots == SEARCH_SLOTS and num_steps == 1
        if quick and (known := self.known.get((sizes, cards))):
            return known
        judged: list[Candidate] = []
        for name, order in self._orders(sizes, cards):
            if name == FRUGAL and not any(one.missing_bytes or _pages(one) for one in judged):
                break  # Holding less wins nothing where everything is held already.
            cut = Cut(chunk_sizes=sizes, card_of_chunk=cards, order=order)
            judged.append(self._judge_order(name, cut, num_slots, num_steps))
        best = min(judged, key=_rank)
        if quick:
            self.known[sizes, cards] = best
        return best

    def _judge_order(self, name: str, cut: Cut, num_slots: int, num_steps: int) -> Candidate:
        self.num_judged += 1
        shares = tuple(share_of(self.rig, cut, card, num_slots=num_slots) for card in range(len(self.rig.cards)))
        timeline = modelled_step(self.rig, cut, shares, num_steps=num_steps)
        step_s = timeline.step_s + self.rig.between_steps_s
        return Candidate(schedule=name, cut=cut, shares=shares, timeline=timeline, step_s=step_s)

    def _orders(self, sizes: tuple[int, ...], cards: tuple[int, ...]) -> Iterator[tuple[str, tuple[Op, ...]]]:
        costs = chunk_costs(self.rig, Cut(chunk_sizes=sizes, card_of_chunk=cards, order=()))
        names = self.schedules if len(set(cards)) > 1 and self.num_microbatches > 1 else ("turns",)
        for name in names:
            yield name, tuple(SCHEDULES[name](costs, num_microbatches=self.num_microbatches))

    def _survey(self, cards: tuple[int, ...], chunks_each: int, found: Sequence[Candidate]) -> list[Candidate]:
        """Candidates for each sum of blocks a card could get, while the bound leaves room for a better one."""
        pattern = cards * chunks_each
        every = _all_sizes(self.rig.num_blocks, len(pattern), most=self.try_all_below)
        if every is not None:
            return [self.judge(sizes, pattern) for sizes in every]
        fitting_s = min((one.step_s for one in found if not one.missing_bytes), default=float("inf"))
        judged: list[Candidate] = []
        for bound_s, totals in self._most_promising(cards, chunks_each):
            if bound_s >= fitting_s:
                break
            judged.append(self.judge(even_sizes(totals, chunks_each), pattern))
            if not judged[-1].missing_bytes:
                fitting_s = min(fitting_s, judged[-1].step_s)
        judged.sort(key=_rank)
        tapered = {sizes for one in judged[:_NUM_TAPERED] for sizes in _tapered(one.cut.chunk_sizes, len(cards))}
        return judged + [self.judge(sizes, pattern) for sizes in sorted(tapered)]

    def _most_promising(self, cards: tuple[int, ...], chunks_each: int) -> list[tuple[float, tuple[int, ...]]]:
        """(bound in seconds, blocks of each card), best first. No step is shorter than a card's own work."""
        cheapest = [sorted(self.rig.cards[card].work_s) for card in cards]

        def bound_s(totals: tuple[int, ...]) -> float:
            work_s = max(sum(work[:total]) for work, total in zip(cheapest, totals, strict=True))
            return work_s * self.num_microbatches + self.rig.between_steps_s

        every = ((bound_s(totals), totals) for totals in _totals(self.rig.num_blocks, len(cards), chunks_each))
        return heapq.nsmallest(_MOST_TOTALS, every)

    def _climb(self, starts: Sequence[Candidate]) -> Candidate:
        """Move single blocks between chunks, from several starts at once, as long as that helps."""
        few = len(starts[0].cut.chunk_sizes) <= _FEW_CHUNKS
        width, least_gain = (_BEAM, 0.0) if few else (_NARROW_BEAM, _LEAST_GAIN)
        beam = list(starts[:width])
        if len(beam[0].cut.chunk_sizes) > _MOST_CLIMBED:
            return beam[0]
        expanded: set[tuple[int, ...]] = set()
        while True:
            reached = {one.cut.chunk_sizes: one for one in beam}
            for one in beam:
                if one.cut.chunk_sizes in expanded:
                    continue
                expanded.add(one.cut.chunk_sizes)
                for sizes in _moves(one.cut.chunk_sizes, len(set(one.cut.card_of_chunk))):
                    reached.setdefault(sizes, self.judge(sizes, one.cut.card_of_chunk))
            grown = sorted(reached.values(), key=_rank)[:width]
            gain = 1 - grown[0].step_s / beam[0].step_s
            stuck = grown[0].missing_bytes == beam[0].missing_bytes and gain <= least_gain
            if stuck or _rank(grown[0]) >= _rank(beam[0]) or self._is_proven(grown[0]):
                return grown[0]
            beam = grown

    def _is_proven(self, candidate: Candidate) -> bool:
        """Whether no split at all can be faster by more than two per cent."""
        floor_s = self.rig.limit_s(self.num_microbatches) + self.rig.between_steps_s
        return not candidate.missing_bytes and candidate.step_s <= _PROVEN * floor_s

    def refine(self, finalists: Sequence[Candidate]) -> Candidate:
        """Judge the finalists on a steady run, with the number of slots that suits them."""
        judged: list[Candidate] = []
        for one in finalists:
            choices = _SLOT_CHOICES if _pages(one) else (SEARCH_SLOTS,)
            judged += [
                self.judge(one.cut.chunk_sizes, one.cut.card_of_chunk, num_slots=num_slots, num_steps=2)
                for num_slots in choices
            ]
        return min(judged, key=_rank)


def _rank(candidate: Candidate) -> tuple[int, float]:
    """Smaller is better: what fits before what does not, then time; paging only where it wins more than a trifle."""
    return candidate.missing_bytes, candidate.step_s * (_PAGING_HANDICAP if _pages(candidate) else 1.0)


def _pages(candidate: Candidate) -> bool:
    return any(share.paged for share in candidate.shares)


def _greedy_frugal(costs: Costs, *, num_microbatches: int) -> list[Op]:
    return greedy(costs, num_microbatches=num_microbatches, max_live=len(set(costs.device_of)) + 1)


class Schedule(Protocol):
    """Orders the ops of a step."""

    def __call__(self, costs: Costs, /, *, num_microbatches: int) -> list[Op]:
        """The ops in issue order, for chunks of these costs."""
        ...


FRUGAL = "greedy, few in flight"

SCHEDULES: dict[str, Schedule] = {
    "turns": turns,
    "gpipe": gpipe,
    "interleaved": interleaved,
    "greedy": greedy,
    FRUGAL: _greedy_frugal,
}
"""How a cut is run. "interleaved" with one chunk a
card is 1F1B."""

DEFAULT_SCHEDULES = ("interleaved", "greedy", FRUGAL)
"""The ones that are ever fastest: the others idle more and hold no less."""


def _subsets(num_cards: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, num_cards + 1):
        yield from itertools.combinations(range(num_cards), size)


def _totals(num_blocks: int, num_cards: int, least: int) -> Iterator[tuple[int, ...]]:
    """Every way to give each card at least `least` blocks."""
    if num_cards == 1:
        yield (num_blocks,)
        return
    for first in range(least, num_blocks - least * (num_cards - 1) + 1):
        for rest in _totals(num_blocks - first, num_cards - 1, least):
            yield (first, *rest)


def _all_sizes(num_blocks: int, num_chunks: int, *, most: int) -> list[tuple[int, ...]] | None:
    """Every way to cut the blocks into that many chunks; None if there are more than `most`."""
    if math.comb(num_blocks - 1, num_chunks - 1) > most:
        return None
    return list(_totals(num_blocks, num_chunks, 1))


def even_sizes(totals: Sequence[int], chunks_each: int) -> tuple[int, ...]:
    """Chunk sizes, the cards in turn, that divide each card's blocks evenly over its chunks.

    Args:
        totals: Blocks of each card.
        chunks_each: Chunks of each card.
    """
    return tuple(
        total * (turn + 1) // chunks_each - total * turn // chunks_each
        for turn in range(chunks_each)
        for total in totals
    )


def _tapered(sizes: tuple[int, ...], num_cards: int) -> Iterator[tuple[int, ...]]:
    """Variants with a shorter first chunk (the other cards wait for it), a shorter last one, or both.

    What is taken goes to the same card's chunk at the other end: its last, or the one before its last.
    """
    if len(sizes) < 2 * num_cards:
        return
    last_of_first, before_last = len(sizes) - num_cards, len(sizes) - 1 - num_cards
    for first, last in itertools.product((0.0, 0.25, 0.5), (0.0, 0.25, 0.5)):
        from_first, from_last = round(sizes[0] * first), round(sizes[-1] * last)
        changed = list(sizes)
        changed[0] -= from_first
        changed[last_of_first] += from_first
        changed[-1] -= from_last
        changed[before_last] += from_last
        if min(changed) > 0:
            yield tuple(changed)


def _moves(sizes: tuple[int, ...], num_cards: int) -> Iterator[tuple[int, ...]]:
    """Ways to hand one block on: to any chunk if they are few, else to a neighbour or to one of the same card."""
    few = len(sizes) <= _FEW_CHUNKS
    for giver, taker in itertools.permutations(range(len(sizes)), 2):
        if sizes[giver] > 1 and (few or abs(giver - taker) == 1 or (giver - taker) % num_cards == 0):
            changed = list(sizes)
            changed[giver] -= 1
            changed[taker] += 1
            yield tuple(changed)


def _by_pattern(ranked: Iterable[Candidate]) -> dict[tuple[int, ...], list[Candidate]]:
    """Candidates by the pattern of their chunks over the cards, in the order given."""
    groups: dict[tuple[int, ...], list[Candidate]] = {}
    for candidate in ranked:
        groups.setdefault(candidate.cut.card_of_chunk, []).append(candidate)
    return groups
