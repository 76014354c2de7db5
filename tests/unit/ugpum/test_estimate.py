"""The quick estimate against the walked forecast."""

import pytest
from tests.support.footprints import WAN_14B

from diffusionforce.pipeline import schedule
from diffusionforce.pipeline.splitter_costs import BlockSizes, CardCosts, RigCosts
from diffusionforce.pipeline.splitter_model import Cut, Share, modelled_step
from diffusionforce.ugpum.catalogue import parse_rig
from diffusionforce.ugpum.estimate import Estimator, PlanCard, Variant
from diffusionforce.ugpum.forecast import Layout, forecast_training
from diffusionforce.ugpum.imagined import imagined_cards, imagined_variant, workspace_bytes
from diffusionforce.ugpum.planner import Candidate, Placing, plan


@pytest.mark.parametrize("num_microbatches", [1, 2, 4, 8])
@pytest.mark.parametrize("chunks_each", [1, 2, 4, 5])
def test_the_estimate_is_never_below_the_forecast_and_close(chunks_each: int, num_microbatches: int) -> None:
    placing = Placing(cards=(0, 1), totals=(23, 17), chunks_each=chunks_each)
    order = schedule.interleaved(
        num_chunks=2 * chunks_each, num_microbatches=num_microbatches, device_of=placing.card_of_chunk
    )
    layout = Layout(chunk_sizes=placing.chunk_sizes, card_of_chunk=placing.card_of_chunk, order=order)
    variant = Variant(weights="bf16", num_microbatches=num_microbatches, footprint=WAN_14B, block_s=(1.0, 1.0))
    rig = [PlanCard(label=name, budget_bytes=1 << 40) for name in "ab"]
    stages = Estimator(variant, rig).stages(placing.totals, placing.cards, chunks_each=chunks_each, paging=False)
    for stage, card in zip(stages, forecast_training(WAN_14B, layout).cards, strict=True):
        assert card.peak_bytes <= stage.needed_bytes <= 1.03 * card.peak_bytes


def test_one_card_is_estimated_as_it_is_forecast() -> None:
    for num_microbatches in (1, 4):
        layout = Layout(
            chunk_sizes=(40,),
            card_of_chunk=(0,),
            order=schedule.turns(num_chunks=1, num_microbatches=num_microbatches),
            paged=frozenset(range(0, 40, 2)),
            num_slots=(3,),
        )
        forecast = forecast_training(WAN_14B, layout)
        rig = [PlanCard(label="a", budget_bytes=19 << 30, link_bytes_per_s=1e10)]
        variant = Variant(weights="bf16", num_microbatches=num_microbatches, footprint=WAN_14B, block_s=(1.0,))
        (stage,) = Estimator(variant, rig).stages((40,), (0,), chunks_each=1, paging=True)
        ten_paged = forecast.cards[0].peak_bytes + (20 - stage.num_paged) * 704_704_512
        assert ten_paged <= stage.needed_bytes <= 1.02 * ten_paged
        assert stage.paged_bytes == stage.num_paged * 702_607_360


def clocked_s(candidate: Candidate, link_bytes_per_s: list[float]) -> float:
    """The step by the pipeline's own clock, paging block by block."""
    variant, placing = candidate.variant, candidate.placing
    num_cards, num_blocks = len(placing.cards), sum(placing.totals)
    at = tuple(range(num_cards)) * placing.chunks_each
    order = schedule.interleaved(num_chunks=len(at), num_microbatches=variant.num_microbatches, device_of=at)
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
    for card, stage in enumerate(candidate.stages):
        mine = [block for chunk, owner in zip(cut.chunks, at, strict=True) if owner == card for block in chunk]
        spread = [mine[int((index + 0.5) * len(mine) / stage.num_paged)] for index in range(stage.num_paged)]
        shares.append(
            Share(
                name="",
                blocks=tuple(mine),
                paged=frozenset(spread),
                num_slots=3 if spread else 0,
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
        clock_s = clocked_s(candidate, [kind.link_bytes_per_s for kind in kinds])
        assert candidate.step_s == pytest.approx(clock_s, rel=0.06), candidate.words


def test_workspaces_depend_on_the_chip() -> None:
    assert workspace_bytes((9, 0)) == 64 << 20
    assert workspace_bytes((8, 9)) == workspace_bytes(None) < 20 << 20
