"""A second look at the placements that the planner likes best: the walked memory, and the step by the pipeline's clock.

The planner compares thousands of placements by closed formulas, which are a little generous with memory and let paging
hide perfectly. Of each way one placement is left, and for that there is time to walk through the whole step.
"""

from dataclasses import dataclass, replace

from diffusionforce.pipeline.schedule.generators import Costs, Op, interleaved, turns
from diffusionforce.pipeline.splitter.costs import BlockSizes, CardCosts, RigCosts
from diffusionforce.pipeline.splitter.model import Cut, Share, modelled_step
from diffusionforce.trainer.forecasting.rigs import Rig
from diffusionforce.ugpum.estimate import Stage
from diffusionforce.ugpum.forecast import Forecast, Layout, forecast_training
from diffusionforce.ugpum.planner import Candidate
from diffusionforce.ugpum.replayed import replayed


def order_of(candidate: Candidate) -> list[Op]:
    """The order in which a candidate's step runs."""
    placing, num_microbatches = candidate.placing, candidate.variant.num_microbatches
    generate = turns if len(placing.cards) == 1 else interleaved
    return generate(Costs.equal(placing.card_of_chunk), num_microbatches=num_microbatches)


def walked(candidate: Candidate, layout: Layout, rig: Rig, *, graphs: bool = False) -> Forecast:
    """The memory of a candidate's step, walked through.

    Args:
        candidate: The way to train.
        layout: Its placement, with the order of its step.
        rig: The cards.
        graphs: Whether blocks are replayed from captured graphs. What the graphs work in is held by the allocator for
            good, beside the room in which everything else works, and counts as constant.
    """
    constants = rig.training_constants(layout, replays_blocks=graphs)
    footprint = candidate.variant.footprint
    if graphs:
        captured = replayed(footprint)
        # Blocks that are paged run without graphs, in the room in which everything else works.
        footprint = footprint if layout.paged else captured.footprint
        constants = tuple(a + b for a, b in zip(constants, captured.held(layout, len(constants)), strict=True))
    return forecast_training(footprint, layout, constant_bytes=constants)


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Judges the best placement of each way.

    Attributes:
        rig: The cards.
        graphs: See `engines.subjects.JobSubjects`.
    """

    rig: Rig
    graphs: bool = False

    def __call__(self, candidate: Candidate) -> Candidate:
        """Replace a candidate's estimates."""
        order = order_of(candidate)
        layout = candidate.layout(order)
        forecast = walked(candidate, layout, self.rig, graphs=self.graphs)
        stages = tuple(
            self._stage(stage, card, forecast.cards[card].peak_bytes)
            for card, stage in zip(candidate.placing.cards, candidate.stages, strict=True)
        )
        return replace(candidate, stages=stages, step_s=self._step_s(candidate, order, layout))

    def _stage(self, stage: Stage, card: int, needed_bytes: int) -> Stage:
        missing_bytes = max(0, needed_bytes - self.rig.cards[card].budget_bytes)
        return replace(stage, needed_bytes=needed_bytes, missing_bytes=missing_bytes)

    def _step_s(self, candidate: Candidate, order: list[Op], layout: Layout) -> float:
        variant, placing = candidate.variant, candidate.placing
        blocks = variant.footprint.blocks
        sizes = BlockSizes(
            weights=tuple(block.part.paged_bytes for block in blocks), kept=tuple(block.kept_bytes for block in blocks)
        )
        ranks = range(len(placing.cards))
        costs = RigCosts(
            cards=tuple(self._card_costs(candidate, card) for card in placing.cards),
            blocks=sizes,
            crossing_s=tuple(tuple(variant.crossing_s * (a != b) for b in ranks) for a in ranks),
            tail_s=variant.tail_s,
            between_steps_s=variant.between_steps_s,
        )
        rank_of_chunk = tuple(placing.cards.index(card) for card in placing.card_of_chunk)
        cut = Cut(chunk_sizes=placing.chunk_sizes, card_of_chunk=rank_of_chunk, order=tuple(order))
        shares = [_share(stage, layout, card) for card, stage in zip(placing.cards, candidate.stages, strict=True)]
        step_s = modelled_step(costs, cut, shares).step_s
        # The clock of one card has a tail between forward and backward only.
        host_s = variant.num_microbatches * variant.host_s
        if self.graphs and variant.footprint.block_launches:
            # A replay is one launch.
            host_s *= sum(blocks[one].launches for one in layout.paged) / variant.footprint.block_launches
        return max(step_s, host_s) + variant.between_steps_s

    def _card_costs(self, candidate: Candidate, card: int) -> CardCosts:
        """The seconds of each block, in proportion to its work."""
        variant = candidate.variant
        blocks, work = variant.footprint.blocks, variant.footprint.block_work
        unit_s = variant.block_s[card] / work if work else 0.0
        even_s = 0.0 if work else variant.block_s[card] / len(blocks)
        return CardCosts(
            name=self.rig.cards[card].label,
            budget_bytes=self.rig.cards[card].budget_bytes,
            fixed_bytes=0,
            forward_s=tuple(block.forward_work * unit_s + even_s / 3 for block in blocks),
            backward_s=tuple(block.backward_work * unit_s + even_s * 2 / 3 for block in blocks),
            paging_bytes_per_s=self.rig.cards[card].link_bytes_per_s,
        )


def _share(stage: Stage, layout: Layout, card: int) -> Share:
    """What the clock needs to know of a card's paging."""
    mine = layout.blocks_of(card)
    return Share(
        name=stage.label,
        blocks=mine,
        paged=layout.paged.intersection(mine),
        num_slots=stage.num_slots,
        resident_bytes=0,
        slots_bytes=0,
        kept_bytes=0,
        fixed_bytes=0,
        budget_bytes=0,
    )
