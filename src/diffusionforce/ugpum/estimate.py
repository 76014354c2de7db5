"""A quick estimate of the step time and the memory of one placement, in closed form.

The clock of the pipeline and the walk of the forecast judge one placement exactly and take a while; a planner that
compares thousands of placements needs an answer in microseconds. The estimate assumes interleaved one-forward-one-
backward, in which the memory is known without listing a single operation, and lets paging hide behind computing. Its
memory is meant to be no smaller than the forecast's, so that a plan that fits here fits there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from diffusionforce.ugpum.footprint import Footprint


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
        crossing_s: Seconds of one boundary crossing.
        tail_s: Seconds of head and loss for one micro-batch, at home.
        between_steps_s: Optimiser step and what else happens while no block runs.
        sampling: What making a sample needs; None where no samples are made.
    """

    weights: str
    num_microbatches: int
    footprint: Footprint
    block_s: tuple[float, ...]
    crossing_s: float = 0.0
    tail_s: float = 0.0
    between_steps_s: float = 0.0
    sampling: Footprint | None = None


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What one card gets in a placement, and what that costs there.

    Attributes:
        label: The card's name for people.
        num_blocks: Its blocks.
        num_paged: How many of them live in RAM.
        needed_bytes: Peak memory.
        missing_bytes: What the budget lacks; 0 where it fits.
        paged_bytes: RAM for the blocks that live there.
        busy_s: Seconds of one micro-batch on this card, paging included where it does not hide.
    """

    label: str
    num_blocks: int
    num_paged: int
    needed_bytes: int
    missing_bytes: int
    paged_bytes: int
    busy_s: float


@dataclass(frozen=True, kw_only=True)
class _Sizes:
    """Average sizes of a model's blocks, and the largest where the largest counts."""

    weights: float
    per_block: float
    kept: float
    paged: int
    output: int
    temporary: int


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
        self.num_blocks = len(blocks)
        parts = [block.part for block in blocks]
        self._sizes = _Sizes(
            weights=sum(sum(part.weights_bytes.values()) for part in parts) / len(blocks),
            per_block=sum(p.trained_bytes + p.optimizer_bytes + p.gradient_bytes for p in parts) / len(blocks),
            kept=sum(block.kept_bytes for block in blocks) / len(blocks),
            paged=max(part.paged_bytes for part in parts),
            output=max(block.output_bytes for block in blocks),
            temporary=max(max(block.forward_bytes, block.backward_bytes) for block in blocks),
        )

    def stages(self, totals: Sequence[int], used: Sequence[int], *, chunks_each: int, paging: bool) -> list[Stage]:
        """What each of the used cards gets, in their order, with as few paged blocks as its budget allows.

        Args:
            totals: Blocks of each used card.
            used: Indices of the used cards; the first is home.
            chunks_each: Chunks that each card's blocks are divided into.
            paging: Whether blocks may live in RAM.
        """
        return [
            self._stage(total, rank, used, chunks_each=chunks_each, paging=paging) for rank, total in enumerate(totals)
        ]

    def step_s(self, stages: Sequence[Stage], *, chunks_each: int) -> float:
        """The step of a placement."""
        variant = self.variant
        busy = [stage.busy_s for stage in stages]
        if len(busy) == 1:
            return variant.num_microbatches * busy[0] + variant.between_steps_s
        longest, num_chunks = max(busy), len(busy) * chunks_each
        idle_ends = (sum(busy) - longest) / chunks_each
        crossings = 2 * (num_chunks - 1) * variant.crossing_s / (chunks_each if variant.num_microbatches > 1 else 1)
        return variant.num_microbatches * longest + idle_ends + crossings + variant.between_steps_s

    def _stage(self, total: int, rank: int, used: Sequence[int], *, chunks_each: int, paging: bool) -> Stage:
        card, sizes = self.cards[used[rank]], self._sizes
        others = self._beside_weights(total, rank, len(used), chunks_each=chunks_each) + card.constant_bytes
        resident = others + round(total * sizes.weights)
        num_paged, needed = 0, resident
        room_for_slots = total > self.num_slots and paging and card.link_bytes_per_s > 0
        if needed > card.budget_bytes and room_for_slots:
            slots = self.num_slots * sizes.paged
            over = resident + slots - card.budget_bytes
            num_paged = min(total, max(self.num_slots + 1, -int(-over // sizes.weights)))
            needed = resident + slots - round(num_paged * sizes.weights)
        return Stage(
            label=card.label,
            num_blocks=total,
            num_paged=num_paged,
            needed_bytes=needed,
            missing_bytes=max(0, needed - card.budget_bytes),
            paged_bytes=num_paged * sizes.paged,
            busy_s=self._busy_s(total, rank, card, used[rank], num_paged),
        )

    def _busy_s(self, total: int, rank: int, card: PlanCard, index: int, num_paged: int) -> float:
        computing = self.variant.block_s[index] * total / self.num_blocks
        # Every paged block comes twice, for the forward and for the backward.
        loading = 2 * num_paged * self._sizes.paged / card.link_bytes_per_s if num_paged else 0.0
        return max(computing, loading) + (self.variant.tail_s if rank == 0 else 0.0)

    def _beside_weights(self, total: int, rank: int, num_cards: int, *, chunks_each: int) -> int:
        """Everything but the blocks' weights."""
        sizes, outer = self._sizes, self.variant.footprint.outer
        num_microbatches = self.variant.num_microbatches
        live_chunks, live = 1, 1
        if num_cards > 1:
            ahead = (
                2 * (num_cards - rank - 1) + (chunks_each - 1) * num_cards if chunks_each > 1 else num_cards - rank - 1
            )
            live_chunks = min(ahead + 1, num_microbatches * chunks_each)
            live = min(num_microbatches, ahead + 1)
        chunk_blocks = -(-total // chunks_each)
        kept = sizes.kept * min(live_chunks * chunk_blocks, num_microbatches * total)
        # Under way: the gradient that a backward holds, what has arrived, and what the model's variables still hold.
        boundaries = sizes.output * (2 + min(live, chunks_each)) if num_cards > 1 else sizes.output
        shared = live * outer.shared_bytes if rank else 0
        return round(total * sizes.per_block + kept + boundaries + shared + self._at_home(rank, num_microbatches, live))

    def _at_home(self, rank: int, num_microbatches: int, live: int) -> int:
        """What happens for a moment, and on the home card everything outside the blocks."""
        outer, temporary = self.variant.footprint.outer, self._sizes.temporary
        if rank:
            return temporary
        part = outer.part
        owned = sum(part.weights_bytes.values()) + part.trained_bytes + part.optimizer_bytes + part.gradient_bytes
        held = num_microbatches * outer.batch_bytes + live * outer.prologue_kept_bytes
        return owned + held + max(temporary, outer.tail_bytes + 2 * self._sizes.output)

    def num_aside(self, stage: Stage, rank: int, card: PlanCard) -> int | None:
        """How many more of a card's blocks must step aside to RAM while a sample is made.

        Args:
            stage: What the card has.
            rank: Its place among the used cards; 0 is home.
            card: The card.

        Returns:
            The number, 0 where everything can stay; None where the sample does not fit however many go.
        """
        sampling = self.variant.sampling
        if sampling is None:
            return 0
        resident = stage.num_blocks - stage.num_paged
        slots = self.num_slots * self._sizes.paged if stage.num_paged else 0
        needed = self._sampling_bytes(sampling, stage, rank) + card.constant_bytes + slots
        needed += round(resident * self._sizes.weights)
        if needed <= card.budget_bytes:
            return 0
        extra_slots = 0 if stage.num_paged else self.num_slots * self._sizes.paged
        num = -int(-(needed + extra_slots - card.budget_bytes) // self._sizes.weights)
        return num if num <= resident else None

    def _sampling_bytes(self, sampling: Footprint, stage: Stage, rank: int) -> int:
        """What a card holds while a sample is made, beside its blocks' weights."""
        parts = [block.part for block in self.variant.footprint.blocks]
        state = sum(part.trained_bytes + part.optimizer_bytes for part in parts) / len(parts) * stage.num_blocks
        largest = max(block.forward_bytes for block in sampling.blocks)
        boundary = max(block.output_bytes for block in sampling.blocks)
        if rank:
            return round(state + sampling.outer.shared_bytes + boundary + largest)
        part, outer = self.variant.footprint.outer.part, sampling.outer
        owned = sum(part.weights_bytes.values()) + part.trained_bytes + part.optimizer_bytes
        moment = max(largest, outer.tail_bytes + boundary)
        return round(state + owned + outer.batch_bytes + outer.prologue_kept_bytes + boundary + moment)

    def aside_bytes(self, num_blocks: int) -> int:
        """RAM for blocks that step aside."""
        return num_blocks * self._sizes.paged
