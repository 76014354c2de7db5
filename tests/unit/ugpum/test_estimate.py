"""The quick estimate against the walked forecast."""

from dataclasses import replace

import pytest
from tests.support.footprints import WAN_14B

from diffusionforce.pipeline.schedule import generators as schedule
from diffusionforce.pipeline.splitter.costs import BlockSizes, CardCosts, RigCosts
from diffusionforce.pipeline.splitter.model import Cut, Share, modelled_step
from diffusionforce.ugpum.catalogue import parse_rig
from diffusionforce.ugpum.estimate import Estimator, Placing, PlanCard, Variant
from diffusionforce.ugpum.forecast import Layout, forecast_training
from diffusionforce.ugpum.imagined import imagined_cards, imagined_variant, workspace_bytes
from diffusionforce.ugpum.planner import Candidate, plan


@pytest.mark.parametrize("num_microbatches", [1, 2, 4, 8])
@pytest.mark.parametrize("chunks_each", [1, 2, 4, 5])
@pytest.mark.parametrize("totals", [(23, 17), (15, 13, 12)])
def test_the_estimate_is_never_below_the_forecast_and_close(
    totals: tuple[int, ...], chunks_each: int, num_microbatches: int
) -> None:
    placing = Placing(cards=tuple(range(len(totals))), totals=totals, chunks_each=chunks_each)
    order = schedule.interleaved(schedule.Costs.equal(placing.card_of_chunk), num_microbatches=num_microbatches)
    layout = Layout(chunk_sizes=placing.chunk_sizes, card_of_chunk=placing.card_of_chunk, order=order)
    variant = Variant(weights="bf16", num_microbatches=num_microbatches, footprint=WAN_14B, block_s=(1.0,) * 3)
    rig = [PlanCard(label=name, budget_bytes=1 << 40) for name in "abc"]
    stages = Estimator(variant, rig).stages(placing, paging=False)
    for stage, card in zip(stages, forecast_training(WAN_14B, layout).cards, strict=True):
        assert card.peak_bytes <= stage.needed_bytes <= 1.04 * card.peak_bytes


def test_blocks_of_two_kinds_are_counted_where_they_are() -> None:
    """A model whose first half has heavy blocks, as those with double and single streams do."""
    light = WAN_14B.kinds[0]
    part = replace(light.part, weights_bytes={"bfloat16": 1_409_409_024}, paged_bytes=1_405_214_720)
    heavy = replace(light, part=part, kept_bytes=2 * light.kept_bytes, forward_flops=2 * light.forward_flops)
    mixed = replace(WAN_14B, kinds=(heavy, light), kind_of_block=(0,) * 10 + (1,) * 20)
    variant = Variant(weights="bf16", num_microbatches=4, footprint=mixed, block_s=(1.0, 1.0))
    for budget, paging in ((1 << 40, False), (14 << 30, True)):
        rig = [PlanCard(label=name, budget_bytes=budget, link_bytes_per_s=1e10) for name in "ab"]
        for placing in (Placing(cards=(0, 1), totals=(13, 17), chunks_each=each) for each in (1, 3)):
            stages = Estimator(variant, rig).stages(placing, paging=paging)
            found = Candidate(kind="split", variant=variant, placing=placing, stages=tuple(stages), step_s=0.0)
            order = schedule.interleaved(schedule.Costs.equal(placing.card_of_chunk), num_microbatches=4)
            forecast = forecast_training(mixed, found.layout(order))
            assert bool(found.paged) == paging
            assert forecast.ram_bytes == sum(stage.paged_bytes for stage in stages)
            for stage, card in zip(stages, forecast.cards, strict=True):
                assert card.peak_bytes <= stage.needed_bytes <= 1.04 * card.peak_bytes
                assert not paging or stage.missing_bytes == 0


def test_one_card_is_estimated_as_it_is_forecast() -> None:
    for num_microbatches in (1, 4):
        layout = Layout(
            chunk_sizes=(40,),
            card_of_chunk=(0,),
            order=schedule.turns(schedule.Costs.equal((0,)), num_microbatches=num_microbatches),
            paged=frozenset(range(0, 40, 2)),
            num_slots=(3,),
        )
        forecast = forecast_training(WAN_14B, layout)
        rig = [PlanCard(label="a", budget_bytes=19 << 30, link_bytes_per_s=1e10)]
        variant = Variant(weights="bf16", num_microbatches=num_microbatches, footprint=WAN_14B, block_s=(1.0,))
        (stage,) = Estimator(variant, rig).stages(Placing(cards=(0,), totals=(40,), chunks_each=1), paging=True)
        ten_paged = forecast.cards[0].peak_bytes + (20 - stage.num_paged) * 704_704_512
        assert ten_paged <= stage.needed_bytes <= 1.02 * ten_paged
        assert stage.paged_bytes == stage.num_paged * 702_607_360


def clocked_s(candidate: Candidate, link_bytes_per_s: list[float]) -> float:
    """The step by the pipeline's own clock, paging block by block."""
    variant, placing = candidate.variant, candidate.placing
    num_cards, num_blocks = len(placing.cards), sum(placing.totals)
    at = tuple(range(num_cards)) * placing.chunks_each
    order = schedule.interleaved(schedule.Costs.equal(at), num_microbatches=variant.num_microbatches)
    cut = Cut(chunk_sizes=placing.chunk_sizes, card_of_chunk=at, order=tuple(order))
    seconds = [variant.block_s[card] / num_blocks for card in placing.cards]
    rig = RigCosts(
        cards=tuple(
            CardCosts(
                name="",
                budget_bytes=0,
                fixed_bytes=0,
                forward_s=(second / 3,) * num_blocks,
                backward_s=(second * 2 / 3,) * num_blocks,
                paging_bytes_per_s=rate,
            )
            for second, rate in zip(seconds, link_bytes_per_s, strict=True)
        ),
        blocks=BlockSizes(weights=(702_607_360,) * num_blocks, kept=(0,) * num_blocks),
        crossing_s=tuple(tuple(variant.crossing_s * (a != b) for b in range(num_cards)) for a in range(num_cards)),
    )
    shares: list[Share] = []
    layout = candidate.layout(order)
    for card, stage in zip(placing.cards, candidate.stages, strict=True):
        mine = layout.blocks_of(card)
        spread = layout.paged.intersection(mine)
        assert (len(mine), len(spread)) == (stage.num_blocks, stage.num_paged)
        shares.append(
            Share(
                name="",
                blocks=mine,
                paged=spread,
                num_slots=stage.num_slots,
                resident_bytes=0,
                slots_bytes=0,
                kept_bytes=0,
                fixed_bytes=0,
                budget_bytes=0,
            )
        )
    return modelled_step(rig, cut, shares).step_s


@pytest.mark.parametrize("num_microbatches", [2, 4, 8])
@pytest.mark.parametrize(
    "text", ["5080, 4060 Ti 16GB x4", "2 x 3090", "4090, 3090", "5090, 4090", "4070 Ti SUPER, 3060 x4 gen3"]
)
def test_the_step_is_what_the_pipelines_clock_says(text: str, num_microbatches: int) -> None:
    kinds = parse_rig(text)
    variant = imagined_variant(WAN_14B, kinds, weights="bf16", num_microbatches=num_microbatches)
    made = plan([variant], imagined_cards(kinds), ram_bytes=64 << 30)
    splits = [one for one in made.candidates if one.fits and one.kind.startswith("split")]
    assert splits
    for candidate in splits:
        order = schedule.interleaved(
            schedule.Costs.equal(candidate.placing.card_of_chunk), num_microbatches=num_microbatches
        )
        forecast = forecast_training(WAN_14B, candidate.layout(order))
        for card, stage in zip(candidate.placing.cards, candidate.stages, strict=True):
            assert forecast.cards[card].peak_bytes <= stage.needed_bytes
        assert forecast.ram_bytes == sum(stage.paged_bytes for stage in candidate.stages)
        clock_s = clocked_s(candidate, [kind.link_bytes_per_s for kind in kinds])
        assert candidate.step_s == pytest.approx(clock_s, rel=0.06), candidate.words


@pytest.mark.parametrize("totals", [(40,), (23, 17)])
def test_with_graphs_the_processor_starts_the_kernels_of_paged_blocks_alone(totals: tuple[int, ...]) -> None:
    placing = Placing(cards=tuple(range(len(totals))), totals=totals, chunks_each=1)
    variant = Variant(weights="bf16", num_microbatches=4, footprint=WAN_14B, block_s=(1.0, 1.0), host_s=40.0)

    def found(budget_gib: int, **changes: object) -> tuple[float, int]:
        rig = [PlanCard(label=name, budget_bytes=budget_gib << 30, link_bytes_per_s=1e10) for name in "ab"]
        estimator = Estimator(replace(variant, **changes), rig)
        stages = estimator.stages(placing, paging=True)
        return estimator.step_s(placing, stages), sum(stage.num_paged for stage in stages)

    assert found(1 << 10)[0] == 4 * 40.0
    assert found(1 << 10, replays=True) == found(1 << 10, host_s=0.0)
    step_s, num_paged = found(14, replays=True)
    assert 0 < num_paged < 40 and step_s == pytest.approx(4 * 40.0 * num_paged / 40)


def test_workspaces_depend_on_the_chip() -> None:
    assert workspace_bytes((9, 0)) == 64 << 20
    assert workspace_bytes((8, 9)) == workspace_bytes(None) < 20 << 20
