"""The quick estimate against the walked forecast."""

import pytest
from tests.support.footprints import WAN_14B

from diffusionforce.pipeline import schedule
from diffusionforce.ugpum.estimate import Estimator, PlanCard, Variant
from diffusionforce.ugpum.forecast import Layout, forecast_training
from diffusionforce.ugpum.planner import Placing


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
