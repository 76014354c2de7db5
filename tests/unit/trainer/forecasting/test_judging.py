"""The second look: walked memory, the pipeline's clock, and the host that issues everything."""

from dataclasses import replace

import pytest
from tests.support.footprints import WAN_14B, equal_blocks

from diffusionforce.trainer.forecasting.judging import Judge, order_of, walked
from diffusionforce.trainer.forecasting.rigs import rig_imagined
from diffusionforce.ugpum.catalogue import parse_rig
from diffusionforce.ugpum.estimate import Variant
from diffusionforce.ugpum.imagined import imagined_variant
from diffusionforce.ugpum.planner import Candidate, plan

RIG = "RTX 5080, RTX 4060 Ti 16GB x4"


def candidates(*, num_microbatches: int = 4) -> dict[str, Candidate]:
    """The planner's own favourites, by kind."""
    variant = imagined_variant(WAN_14B, parse_rig(RIG), weights="bf16", num_microbatches=num_microbatches)
    rig = rig_imagined(RIG)
    made = plan([variant], rig.planning_cards(num_microbatches), ram_bytes=rig.ram_usable_bytes)
    return {one.kind: one for one in made.candidates}


def test_needs_are_what_a_walk_through_the_step_finds() -> None:
    rig = rig_imagined(RIG)
    for candidate in candidates().values():
        judged = Judge(rig=rig)(candidate)
        forecast = walked(candidate, candidate.layout(order_of(candidate)), rig)
        for card, before, after in zip(candidate.placing.cards, candidate.stages, judged.stages, strict=True):
            assert after.needed_bytes == forecast.cards[card].peak_bytes <= before.needed_bytes
            assert after.missing_bytes == max(0, after.needed_bytes - rig.cards[card].budget_bytes)
            assert (after.num_blocks, after.num_paged) == (before.num_blocks, before.num_paged)


def test_the_clocks_step_is_close_to_the_estimate() -> None:
    for kind, candidate in candidates().items():
        judged = Judge(rig=rig_imagined(RIG))(candidate)
        assert judged.step_s == pytest.approx(candidate.step_s, rel=0.15), kind


def test_no_step_is_shorter_than_the_host_takes_to_issue_it() -> None:
    split = candidates()["split + swap"]
    judge = Judge(rig=rig_imagined(RIG))

    def step_s(host_s: float) -> float:
        return judge(replace(split, variant=replace(split.variant, host_s=host_s))).step_s

    assert step_s(0.001) == step_s(0.0), "cards are the bottleneck"
    assert step_s(40.0) == pytest.approx(40.0 * split.variant.num_microbatches)


def test_with_graphs_the_processor_starts_the_kernels_of_paged_blocks_alone() -> None:
    def step_s(kind: str, *, graphs: bool, host_s: float = 40.0) -> float:
        one = candidates()[kind]
        footprint = replace(WAN_14B, kinds=tuple(replace(kind, launches=600) for kind in WAN_14B.kinds))
        slow = replace(one, variant=replace(one.variant, footprint=footprint, host_s=host_s))
        return Judge(rig=rig_imagined(RIG), graphs=graphs)(slow).step_s

    all_s = 40.0 * candidates()["split"].variant.num_microbatches
    assert step_s("split", graphs=False) == pytest.approx(all_s)
    assert step_s("split", graphs=True) == step_s("split", graphs=False, host_s=0.0)
    share = len(candidates()["split + swap"].paged) / 40
    assert step_s("split + swap", graphs=True) == pytest.approx(share * all_s, rel=0.05)


def test_blocks_without_counted_operations_take_equal_time() -> None:
    variant = Variant(
        weights="bf16", num_microbatches=2, footprint=equal_blocks(8, weights=1 << 20), block_s=(1.0, 1.0)
    )
    rig = rig_imagined("2 x 3090")
    made = plan([variant], rig.planning_cards(2), ram_bytes=0)
    one_card = next(one for one in made.candidates if one.kind == "one card")
    assert Judge(rig=rig)(one_card).step_s == pytest.approx(2.0)
    between = replace(one_card, variant=replace(variant, between_steps_s=0.5))
    assert Judge(rig=rig)(between).step_s == pytest.approx(2.5)


@pytest.mark.parametrize("text", ["5080, 4060 Ti 16GB x4", "4090, 3090", "4070 Ti SUPER, 3060 x4 gen3"])
def test_more_memory_never_makes_the_judged_plan_slower(text: str) -> None:
    """With one placement of each way judged, a step grew by 3 % where a card got more memory."""
    rig = rig_imagined(text)
    variant = imagined_variant(WAN_14B, parse_rig(text), weights="bf16", num_microbatches=4)
    fastest_s = float("inf")
    for tenths in range(90, 280, 9):
        cards = tuple(replace(card, budget_bytes=(tenths << 30) // 10) for card in rig.cards)
        small = replace(rig, cards=cards)
        made = plan([variant], small.planning_cards(4), ram_bytes=48 << 30, judge=Judge(rig=small)).recommended
        assert made is not None and made.step_s <= fastest_s * (1 + 1e-9), tenths
        fastest_s = made.step_s
