"""The planner: properties over random rigs and models, the rigs that people own, and refusals."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.footprints import RIGS_PEOPLE_OWN, WAN_14B, equal_blocks

from diffusionforce.pipeline.schedule.generators import interleaved, turns
from diffusionforce.pipeline.schedule.simulation import Costs
from diffusionforce.rig import GIB
from diffusionforce.ugpum.catalogue import parse_rig
from diffusionforce.ugpum.estimate import Estimator, Kind, Placing, PlanCard, Variant
from diffusionforce.ugpum.footprint import Footprint
from diffusionforce.ugpum.forecast import forecast_training
from diffusionforce.ugpum.imagined import imagined_cards, imagined_variant
from diffusionforce.ugpum.planner import KINDS, Candidate, Plan, Wish, plan
from diffusionforce.ugpum.sharing import subsets

UNIT = 1 << 20
NUM_SLOTS = 2


@st.composite
def cards(draw: st.DrawFn) -> PlanCard:
    return PlanCard(
        label="card",
        budget_bytes=draw(st.integers(0, 60)) * UNIT,
        link_bytes_per_s=draw(st.sampled_from([0.0, 2.0 * UNIT, 50.0 * UNIT])),
        constant_bytes=draw(st.integers(0, 3)) * UNIT,
    )


@st.composite
def rigs(draw: st.DrawFn) -> tuple[list[PlanCard], list[Variant], int]:
    """Cards, variants of one model, and RAM."""
    rig = [replace(draw(cards()), label=f"GPU {index}") for index in range(draw(st.sampled_from([1, 2, 2, 3])))]
    num_blocks = draw(st.integers(1, 7 if len(rig) < 3 else 5))
    weights, kept, working = (draw(st.integers(low, 8)) * UNIT for low in (1, 0, 0))
    trained, output, outside = (draw(st.integers(0, 2)) * UNIT for _ in range(3))
    num_heavy = draw(st.integers(0, num_blocks))
    pace = [draw(st.floats(0.1, 10)) for _ in rig]
    variants: list[Variant] = []
    for name, divisor in draw(st.sampled_from([[("bf16", 1)], [("bf16", 1), ("fp8", 2)]])):
        for num_microbatches in draw(st.sampled_from([(1,), (4,), (1, 2, 4)])):
            share = 4 // num_microbatches
            equal = equal_blocks(
                num_blocks,
                weights=weights // divisor,
                trained=trained,
                kept=kept * share,
                output=output * share,
                working=working * share,
                outside=outside,
            )
            footprint = with_heavy_blocks(realistic(equal, output * share), num_heavy)
            variants.append(
                Variant(
                    weights=name,
                    num_microbatches=num_microbatches,
                    footprint=footprint,
                    block_s=tuple(seconds * share for seconds in pace),
                    crossing_s=draw(st.sampled_from([0.0, 0.05])),
                    sampling=draw(st.sampled_from([None, footprint])),
                )
            )
    return rig, variants, draw(st.integers(0, 60)) * UNIT


def realistic(footprint: Footprint, output: int) -> Footprint:
    """What a block keeps holds its result, and what comes before the first block makes its input."""
    (kind,) = footprint.kinds
    kind = replace(kind, kept_bytes=max(kind.kept_bytes, output))
    return replace(footprint, kinds=(kind,), outer=replace(footprint.outer, prologue_kept_bytes=output))


def with_heavy_blocks(footprint: Footprint, num_heavy: int) -> Footprint:
    """The first blocks with twice the weights and activations, as models with double and single streams have them."""
    (light,) = footprint.kinds
    weights = light.part.weights_bytes["bfloat16"]
    part = replace(light.part, weights_bytes={"bfloat16": 2 * weights}, paged_bytes=2 * light.part.paged_bytes)
    heavy = replace(light, part=part, kept_bytes=2 * light.kept_bytes)
    num_light = len(footprint.blocks) - num_heavy
    return replace(footprint, kinds=(light, heavy), kind_of_block=(1,) * num_heavy + (0,) * num_light)


def planned(rig: list[PlanCard], variants: list[Variant], ram_bytes: int, *, wish: Wish | None = None) -> Plan:
    return plan(variants, rig, ram_bytes=ram_bytes, wish=wish, max_chunks_each=3, num_slots=NUM_SLOTS)


def fastest_of_all(
    rig: list[PlanCard], variants: list[Variant], ram_bytes: int, *, wish: Wish | None = None
) -> float | None:
    """The shortest step of every placement there is, without any search; None if none fits."""
    steps: list[float] = []
    for variant, paging in itertools.product(variants, (False, True)):
        estimator = Estimator(variant, rig, num_slots=NUM_SLOTS)
        for placing in every_placing(estimator.num_blocks, len(rig), with_chunks=variant.num_microbatches > 1):
            stages = estimator.stages(placing, paging=paging)
            pages = any(stage.num_paged for stage in stages)
            kind = f"{'one card' if len(placing.cards) == 1 else 'split'}{' + swap' if pages else ''}"
            allowed = wish is None or (
                (wish.kinds is None or kind in wish.kinds) and (wish.weights is None or variant.weights in wish.weights)
            )
            fits = not any(s.missing_bytes for s in stages) and sum(s.paged_bytes for s in stages) <= ram_bytes
            if fits and allowed:
                steps.append(estimator.step_s(placing, stages))
    return min(steps, default=None)


def every_placing(num_blocks: int, num_cards: int, *, with_chunks: bool) -> Iterator[Placing]:
    """Every choice of cards, every sharing out of the blocks, every number of chunks."""
    for size in range(1, num_cards + 1):
        for used in itertools.combinations(range(num_cards), size):
            for cuts in itertools.combinations(range(1, num_blocks), size - 1):
                totals = tuple(end - start for start, end in itertools.pairwise((0, *cuts, num_blocks)))
                for each in (1, 2, 3) if with_chunks and size > 1 else (1,):
                    if each <= min(totals):
                        yield Placing(cards=used, totals=totals, chunks_each=each)


Case = tuple[list[PlanCard], list[Variant], int]
FEW, MANY = (
    settings(max_examples=number, deadline=None, suppress_health_check=[HealthCheck.too_slow]) for number in (200, 3000)
)


@FEW
@given(rigs())
def test_the_plan_is_the_fastest_that_fits_and_refuses_only_where_nothing_does(case: Case) -> None:
    assert_best(*case)


@pytest.mark.slow
@pytest.mark.timeout(1500)
@MANY
@given(rigs())
def test_the_plan_is_the_fastest_that_fits_of_thousands_of_rigs(case: Case) -> None:
    assert_best(*case)


def assert_best(rig: list[PlanCard], variants: list[Variant], ram_bytes: int) -> None:
    made, fastest = planned(rig, variants, ram_bytes), fastest_of_all(rig, variants, ram_bytes)
    if made.recommended is None:
        assert fastest is None
        assert made.refusal
        assert not any(candidate.fits for candidate in made.candidates)
        assert made.closest.missing_bytes or made.closest.missing_ram_bytes
        return
    assert made.recommended is made.closest
    assert made.recommended.step_s == pytest.approx(fastest)
    for candidate in made.candidates:
        assert candidate.reason
        if candidate.fits:
            assert candidate.step_s >= made.recommended.step_s
            assert_within_budgets(candidate, rig, ram_bytes)
        assert_blocks_add_up(candidate)


def assert_within_budgets(candidate: Candidate, rig: list[PlanCard], ram_bytes: int) -> None:
    assert candidate.ram_bytes <= ram_bytes
    weights = max(sum(block.part.weights_bytes.values()) for block in candidate.variant.footprint.blocks)
    for index, stage in zip(candidate.placing.cards, candidate.stages, strict=True):
        assert stage.needed_bytes <= rig[index].budget_bytes
        if stage.num_paged > NUM_SLOTS + 1:
            assert stage.needed_bytes + weights > rig[index].budget_bytes, "one block fewer would do"


def assert_blocks_add_up(candidate: Candidate) -> None:
    assert sum(candidate.placing.totals) == sum(candidate.placing.chunk_sizes)
    layout = candidate.layout(())
    for card, stage in zip(candidate.placing.cards, candidate.stages, strict=True):
        assert len(layout.blocks_of(card)) == stage.num_blocks
        assert len(layout.paged.intersection(layout.blocks_of(card))) == stage.num_paged


@FEW
@given(rigs())
def test_what_fits_by_the_estimate_fits_when_the_step_is_walked_through(case: Case) -> None:
    rig, variants, ram_bytes = case
    for candidate in planned(rig, variants, ram_bytes).candidates:
        if candidate.fits:
            placing, num_microbatches = candidate.placing, candidate.variant.num_microbatches
            generate = turns if len(placing.cards) == 1 else interleaved
            order = generate(Costs.equal(placing.card_of_chunk), num_microbatches=num_microbatches)
            constants = [card.constant_bytes for card in rig]
            footprint = candidate.variant.footprint
            walked = forecast_training(footprint, candidate.layout(order), constant_bytes=constants)
            assert walked.ram_bytes <= ram_bytes
            for card in placing.cards:
                assert walked.cards[card].peak_bytes <= rig[card].budget_bytes


@FEW
@given(rigs(), st.sets(st.sampled_from(KINDS), min_size=1), st.sampled_from([None, "bf16", "fp8"]))
def test_what_the_user_insists_on_is_the_fastest_of_that(case: Case, kinds: set[Kind], weights: str | None) -> None:
    rig, variants, ram_bytes = case
    wish = Wish(kinds=frozenset(kinds), weights=None if weights is None else frozenset({weights}))
    made, fastest = planned(rig, variants, ram_bytes, wish=wish), fastest_of_all(rig, variants, ram_bytes, wish=wish)
    if made.recommended is None:
        assert fastest is None and made.refusal
        return
    assert made.recommended.kind in kinds and (weights is None or made.recommended.variant.weights == weights)
    assert made.recommended.step_s == pytest.approx(fastest)


@FEW
@given(rigs(), st.integers(0, 2), st.integers(1, 40))
def test_more_memory_never_makes_the_plan_slower(case: Case, which: int, more: int) -> None:
    assert_monotone(*case, which=which, more=more)


@pytest.mark.slow
@pytest.mark.timeout(1500)
@MANY
@given(rigs(), st.integers(0, 2), st.integers(1, 40))
def test_more_memory_makes_none_of_thousands_of_plans_slower(case: Case, which: int, more: int) -> None:
    assert_monotone(*case, which=which, more=more)


def assert_monotone(rig: list[PlanCard], variants: list[Variant], ram_bytes: int, *, which: int, more: int) -> None:
    before = planned(rig, variants, ram_bytes).recommended
    index = which % len(rig)
    larger = list(rig)
    larger[index] = replace(rig[index], budget_bytes=rig[index].budget_bytes + more * UNIT)
    for after in (planned(larger, variants, ram_bytes), planned(rig, variants, ram_bytes + more * UNIT)):
        if before is not None:
            assert after.recommended is not None
            assert after.recommended.step_s <= before.step_s * (1 + 1e-9)


@FEW
@given(rigs(), cards(), st.floats(0.1, 50))
def test_one_more_card_never_makes_the_plan_slower(case: Case, card: PlanCard, pace: float) -> None:
    assert_no_slower_with(*case, card=card, pace=pace)


@pytest.mark.slow
@pytest.mark.timeout(1500)
@MANY
@given(rigs(), cards(), st.floats(0.1, 50))
def test_one_more_card_makes_none_of_thousands_of_plans_slower(case: Case, card: PlanCard, pace: float) -> None:
    assert_no_slower_with(*case, card=card, pace=pace)


def assert_no_slower_with(
    rig: list[PlanCard], variants: list[Variant], ram_bytes: int, *, card: PlanCard, pace: float
) -> None:
    rig = rig[:3]
    before = planned(rig, variants, ram_bytes).recommended
    wider = [replace(one, block_s=(*one.block_s, pace * 4 / one.num_microbatches)) for one in variants]
    after = planned([*rig, card], wider, ram_bytes).recommended
    if before is not None:
        assert after is not None and after.step_s <= before.step_s * (1 + 1e-9)


def test_a_third_card_that_only_seems_to_help_is_left_out() -> None:
    """Symptom: placements on all three cards seemed best, and those on two were not looked at again."""

    def judge(candidate: Candidate) -> Candidate:
        return replace(candidate, step_s=candidate.step_s * (1.3 if len(candidate.placing.cards) == 3 else 1.0))

    footprint = equal_blocks(12, weights=UNIT)
    rig = [PlanCard(label=name, budget_bytes=100 * UNIT) for name in "abc"]
    pace = (1.0, 1.0, 9.0)
    steps: list[float] = []
    for num in (2, 3):
        variant = Variant(weights="bf16", num_microbatches=4, footprint=footprint, block_s=pace[:num])
        made = plan([variant], rig[:num], ram_bytes=0, judge=judge).recommended
        assert made is not None and made.placing.cards == (0, 1)
        steps.append(made.step_s)
    assert steps[1] <= steps[0]


def test_cards_that_are_alike_are_not_tried_twice() -> None:
    four = list(subsets([1.0, 1.0, 2.0, 2.0], 2))
    assert four[0] == (0, 1) and len(four) == 3
    assert len(list(subsets([1.0] * 8, 3))) == 1
    assert len(list(subsets([1.0] * 4, 2, kinds="aabb"))) == 3
    assert list(subsets([float(pace) for pace in range(1, 9)], 3)) == [(0, 1, 2)], "too many differ"


@pytest.mark.parametrize("way", ["2", "split, fp8 weights", "Split,  FP8 weights, 4 micro-batches"])
def test_a_way_may_be_named_by_number_or_by_words(way: str) -> None:
    rig = "5090, 4090"
    named = {"2": wan_on(rig, halved=True).candidates[1].words}.get(way, "split, fp8 weights, 4 micro-batches")
    made = wan_on(rig, halved=True, wish=Wish(way=way))
    assert made.recommended is not None and made.recommended.words == named
    assert made.recommended.reason == "The way that was asked for."


def test_a_way_that_does_not_fit_or_does_not_exist_is_refused_with_others() -> None:
    made = wan_on("RTX 5080, RTX 4060 Ti 16GB", wish=Wish(way="split"))
    assert made.recommended is None and made.closest.kind == "split"
    assert "more on GPU 0 (RTX 5080)" in made.refusal[0]
    nowhere = wan_on("5090, 4090", wish=Wish(way="by post"))
    assert nowhere.refusal == ('No way to train is called "by post".',) and nowhere.ways_out


def test_many_cards_are_planned_for_within_moments() -> None:
    kinds = parse_rig("8 x 3060")
    variant = imagined_variant(WAN_14B, kinds, weights="bf16", num_microbatches=4)
    begin_s = time.process_time()
    made = plan([variant], imagined_cards(kinds), ram_bytes=48 * GIB).recommended
    assert time.process_time() - begin_s < 8
    assert made is not None and made.placing.totals == (5,) * 8


def wan_on(text: str, *, num_microbatches: int = 4, wish: Wish | None = None, halved: bool = False) -> Plan:
    """The Wan 2.1 14B shape on a rig out of the catalogue."""
    kinds = parse_rig(text)
    variant = imagined_variant(WAN_14B, kinds, weights="bf16", num_microbatches=num_microbatches)
    variants = [variant]
    if halved:
        kind = WAN_14B.kinds[0]
        part = replace(kind.part, weights_bytes={"float8_e4m3fn": 352_352_256}, paged_bytes=351_303_680)
        variants.append(replace(variant, weights="fp8", footprint=replace(WAN_14B, kinds=(replace(kind, part=part),))))
    return plan(variants, imagined_cards(kinds, display_on=None), ram_bytes=48 * GIB, wish=wish)


@pytest.mark.parametrize(("rig", "kind", "speed"), RIGS_PEOPLE_OWN)
def test_on_the_rigs_that_people_own_the_order_is_the_designs(rig: str, kind: str, speed: float) -> None:
    """Speed is relative to the fastest card alone with paging that costs nothing."""
    made = wan_on(rig)
    assert made.recommended is not None
    assert made.recommended.kind == kind
    alone_s = min(4 * WAN_14B.blocks_s(card.reached) for card in parse_rig(rig))
    assert alone_s / made.recommended.step_s == pytest.approx(speed, rel=0.05)


def test_paging_is_chosen_where_it_is_faster_not_only_where_it_is_needed() -> None:
    made = wan_on("4090, 3090")
    assert made.recommended is not None and made.recommended.mode == "B"
    resident = next(one for one in made.candidates if one.kind == "split")
    assert resident.fits and resident.mode == "A"
    assert resident.reason == "Fits, but takes 1.07 times as long."


def test_with_one_microbatch_the_slow_card_gets_as_little_as_fits() -> None:
    made = wan_on("5090, 3060", num_microbatches=1)
    split = next(one for one in made.candidates if one.kind == "split")
    assert split.fits
    assert split.placing.totals[0] > 35


def test_ram_limits_how_much_of_its_share_the_fast_card_may_page() -> None:
    variant = Variant(weights="bf16", num_microbatches=1, footprint=equal_blocks(8, weights=UNIT), block_s=(1.0, 10.0))
    rig = [PlanCard(label=name, budget_bytes=4 * UNIT, link_bytes_per_s=100.0 * UNIT) for name in "ab"]
    for ram, totals in ((5, (7, 1)), (4, (6, 2)), (3, (5, 3))):
        made = plan([variant], rig, ram_bytes=ram * UNIT, num_slots=2).recommended
        assert made is not None and (made.kind, made.placing.totals) == ("split + swap", totals)


def test_a_refusal_names_each_card_and_computed_ways_out() -> None:
    made = wan_on(
        "RTX 5080, RTX 4060 Ti 16GB", wish=Wish(kinds=frozenset({"split"}), weights=frozenset({"bf16"})), halved=True
    )
    assert made.recommended is None
    assert len(made.refusal) == 2
    assert "more on GPU 0 (RTX 5080)" in made.refusal[0] and "more on GPU 1 (RTX 4060 Ti 16GB)" in made.refusal[1]
    assert any(way.startswith("split, fp8 weights") and "fits" in way for way in made.ways_out)
    assert any(way.startswith("split + swap") for way in made.ways_out)


def test_other_programs_are_named_as_a_way_out_only_where_they_hold_enough() -> None:
    variant = Variant(weights="bf16", num_microbatches=1, footprint=equal_blocks(4, weights=4 * UNIT), block_s=(1.0,))
    card = PlanCard(label="GPU 0", budget_bytes=14 * UNIT)
    assert not plan([variant], [card], ram_bytes=0).ways_out
    held = replace(card, freeable_bytes=2 * UNIT)
    assert "closing other programs" in plan([variant], [held], ram_bytes=0).ways_out[0]


def test_blocks_step_aside_for_samples_that_would_not_fit_beside_them() -> None:
    training, sampling = (
        equal_blocks(8, weights=4 * UNIT, working=2 * UNIT),
        equal_blocks(8, weights=4 * UNIT, working=12 * UNIT),
    )
    variant = Variant(weights="bf16", num_microbatches=1, footprint=training, block_s=(1.0,), sampling=sampling)
    card = PlanCard(label="GPU 0", budget_bytes=36 * UNIT, link_bytes_per_s=UNIT)
    made = plan([variant], [card], ram_bytes=100 * UNIT, num_slots=2).recommended
    assert made is not None and made.mode == "C"
    # 32 of weights and 12 of the sample are 8 too many, and two slots of 4 more: four blocks go.
    assert made.num_aside == (4,)
    assert made.ram_bytes == 16 * UNIT
    roomy = plan([variant], [replace(card, budget_bytes=44 * UNIT)], ram_bytes=0, num_slots=2).recommended
    assert roomy is not None and (roomy.mode, roomy.num_aside) == ("A", (0,))
    poor = plan([variant], [card], ram_bytes=8 * UNIT, num_slots=2).recommended
    assert poor is not None and poor.num_aside is None, "training goes on where samples do not fit"


def test_a_judge_has_the_last_word() -> None:
    """The pipeline's clock may find the estimate's favourite slower than the second."""

    def judge(candidate: Candidate) -> Candidate:
        return replace(candidate, step_s=candidate.step_s * (3.0 if candidate.kind == "split" else 1.0))

    variant = Variant(weights="bf16", num_microbatches=4, footprint=equal_blocks(8, weights=UNIT), block_s=(1.0, 1.0))
    rig = [PlanCard(label=name, budget_bytes=100 * UNIT) for name in "ab"]
    assert getattr(plan([variant], rig, ram_bytes=0).recommended, "kind", "") == "split"
    assert getattr(plan([variant], rig, ram_bytes=0, judge=judge).recommended, "kind", "") == "one card"


def test_a_plan_needs_cards_and_variants() -> None:
    with pytest.raises(ValueError, match="not 0 and 0"):
        plan([], [], ram_bytes=0)


def test_what_is_preferred_is_taken_where_it_fits_and_says_why() -> None:
    variant = Variant(weights="bf16", num_microbatches=1, footprint=equal_blocks(8, weights=UNIT), block_s=(1.0, 9.0))
    rig = [PlanCard(label=name, budget_bytes=100 * UNIT) for name in "ab"]
    wish = Wish(preferred=frozenset({"split"}), because="two are company")
    made = plan([variant], rig, ram_bytes=0, wish=wish)
    assert made.recommended is not None and made.recommended.kind == "split"
    assert made.recommended.reason == "Taken because two are company."
    one_card = next(one for one in made.candidates if one.kind == "one card")
    assert one_card.reason.endswith("times as fast, but two are company.")
    alone = plan([variant], rig[:1], ram_bytes=0, wish=wish).recommended
    assert alone is not None and alone.reason == "The fastest way that fits."


def test_an_engine_may_share_out_evenly_whatever_the_cards() -> None:
    variant = Variant(weights="bf16", num_microbatches=4, footprint=equal_blocks(9, weights=UNIT), block_s=(1.0, 9.0))
    rig = [PlanCard(label=name, budget_bytes=100 * UNIT) for name in "ab"]
    made = plan([variant], rig, ram_bytes=0, kinds=("split",), even_chunks_each=2)
    (candidate,) = made.candidates
    assert candidate.placing.totals == (5, 4) and len(candidate.placing.chunk_sizes) == 4


def test_a_variant_may_be_meant_for_some_ways_only() -> None:
    variant = Variant(weights="bf16", num_microbatches=1, footprint=equal_blocks(4, weights=UNIT), block_s=(1.0, 1.0))
    variants = [replace(variant, kinds=frozenset({"one card"})), replace(variant, num_microbatches=2)]
    rig = [PlanCard(label=name, budget_bytes=100 * UNIT) for name in "ab"]
    found = {(one.kind, one.variant.num_microbatches) for one in plan(variants, rig, ram_bytes=0).candidates}
    assert found == {("one card", 1), ("one card", 2), ("split", 2)}


def test_the_faster_card_is_found_though_the_estimate_doubts_that_it_fits() -> None:
    # Symptom: of two cards the one with a little more memory stood for "one card", and a split seemed to save more.
    def judge(candidate: Candidate) -> Candidate:
        return replace(candidate, stages=tuple(replace(stage, missing_bytes=0) for stage in candidate.stages))

    variant = Variant(weights="bf16", num_microbatches=4, footprint=equal_blocks(8, weights=UNIT), block_s=(1.0, 4.0))
    rig = [PlanCard(label="fast", budget_bytes=6 * UNIT), PlanCard(label="slow", budget_bytes=7 * UNIT)]
    made = plan([variant], rig, ram_bytes=0, judge=judge, kinds=["one card"]).recommended
    assert made is not None and made.stages[0].label == "fast"


TWO_GPUS = [PlanCard(label=f"GPU {index}", budget_bytes=budget * UNIT) for index, budget in enumerate((110, 70))]


def cut_model(*, num_blocks: int = 10) -> Variant:
    """Blocks of 4 units; the second card is half as fast."""
    blocks = equal_blocks(num_blocks, weights=4 * UNIT, trained=UNIT, kept=UNIT, output=UNIT)
    return Variant(weights="bf16", num_microbatches=4, footprint=blocks, block_s=(1.0, 2.0), crossing_s=0.01)


def test_the_user_may_say_where_the_model_is_cut():
    variant = cut_model()
    free = plan([variant], TWO_GPUS, ram_bytes=0)
    assert free.recommended is not None
    own = free.recommended.placing.totals
    way = "split, bf16 weights, 4 micro-batches"
    for named in (f"{way}, blocks 5 + 5", "split, blocks 5+5", "blocks 5 + 5"):
        made = plan([variant], TWO_GPUS, ram_bytes=0, wish=Wish(way=named))
        assert made.recommended is not None and made.recommended.placing.totals == (5, 5) != own
        assert made.recommended.words == f"{way}, blocks 5 + 5"
        assert made.recommended.reason == "The way that was asked for."
        assert any(one.placing.totals == own for one in made.candidates), "the planner's own is still compared"
    assert plan([variant], TWO_GPUS, ram_bytes=0, wish=Wish(way=way)).recommended == replace(
        free.recommended, reason="The way that was asked for."
    )


def test_a_cut_that_does_not_fit_or_does_not_exist_is_refused():
    variant = cut_model()
    made = plan([variant], TWO_GPUS, ram_bytes=0, wish=Wish(way="split, blocks 1 + 9"))
    assert made.recommended is None and made.closest.placing.totals == (1, 9)
    assert "on GPU 1" in made.refusal[0]
    for way in ("split, blocks 5 + 6", "split, blocks 0 + 10", "split, fp8 weights, blocks 5 + 5"):
        assert plan([variant], TWO_GPUS, ram_bytes=0, wish=Wish(way=way)).refusal[0].startswith("No way to train")
    even = plan([variant], TWO_GPUS, ram_bytes=0, wish=Wish(way="split, blocks 6 + 4"), even_chunks_each=1)
    assert even.recommended is None, "this engine cuts evenly only"
    assert not even.cuts


def test_a_plan_knows_every_other_cut_of_a_split():
    made = plan([cut_model()], TWO_GPUS, ram_bytes=0, kinds=("split",))
    assert made.recommended is not None
    assert [cut.placing.totals for cut in made.cuts] == [(first, 10 - first) for first in range(1, 10)]
    own = next(cut for cut in made.cuts if cut.placing.totals == made.recommended.placing.totals)
    assert own.stages == made.recommended.stages and own.step_s == made.recommended.step_s
    assert not made.cuts[0].fits and own.fits
    for cut in made.cuts:
        way = f"split, blocks {cut.placing.totals[0]} + {cut.placing.totals[1]}"
        asked = plan([cut_model()], TWO_GPUS, ram_bytes=0, kinds=("split",), wish=Wish(way=way))
        assert asked.closest.stages == cut.stages, "what is shown while dragging is what comes"
        assert asked.closest.step_s == cut.step_s
