"""The ways in which a rig could train a model, judged, with the fastest that fits on top.

A user who owns two cards should not have to know that a slow second card may cost more than it brings, that paging may
be free, or that eight bits would save the day. So every way is tried: each card alone, with and without blocks in RAM;
all cards together, with and without; in every number format of the weights and every division of the batch that the
caller can offer. For each way every placement is estimated, and the best stands for the way. What is not recommended is
listed with its reason, and where nothing fits, the refusal names what is missing and the ways out that were computed.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from diffusionforce.rig import in_gb
from diffusionforce.ugpum.candidate import Candidate, Wish
from diffusionforce.ugpum.estimate import Estimator, Kind, Placing, PlanCard, Variant
from diffusionforce.ugpum.sharing import all_totals, subsets

KINDS: tuple[Kind, ...] = ("one card", "split", "one card + swap", "split + swap")

MAX_CHUNKS_EACH = 5
NUM_JUDGED, JUDGED_WITHIN = 8, 1.06
"""How many placements of a way are looked at again, and how much slower than the best they may seem: the estimate ranks
neighbours that are within a few per cent of each other by chance."""
CONTENDS_WITHIN = 1.5
"""Ways that seem slower than the fastest by more are judged by their best placement alone."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All candidates, best first, and the one to take.

    Attributes:
        candidates: Every way that exists on this rig, with its reason.
        recommended: The fastest that fits and that the user allows; None where nothing does.
        closest: The recommended one, or what the user allows that lacks least.
        refusal: Where nothing does: what is missing, a sentence a card.
        ways_out: Where nothing does: what would help, each of it computed.
    """

    candidates: tuple[Candidate, ...]
    recommended: Candidate | None
    closest: Candidate
    refusal: tuple[str, ...] = ()
    ways_out: tuple[str, ...] = ()
    cuts: tuple[Candidate, ...] = ()
    """Where the closest is a split over two cards: the same with every other cut, estimated, by blocks of the first."""


Judge = Callable[[Candidate], Candidate]
"""Replaces a candidate's estimate by a better one: its step, its stages' memory."""


def plan(
    variants: Sequence[Variant],
    cards: Sequence[PlanCard],
    *,
    ram_bytes: int,
    wish: Wish | None = None,
    judge: Judge | None = None,
    kinds: Sequence[Kind] = KINDS,
    max_chunks_each: int = MAX_CHUNKS_EACH,
    even_chunks_each: int = 0,
    num_slots: int = 3,
) -> Plan:
    """Try every way and recommend the fastest that fits.

    Args:
        variants: The number formats and divisions of the batch that the model allows; of equals the first wins.
        cards: The cards of the rig, in their order.
        ram_bytes: RAM that may be locked for blocks.
        wish: What the user insists on.
        judge: Looks at the best placements of each way again, with the pipeline's clock and the walked forecast.
        kinds: The ways that exist at all.
        max_chunks_each: The most chunks that a card's blocks are divided into.
        even_chunks_each: Where not 0, a split has only one placement: even over all cards, in that many chunks each.
        num_slots: Blocks that a paging card can hold for their turn.

    Raises:
        ValueError: There is no card, or no variant.
    """
    if not cards or not variants:
        raise ValueError(f"a plan needs cards and variants, not {len(cards)} and {len(variants)}")
    most = 1 if judge is None else NUM_JUDGED
    wish = wish or Wish()
    ranked: list[list[list[Candidate]]] = []
    asked: list[Candidate] = []
    searches: dict[int, _Search] = {}
    for variant in variants:
        search = _Search(Estimator(variant, cards, num_slots=num_slots), ram_bytes, max_chunks_each, even_chunks_each)
        searches[id(variant)] = search
        ways: list[Kind] = [kind for kind in kinds if variant.kinds is None or kind in variant.kinds]
        ranked += [sets for kind in ways if (sets := search.best(kind, most=most))]
        asked += [cut for kind in ways for cut in search.asked(kind, wish, judge)]
    found = [_judged_best(sets, judge, fastest_s=_fastest_s(ranked)) for sets in ranked] + asked
    found.sort(key=lambda candidate: candidate.rank)
    allowed = [candidate for number, candidate in enumerate(found, 1) if wish.allows(candidate, number=number)]
    fitting = [candidate for candidate in allowed if candidate.fits]
    recommended = min(fitting, key=lambda one: one.kind not in wish.preferred, default=None)
    explained = tuple(replace(one, reason=_reason(one, recommended, wish)) for one in found)
    if recommended is not None:
        cuts = searches[id(recommended.variant)].cuts(recommended)
        recommended = explained[found.index(recommended)]
        return Plan(candidates=explained, recommended=recommended, closest=recommended, cuts=cuts)
    refusal, ways_out = _refusal(allowed, found, cards, wish)
    closest = explained[found.index(allowed[0]) if allowed else 0]
    cuts = searches[id(closest.variant)].cuts(closest)
    return Plan(candidates=explained, recommended=None, closest=closest, refusal=refusal, ways_out=ways_out, cuts=cuts)


@dataclass(frozen=True)
class _Search:
    """The placements of one variant."""

    estimator: Estimator
    ram_bytes: int
    max_chunks_each: int
    even_chunks_each: int = 0

    def best(self, kind: Kind, *, most: int) -> list[list[Candidate]]:
        """For every set of cards the fastest fitting placements of a way, else those that lack least; best set first.

        Sets without any placement are left out. Each set is kept apart, so that one more card in the rig, however good
        its placements seem, takes none away that would be looked at without it.
        """
        paging = kind.endswith("swap")
        by_cards: dict[tuple[int, ...], list[Candidate]] = {}
        for placing in self._placings(kind):
            candidate = self._judged(kind, placing, paging=paging)
            if not paging or any(stage.num_paged for stage in candidate.stages):
                by_cards.setdefault(placing.cards, []).append(candidate)
        sets = [heapq.nsmallest(most, found, key=lambda one: one.rank) for found in by_cards.values()]
        return sorted(sets, key=lambda found: found[0].rank)

    def asked(self, kind: Kind, wish: Wish, judge: Judge | None) -> list[Candidate]:
        """The best placement of a way with the cut that is asked for, judged; none where the way is another one."""
        totals = wish.totals
        if not totals or not kind.startswith("split") or not self._can_be_cut(totals):
            return []
        found = [cut for cut in self._cut_into(kind, totals) if wish.allows(cut)]
        best = heapq.nsmallest(1 if judge is None else NUM_JUDGED, found, key=lambda one: one.rank)
        judged = [judge(one) for one in best] if judge is not None else best
        return [min(judged, key=lambda one: one.rank)] if judged else []

    def cuts(self, candidate: Candidate) -> tuple[Candidate, ...]:
        """What a split over two cards would be with every other cut, by the number of blocks of its first card.

        All are estimated, and corrected by what the judge found of the candidate itself.
        """
        placing, num_blocks = candidate.placing, self.estimator.num_blocks
        if len(placing.cards) != 2 or not self._can_be_cut(placing.totals):
            return ()
        paging = candidate.kind.endswith("swap")
        own = self._judged(candidate.kind, placing, paging=paging)
        found: list[Candidate] = []
        for first in range(1, num_blocks):
            totals = (first, num_blocks - first)
            every = (self._judged(candidate.kind, one, paging=paging) for one in self._divided(placing.cards, totals))
            best = min(every, key=lambda one: one.rank)
            found.append(candidate if totals == placing.totals else _corrected(best, own, candidate, self.estimator))
        return tuple(found)

    def _can_be_cut(self, totals: Sequence[int]) -> bool:
        return not self.even_chunks_each and sum(totals) == self.estimator.num_blocks and min(totals) > 0

    def _cut_into(self, kind: Kind, totals: tuple[int, ...]) -> Iterator[Candidate]:
        """All candidates of a split in which the used cards get these numbers of blocks."""
        kinds = [replace(card, label="") for card in self.estimator.cards]
        for cards in subsets(self.estimator.variant.block_s, len(totals), kinds=kinds):
            for placing in self._divided(cards, totals):
                candidate = self._judged(kind, placing, paging=kind.endswith("swap"))
                yield replace(candidate, is_asked_cut=True)

    def _divided(self, cards: tuple[int, ...], totals: tuple[int, ...]) -> Iterator[Placing]:
        most = self.max_chunks_each if self.estimator.variant.num_microbatches > 1 else 1
        for chunks_each in range(1, min(most, *totals) + 1):
            yield Placing(cards=cards, totals=totals, chunks_each=chunks_each)

    def _judged(self, kind: Kind, placing: Placing, *, paging: bool) -> Candidate:
        estimator = self.estimator
        stages = estimator.stages(placing, paging=paging)
        aside = [estimator.num_aside(placing, rank, stage) for rank, stage in enumerate(stages)]
        paged_bytes = sum(stage.paged_bytes for stage in stages)
        going = [num for num in aside if num is not None]
        samples_fit = len(going) == len(aside)
        aside_bytes = sum(going) * estimator.largest_paged_bytes if samples_fit else 0
        if paged_bytes + aside_bytes > self.ram_bytes:
            # Training goes first: where RAM does not hold both, samples are left out.
            samples_fit, aside_bytes = samples_fit and not sum(going), 0
        return Candidate(
            kind=kind,
            variant=estimator.variant,
            placing=placing,
            stages=tuple(stages),
            step_s=estimator.step_s(placing, stages),
            num_aside=tuple(going) if samples_fit else None,
            ram_bytes=paged_bytes + aside_bytes,
            missing_ram_bytes=max(0, paged_bytes - self.ram_bytes),
            num_slots=estimator.num_slots,
        )

    def _placings(self, kind: Kind) -> Iterator[Placing]:
        num_blocks, num_cards = self.estimator.num_blocks, len(self.estimator.cards)
        if kind.startswith("one card"):
            for card in range(num_cards):
                yield Placing(cards=(card,), totals=(num_blocks,), chunks_each=1)
            return
        if self.even_chunks_each:
            if 2 <= num_cards <= num_blocks:
                totals = tuple(num_blocks // num_cards + (rank < num_blocks % num_cards) for rank in range(num_cards))
                yield Placing(cards=tuple(range(num_cards)), totals=totals, chunks_each=self.even_chunks_each)
            return
        kinds = [replace(card, label="") for card in self.estimator.cards]
        for size in range(2, num_cards + 1):
            for cards in subsets(self.estimator.variant.block_s, size, kinds=kinds):
                block_s = [self.estimator.variant.block_s[card] for card in cards]
                for totals in all_totals(num_blocks, block_s):
                    yield from self._divided(cards, totals)


def _corrected(estimate: Candidate, own: Candidate, judged: Candidate, estimator: Estimator) -> Candidate:
    """A candidate's estimate with what the judge found of its neighbour, for which the estimate was `own`."""
    stages = tuple(
        replace(
            stage,
            needed_bytes=(needed := stage.needed_bytes + known.needed_bytes - guessed.needed_bytes),
            missing_bytes=max(0, needed - estimator.cards[card].budget_bytes),
        )
        for card, stage, known, guessed in zip(
            estimate.placing.cards, estimate.stages, judged.stages, own.stages, strict=True
        )
    )
    factor = judged.step_s / own.step_s if own.step_s else 1.0
    return replace(estimate, stages=stages, step_s=estimate.step_s * factor)


def _fastest_s(ranked: Sequence[Sequence[Sequence[Candidate]]]) -> float:
    return min((sets[0][0].step_s for sets in ranked if sets[0][0].fits), default=0.0)


def _judged_best(sets: Sequence[Sequence[Candidate]], judge: Judge | None, *, fastest_s: float) -> Candidate:
    """The best placement of a way. Where it may be the one to take, its rivals are judged too."""
    first = sets[0][0]
    if judge is None:
        return first
    judged = [judge(first)]
    if len(first.placing.cards) == 1:
        # The estimate is generous with memory: a faster card that seems to lack a little may have enough.
        judged += [judge(best[0]) for best in sets[1:] if best[0].step_s < first.step_s]
    if first.step_s <= CONTENDS_WITHIN * fastest_s:
        for best in sets:
            rivals = (one for one in best if one is not first and one.fits)
            judged += [judge(one) for one in rivals if _is_rival(one, best[0], first)]
    return min(judged, key=lambda one: one.rank)


def _is_rival(one: Candidate, best_of_its_cards: Candidate, first: Candidate) -> bool:
    """Whether a placement seems about as good as the best one, or is the best of cards that may be."""
    if one is best_of_its_cards:
        return one.step_s <= CONTENDS_WITHIN * first.step_s
    return one.step_s <= JUDGED_WITHIN * min(best_of_its_cards.step_s, JUDGED_WITHIN * first.step_s)


def _reason(candidate: Candidate, recommended: Candidate | None, wish: Wish) -> str:
    if candidate is recommended:
        if candidate.kind in wish.preferred:
            return f"Taken because {wish.because}."
        if wish.way:
            return "The way that was asked for."
        insists = (wish.kinds, wish.weights, wish.num_microbatches) != (None, None, None)
        return "The fastest of what was asked for." if insists else "The fastest way that fits."
    if not candidate.fits:
        words = "; ".join(_lacks(candidate))
        return f"{words[0].upper()}{words[1:]}."
    if recommended is None:
        return f"Fits, but {wish.because}."
    factor = candidate.step_s / recommended.step_s
    if factor < 1:
        return f"Would be {1 / factor:.2f} times as fast, but {wish.because}."
    return "Just as fast." if factor < 1.005 else f"Fits, but takes {factor:.2f} times as long."


def _lacks(candidate: Candidate) -> list[str]:
    lacks = [
        f"needs {in_gb(stage.missing_bytes)} more on {stage.label}" for stage in candidate.stages if stage.missing_bytes
    ]
    return lacks + ([f"needs {in_gb(candidate.missing_ram_bytes)} more RAM"] if candidate.missing_ram_bytes else [])


def _refusal(
    allowed: Sequence[Candidate], found: Sequence[Candidate], cards: Sequence[PlanCard], wish: Wish
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the closest candidate lacks, and what would help."""
    ways = [f"{one.words} (fits, {one.step_s:.1f} s a step)" for one in _fastest_of_each(found)]
    if not allowed:
        none = "is left by what was asked for" if not wish.way else f'is called "{wish.way}"'
        return (f"No way to train {none}.",), tuple(ways)
    closest = allowed[0]
    short = [(c, s) for c, s in zip(closest.placing.cards, closest.stages, strict=True) if s.missing_bytes]
    if not closest.missing_ram_bytes and all(s.missing_bytes <= cards[c].freeable_bytes for c, s in short):
        parts = " and ".join(f"{in_gb(stage.missing_bytes)} on {stage.label}" for _, stage in short)
        ways.insert(0, f"free {parts} by closing other programs")
    return tuple(f"This {sentence}." for sentence in _lacks(closest)), tuple(ways)


def _fastest_of_each(found: Sequence[Candidate]) -> list[Candidate]:
    """The fastest fitting candidate of each way."""
    best: dict[Kind, Candidate] = {}
    for candidate in found:
        if candidate.fits:
            best.setdefault(candidate.kind, candidate)
    return list(best.values())
