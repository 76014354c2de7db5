"""A quick estimate of the step time and the memory of one placement, in closed form.

The clock of the pipeline and the walk of the forecast judge one placement exactly and take a while; a planner that
compares thousands of placements needs an answer in microseconds. The estimate assumes interleaved one-forward-one-
backward, in which the memory is known without listing a single operation, and lets paging hide behind computing. Its
memory is meant to be no smaller than the forecast's, so that a plan that fits here fits there.
"""

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from diffusionforce.ugpum.footprint import Footprint, Part

Kind = Literal["one card", "one card + swap", "split", "split + swap"]
"""A way to train: on how many cards, and whether blocks live in RAM."""


@dataclass(frozen=True, kw_only=True)
class PlanCard:
    """One card as the planner sees it.

    Attributes:
        label: Name for people.
        budget_bytes: What a training may hold on it.
        link_bytes_per_s: What the link from RAM delivers; 0 where nothing can be paged.
        constant_bytes: Workspaces of the libraries, whatever the plan.
        freeable_bytes: What other programs hold on it.
    """

    label: str
    budget_bytes: int
    link_bytes_per_s: float = 0.0
    constant_bytes: int = 0
    freeable_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The model in one form and the batch in one division.

    Attributes:
        weights: Number format of the frozen weights, for people (`bf16`, `fp8`).
        num_microbatches: Micro-batches of a step. All variants of a plan make the same step.
        footprint: What it needs, traced for one micro-batch.
        block_s: Seconds of forward and backward of one micro-batch through all blocks together, on each card.
        host_s: Seconds that the processor takes to start the kernels of one micro-batch's blocks, on whichever cards.
            However fast the cards are, a step does not take less.
        replays: Whether blocks are replayed from captured graphs, which the processor starts as one; paged ones are
            not.
        crossing_s: Seconds of one boundary crossing.
        tail_s: Seconds of head and loss for one micro-batch, at home.
        between_steps_s: Optimiser step and what else happens while no block runs.
        sampling: What making a sample needs; None where no samples are made.
        kinds: Ways to train for which it is meant; None is all.
    """

    weights: str
    num_microbatches: int
    footprint: Footprint
    block_s: tuple[float, ...]
    host_s: float = 0.0
    replays: bool = False
    crossing_s: float = 0.0
    tail_s: float = 0.0
    between_steps_s: float = 0.0
    sampling: Footprint | None = None
    kinds: frozenset[Kind] | None = None


@dataclass(frozen=True, kw_only=True)
class Placing:
    """Which card runs which blocks.

    Attributes:
        cards: The used cards; the first is home.
        totals: Blocks of each.
        chunks_each: Chunks that each card's blocks are divided into; the cards take turns chunk by chunk.
    """

    cards: tuple[int, ...]
    totals: tuple[int, ...]
    chunks_each: int

    @functools.cached_property
    def chunk_sizes(self) -> tuple[int, ...]:
        """Blocks of each chunk, as even as whole blocks allow."""
        return tuple(
            total // self.chunks_each + (turn < total % self.chunks_each)
            for turn in range(self.chunks_each)
            for total in self.totals
        )

    @property
    def card_of_chunk(self) -> tuple[int, ...]:
        """The card of each chunk."""
        return self.cards * self.chunks_each

    def chunks_of(self, rank: int) -> list[range]:
        """The blocks of each chunk of the card that is `rank`th among the used ones."""
        return self._chunks[rank :: len(self.cards)]

    def blocks_of(self, rank: int) -> tuple[int, ...]:
        """All blocks of the card that is `rank`th among the used ones."""
        return tuple(itertools.chain.from_iterable(self.chunks_of(rank)))

    @functools.cached_property
    def _chunks(self) -> list[range]:
        ends = [0, *itertools.accumulate(self.chunk_sizes)]
        return [range(start, end) for start, end in itertools.pairwise(ends)]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What one card gets in a placement, and what that costs there.

    Attributes:
        label: The card's name for people.
        num_blocks: Its blocks.
        num_paged: How many of them live in RAM.
        num_slots: How many of those can be on the card for their turn; 0 where it pages none.
        needed_bytes: Peak memory.
        missing_bytes: What the budget lacks; 0 where it fits.
        paged_bytes: RAM for the blocks that live there.
        busy_s: Seconds of one micro-batch on this card, paging included where it does not hide.
    """

    label: str
    num_blocks: int
    num_paged: int
    num_slots: int
    needed_bytes: int
    missing_bytes: int
    paged_bytes: int
    busy_s: float


class Estimator:
    """Estimates placements of one variant.

    Args:
        variant: The model and the batch.
        cards: All cards of the rig.
        num_slots: Blocks that a paging card can hold for their turn.
    """

    def __init__(self, variant: Variant, cards: Sequence[PlanCard], *, num_slots: int = 3) -> None:
        self.variant, self.cards, self.num_slots = variant, cards, num_slots
        blocks = variant.footprint.blocks
        parts = [block.part for block in blocks]
        self.num_blocks = len(blocks)
        self.largest_paged_bytes = max(part.paged_bytes for part in parts)
        self._weights = [sum(part.weights_bytes.values()) for part in parts]
        self._trained = [part.trained_bytes + part.optimizer_bytes for part in parts]
        self._gradients = [part.gradient_bytes for part in parts]
        self._kept = [block.kept_bytes for block in blocks]
        self._paged = [part.paged_bytes for part in parts]
        self._output = max(block.output_bytes for block in blocks)
        self._temporary = max(max(block.forward_bytes, block.backward_bytes) for block in blocks)
        sampled = variant.sampling.blocks if variant.sampling is not None else ()
        self._sampling_largest = max((block.forward_bytes for block in sampled), default=0)
        self._sampling_boundary = max((block.output_bytes for block in sampled), default=0)
        work = [block.forward_work + block.backward_work for block in blocks]
        self._work = [one / sum(work) for one in work] if sum(work) else [1 / len(blocks)] * len(blocks)

    def stages(self, placing: Placing, *, paging: bool) -> list[Stage]:
        """What each used card gets, with as few paged blocks as its budget allows.

        Args:
            placing: Which card runs which blocks.
            paging: Whether blocks may live in RAM.
        """
        return [self._stage(placing, rank, paging=paging) for rank in range(len(placing.cards))]

    def step_s(self, placing: Placing, stages: Sequence[Stage]) -> float:
        """The step of a placement."""
        variant = self.variant
        busy = [stage.busy_s for stage in stages]
        host_s = variant.num_microbatches * variant.host_s
        if variant.replays:
            host_s *= sum(stage.num_paged for stage in stages) / self.num_blocks
        if len(busy) == 1:
            return max(variant.num_microbatches * busy[0], host_s) + variant.between_steps_s
        longest, num_chunks = max(busy), len(busy) * placing.chunks_each
        idle_ends_s = (sum(busy) - longest) / placing.chunks_each
        # With several micro-batches others compute while one crosses; only the way in and the way out are waited for.
        hidden = placing.chunks_each if variant.num_microbatches > 1 else 1
        crossings_s = 2 * (num_chunks - 1) * variant.crossing_s / hidden
        on_cards_s = variant.num_microbatches * longest + idle_ends_s + crossings_s
        return max(on_cards_s, host_s) + variant.between_steps_s

    def num_aside(self, placing: Placing, rank: int, stage: Stage) -> int | None:
        """How many more of a card's blocks must step aside to RAM while a sample is made.

        Args:
            placing: Which card runs which blocks.
            rank: The card's place among the used ones; 0 is home.
            stage: What it has.

        Returns:
            The number, 0 where everything can stay; None where the sample does not fit however many go.
        """
        if self.variant.sampling is None:
            return 0
        card, mine = self.cards[placing.cards[rank]], placing.blocks_of(rank)
        paged = spread(mine, stage.num_paged)
        resident = [block for block in mine if block not in paged]
        room = card.budget_bytes - card.constant_bytes - self._sampling_bytes(self.variant.sampling, mine, rank)
        slots_bytes, resident_bytes = self.num_slots * self.largest_paged_bytes, self._sum(self._weights, resident)
        if resident_bytes + (slots_bytes if stage.num_paged else 0) <= room:
            return 0
        fewest = -(-(resident_bytes + slots_bytes - room) // max(self._weights))
        for num in range(max(1, fewest), len(resident) + 1):
            if resident_bytes - self._sum(self._weights, spread(resident, num)) + slots_bytes <= room:
                return num
        return None

    def _stage(self, placing: Placing, rank: int, *, paging: bool) -> Stage:
        card, mine = self.cards[placing.cards[rank]], placing.blocks_of(rank)
        room = card.budget_bytes - card.constant_bytes - self._beside_weights(placing, rank, mine)
        whole = resident = self._sum(self._weights, mine)
        slots, paged = 0, frozenset[int]()
        if resident > room and paging and card.link_bytes_per_s > 0 and len(mine) > self.num_slots:
            slots = self.num_slots
            fewest = -(-(resident + slots * self.largest_paged_bytes - room) // max(self._weights))
            for num in range(min(len(mine), max(slots + 1, fewest)), len(mine) + 1):
                paged = spread(mine, num)
                resident = whole - self._sum(self._weights, paged)
                if resident + slots * self.largest_paged_bytes <= room:
                    break
        missing = resident + slots * self.largest_paged_bytes - room
        paged_bytes = self._sum(self._paged, paged)
        computing_s = self.variant.block_s[placing.cards[rank]] * sum(map(self._work.__getitem__, mine))
        # Every paged block comes twice, for the forward and for the backward.
        loading_s = 2 * paged_bytes / card.link_bytes_per_s if paged else 0.0
        return Stage(
            label=card.label,
            num_blocks=len(mine),
            num_paged=len(paged),
            num_slots=slots,
            needed_bytes=card.budget_bytes + missing,
            missing_bytes=max(0, missing),
            paged_bytes=paged_bytes,
            busy_s=max(computing_s, loading_s) + (self.variant.tail_s if rank == 0 else 0.0),
        )

    def _beside_weights(self, placing: Placing, rank: int, mine: Sequence[int]) -> int:
        """Everything on a card but its blocks' weights and slots."""
        outer, num_cards, chunks_each = self.variant.footprint.outer, len(placing.cards), placing.chunks_each
        num_microbatches = self.variant.num_microbatches
        chunks = [self._sum(self._kept, chunk) for chunk in placing.chunks_of(rank)]
        counts = live_counts(num_cards, rank, chunks_each, num_microbatches)
        kept = max(sum(num * size for num, size in zip(count, chunks, strict=True)) for count in counts)
        live = max(map(max, counts))
        # Under way: the gradient that a backward holds, what has arrived, and what the model's variables still hold.
        boundaries = self._output * (2 + min(live, chunks_each)) if num_cards > 1 else self._output
        trained = self._sum(self._trained, mine) + self._sum(self._gradients, mine)
        if rank:
            return trained + kept + boundaries + live * outer.shared_bytes + self._temporary
        held = num_microbatches * outer.batch_bytes + live * outer.prologue_kept_bytes
        moment = max(self._temporary, outer.tail_bytes + 2 * self._output)
        return trained + kept + boundaries + held + moment + _owned(outer.part) + outer.part.gradient_bytes

    def _sampling_bytes(self, sampling: Footprint, mine: Sequence[int], rank: int) -> int:
        """What a card holds while a sample is made, beside its blocks' weights and slots."""
        largest, boundary = self._sampling_largest, self._sampling_boundary
        held, outer = self._sum(self._trained, mine) + boundary, sampling.outer
        if rank:
            return held + outer.shared_bytes + largest
        owned = _owned(self.variant.footprint.outer.part)
        return held + owned + outer.batch_bytes + outer.prologue_kept_bytes + max(largest, outer.tail_bytes + boundary)

    @staticmethod
    def _sum(sizes: Sequence[int], blocks: Iterable[int]) -> int:
        return sum(map(sizes.__getitem__, blocks))


def spread(blocks: Sequence[int], num: int) -> frozenset[int]:
    """Take some of a card's blocks evenly, so that each has the computing of others to hide its paging behind."""
    return frozenset(blocks[int((index + 0.5) * len(blocks) / num)] for index in range(num))


@functools.cache
def live_counts(num_cards: int, rank: int, chunks_each: int, num_microbatches: int) -> tuple[tuple[int, ...], ...]:
    """How many micro-batches each chunk of a card holds at once in interleaved one-forward-one-backward.

    Args:
        num_cards: Cards in turn.
        rank: The card's place among them.
        chunks_each: Chunks of each card.
        num_microbatches: Micro-batches of a step.

    Returns:
        Numbers of micro-batches, one a chunk, at every moment when they are the most that the schedule holds.
    """
    size = num_cards if chunks_each > 1 else 1
    groups = [range(first, first + size) for first in range(0, num_microbatches, size)]
    forwards = [(turn, m) for group in groups for turn in range(chunks_each) for m in group]
    backwards = [(chunks_each - 1 - turn, m) for turn, m in forwards]
    behind = num_cards - rank - 1
    ahead = min(2 * behind + (chunks_each - 1) * num_cards if chunks_each > 1 else behind, len(forwards))
    counts, found = [0] * chunks_each, set[tuple[int, ...]]()
    for index, (chunk, m) in enumerate(forwards):
        counts[chunk] += m < num_microbatches
        found.add(tuple(counts))
        if index >= ahead:
            done, m = backwards[index - ahead]
            counts[done] -= m < num_microbatches
    return tuple(one for one in found if not any(_covers(other, one) for other in found if other != one))


def _covers(larger: tuple[int, ...], smaller: tuple[int, ...]) -> bool:
    return all(a >= b for a, b in zip(larger, smaller, strict=True))


def _owned(part: Part) -> int:
    return sum(part.weights_bytes.values()) + part.trained_bytes + part.optimizer_bytes
