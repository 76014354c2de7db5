"""Subject, trace, rig and planner joined: the pocket demo on rigs that nobody here owns, and the Wan 2.1 14B shape."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.footprints import RIGS_PEOPLE_OWN
from tests.support.jobs import small_job
from tests.support.traced_models import SMALL_WAN
from tests.support.wan_subjects import wan_subjects

from diffusionforce.engines.subjects import JobSubjects, TracedCall
from diffusionforce.errors import DeviceError
from diffusionforce.job import Job, changed
from diffusionforce.pipeline.tracer.numbers import CallTrace
from diffusionforce.rig import GIB
from diffusionforce.trainer.forecasting import JobForecast, forecast_job, joining
from diffusionforce.trainer.forecasting.joining import forecast_subjects
from diffusionforce.trainer.forecasting.rigs import Rig, rig_here, rig_imagined
from diffusionforce.trainer.forecasting.traces import Traces
from diffusionforce.trainer.planning import run_plan
from diffusionforce.ugpum.allocator import WorkspaceSizes
from diffusionforce.ugpum.catalogue import parse_rig
from diffusionforce.ugpum.learned import Lesson
from diffusionforce.ugpum.planner import Wish
from diffusionforce.ugpum.replayed import replayed
from diffusionforce.wire.forecast import Forecast, PhaseNeed, StageNeed, read_forecast
from diffusionforce.wire.text import to_json

MIB = 1 << 20
TWO_CARDS = "RTX 5080, RTX 4060 Ti 16GB"


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Traces:
    """All tests share what was traced."""
    return Traces(tmp_path_factory.mktemp("traces"))


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return small_job(tmp_path_factory.mktemp("job"), training__batch_size=4, samples__prompts=["Blob, a blob"])


@pytest.fixture
def small() -> JobSubjects:
    """A model of a few MB, of which budgets of a few MB hold some."""
    return wan_subjects(shape=SMALL_WAN, num_tokens=200, micro=[4])


def phase(forecast: Forecast, name: str) -> PhaseNeed:
    return next(one for one in forecast.phases if one.phase == name)


def with_budgets(*budgets_bytes: int, ram_bytes: int = GIB) -> Rig:
    """A rig of cards that give as much, with nothing for workspaces."""
    rig = rig_imagined(f"{len(budgets_bytes)} x 3090")
    cards = zip(rig.cards, budgets_bytes, strict=True)
    shown = zip(rig.shown, budgets_bytes, strict=True)
    return replace(
        rig,
        shown=tuple(card.model_copy(update={"budget_bytes": budget, "lost_bytes": 0}) for card, budget in shown),
        cards=tuple(replace(card, budget_bytes=budget) for card, budget in cards),
        workspaces=(WorkspaceSizes(product_bytes=0),) * len(budgets_bytes),
        ram_usable_bytes=ram_bytes,
    )


def test_the_pocket_demo_is_shared_out_evenly_over_two_cards(job: Job, traces: Traces) -> None:
    forecast = forecast_job(job, rig=rig_imagined(TWO_CARDS), traces=traces).forecast
    way = forecast.recommended
    assert way is not None and (way.kind, way.mode, way.schedule) == ("split", "A", "interleaved")
    # As the engine runs it: two chunks a card, two pieces a stage.
    assert (way.chunk_sizes, way.card_of_chunk, way.num_microbatches) == ((3, 3, 2, 2), (0, 1, 0, 1), 4)
    assert [phase.phase for phase in forecast.phases] == ["caching", "training", "sampling"]
    for need, card in zip(phase(forecast, "training").cards, way.cards, strict=True):
        assert need.peak_bytes == card.needed_bytes < 200 * MIB
        assert min(need.weights_bytes, need.trained_bytes, need.optimizer_bytes, need.activation_bytes) > 0
    assert all(need.peak_bytes == 0 for need in phase(forecast, "caching").cards), "captions are read by the processor"
    assert forecast.times == "catalogue" and way.step_s is not None
    assert not forecast.refusal and forecast.num_blocks == 10
    one_card = next(one for one in forecast.ways if one.kind == "one card")
    assert not one_card.recommended and one_card.fits and one_card.num_microbatches == 1


def test_a_forecast_survives_the_way_to_its_reader(job: Job, traces: Traces) -> None:
    forecast = forecast_job(job, rig=rig_imagined(TWO_CARDS), traces=traces).forecast
    assert read_forecast(to_json(forecast).decode()) == forecast


def test_larger_batches_and_pictures_need_more(tmp_path: Path, job: Job, traces: Traces) -> None:
    rig = rig_imagined("RTX 3090")
    larger = small_job(tmp_path, training__batch_size=8, dataset__width=512, samples__width=512, samples__prompts=["a"])
    before, after = (forecast_job(one, rig=rig, traces=traces).forecast for one in (job, larger))
    for name in ("training", "sampling"):
        one, other = (phase(forecast, name).cards[0] for forecast in (before, after))
        assert other.activation_bytes + other.temporary_bytes > 1.5 * (one.activation_bytes + one.temporary_bytes)
        assert one.weights_bytes == other.weights_bytes


def test_recomputing_is_forecast_as_it_is_run(tmp_path: Path, job: Job, traces: Traces) -> None:
    rig = rig_imagined("RTX 3090")
    saving = small_job(tmp_path, training__batch_size=4, training__gradient_checkpointing=True)
    plain, recomputed = (
        phase(forecast_job(one, rig=rig, traces=traces).forecast, "training").cards[0] for one in (job, saving)
    )
    assert recomputed.activation_bytes < 0.3 * plain.activation_bytes


def test_the_processor_is_a_card_with_ram_for_memory(job: Job, traces: Traces) -> None:
    forecast = forecast_job(job, rig=rig_here(("cpu",)), traces=traces).forecast
    (card,), (way,) = forecast.rig, forecast.ways
    assert (card.device, card.label, way.recommended) == ("cpu", "Processor", True)
    assert way.words.startswith("on the processor, fp32 weights") and way.step_s is None
    need = phase(forecast, "training").cards[0]
    assert need.constant_bytes > 200 * MIB, "interpreter and libraries"
    assert phase(forecast, "training").ram_bytes == need.peak_bytes
    assert forecast.times == "unknown"
    assert any("GB of RAM" in note for note in forecast.notes)


def test_a_job_without_samples_has_no_phase_for_them(tmp_path: Path, traces: Traces) -> None:
    forecast = forecast_job(small_job(tmp_path), rig=rig_imagined("3090"), traces=traces).forecast
    assert [phase.phase for phase in forecast.phases] == ["caching", "training"]


@pytest.fixture(scope="module")
def wan_on(traces: Traces, job: Job) -> "WanOn":
    return WanOn(traces, job)


class WanOn:
    """The Wan 2.1 14B shape on a rig."""

    def __init__(self, traces: Traces, job: Job) -> None:
        self._traces, self._job = traces, job

    def __call__(self, rig: str, *, ram_gib: float = 64, wish: Wish | None = None) -> JobForecast:
        subjects = wan_subjects(micro=[4])
        return forecast_subjects(
            subjects, self._job, rig=rig_imagined(rig, ram_gib=ram_gib), traces=self._traces, wish=wish
        )


@pytest.mark.parametrize(("rig", "kind", "speed"), RIGS_PEOPLE_OWN)
def test_on_the_rigs_that_people_own_the_order_is_the_designs(wan_on: WanOn, rig: str, kind: str, speed: float) -> None:
    """As the planner's own test has it, but traced, with a screen attached, and by the pipeline's clock."""
    forecast = wan_on(rig).forecast
    way = forecast.recommended
    assert way is not None and way.step_s is not None and way.kind == kind
    one_card = min(one.step_s for one in forecast.ways if one.kind == "one card + swap" and one.step_s)
    assert way.step_s < one_card
    # Against the fastest card alone if paging cost it nothing.
    alone_s = min(4 * card.reached.seconds(372e12, 452e9) for card in parse_rig(rig))
    # Closer than by operations alone: slower cards have memory that is nearly as fast.
    assert alone_s / way.step_s == pytest.approx(speed, rel=0.07)


def test_a_14b_model_needs_what_was_seen_on_cards(wan_on: WanOn) -> None:
    """16.2 and 15.6 GiB on two H200 with two micro-batches under way, 17.6 with four; here it is interleaved 1F1B."""
    training = phase(wan_on("2 x 3090").forecast, "training")
    assert all(15 * GIB < need.peak_bytes < 18 * GIB for need in training.cards)
    assert sum(need.weights_bytes for need in training.cards) == pytest.approx(26.3 * GIB, rel=0.01)


def test_what_cannot_fit_is_refused_card_by_card_with_ways_out(wan_on: WanOn) -> None:
    found = wan_on(TWO_CARDS, wish=Wish(kinds=frozenset({"split"})))
    forecast = found.forecast
    assert forecast.recommended is None and found.plan.recommended is None
    assert len(forecast.refusal) == 2 and all("more on GPU" in sentence for sentence in forecast.refusal)
    assert any(way.startswith("split + swap") and "fits" in way for way in forecast.ways_out)
    assert phase(forecast, "training").cards[0].peak_bytes > forecast.rig[0].budget_bytes, "what comes closest is shown"


def test_too_little_ram_is_a_refusal_too(wan_on: WanOn) -> None:
    forecast = wan_on("RTX 5080", ram_gib=16).forecast
    assert forecast.recommended is None
    assert any("more RAM" in way.reason for way in forecast.ways)


def test_blocks_step_aside_for_a_sample_that_would_not_fit(small: JobSubjects, job: Job, traces: Traces) -> None:
    large = wan_subjects(shape=SMALL_WAN, num_tokens=4000, micro=[4]).variants[0].sampling
    subjects = replace(small, variants=(replace(small.variants[0], sampling=large),))
    roomy = forecast_subjects(subjects, job, rig=with_budgets(GIB, GIB), traces=traces).forecast
    assert roomy.recommended is not None and roomy.recommended.mode == "A"
    most = max(need.peak_bytes for one in roomy.phases for need in one.cards)
    sampling = phase(roomy, "sampling")
    assert sampling.num_aside == () and sampling.cards[0].peak_bytes == most
    found = forecast_subjects(subjects, job, rig=with_budgets(most - 100_000, GIB), traces=traces)
    plan, forecast = found.plan, found.forecast
    assert plan.recommended is not None
    aside = phase(forecast, "sampling")
    if aside.num_aside:
        assert plan.recommended.mode == "C" and aside.ram_bytes > phase(forecast, "training").ram_bytes
        assert aside.cards[0].weights_bytes < sampling.cards[0].weights_bytes
    assert all(
        need.peak_bytes <= card.budget_bytes
        for need, card in zip(aside.cards, with_budgets(most, GIB).cards, strict=True)
    )


def test_a_denoising_step_takes_its_share_of_a_training_step(small: JobSubjects, job: Job, traces: Traces) -> None:
    own = wan_subjects(shape=SMALL_WAN, num_tokens=400, micro=[1]).variants[0]
    subjects = replace(small, variants=(own,))
    guided = replace(subjects, sampling_passes=2)
    once, twice = (
        forecast_subjects(one, job, rig=rig_imagined("RTX 4090"), traces=traces).forecast for one in (subjects, guided)
    )
    step_s = phase(once, "sampling").step_s
    assert step_s is not None and phase(twice, "sampling").step_s == pytest.approx(2 * step_s)
    assert once.recommended is not None and once.recommended.step_s is not None
    # Only the forward, and here of fewer tokens.
    assert 0.02 < step_s / once.recommended.step_s < 0.5
    assert (
        phase(forecast_subjects(subjects, job, rig=with_budgets(GIB, GIB), traces=traces).forecast, "training").step_s
        is None
    )


def called(words: str, where: str, *, weights: int, peak: int) -> TracedCall:
    trace = CallTrace(weights_bytes=weights, input_bytes=MIB, output_bytes=MIB, peak_bytes=peak, flops=1)
    return TracedCall(
        name=words,
        words=words,
        where=where,  # pyright: ignore[reportArgumentType]
        inputs={"call": [words, weights, peak]},
        trace=lambda: trace,
    )


def test_caching_takes_the_first_card_with_room_for_each_model(small: JobSubjects, job: Job, traces: Traces) -> None:
    subjects = replace(
        small,
        caching=(
            called("VAE", "card", weights=GIB, peak=2 * GIB),
            called("text encoder", "card", weights=9 * GIB, peak=GIB),
            called("tokeniser", "cpu", weights=3 * GIB, peak=0),
        ),
    )
    forecast = forecast_subjects(subjects, job, rig=with_budgets(8 * GIB, 12 * GIB), traces=traces).forecast
    caching = phase(forecast, "caching")
    assert [(stage.words, stage.device) for stage in caching.stages] == [
        ("VAE", "cuda:0"),
        ("text encoder", "cuda:1"),
        ("tokeniser", "cpu"),
    ]
    assert (caching.cards[0].weights_bytes, caching.cards[0].temporary_bytes) == (GIB, 2 * GIB)
    assert (caching.cards[1].weights_bytes, caching.cards[1].temporary_bytes) == (9 * GIB, GIB)
    assert caching.ram_bytes == 3 * GIB + MIB
    assert forecast.recommended is not None and caching.fits


def test_what_no_card_holds_is_prepared_by_the_processor_or_refused(
    small: JobSubjects, job: Job, traces: Traces
) -> None:
    subjects = replace(small, caching=(called("text encoder", "card", weights=20 * GIB, peak=GIB),))
    rig = with_budgets(8 * GIB, 12 * GIB)
    slow = forecast_subjects(subjects, job, rig=replace(rig, ram_free_bytes=22 * GIB), traces=traces).forecast
    assert slow.recommended is not None and phase(slow, "caching").stages[0].device == "cpu"
    assert any("text encoder runs on the processor" in note for note in slow.notes)
    found = forecast_subjects(subjects, job, rig=replace(rig, ram_free_bytes=20 * GIB), traces=traces)
    assert found.forecast.recommended is None and not phase(found.forecast, "caching").fits
    assert found.forecast.refusal == (
        "The text encoder needs 21 GB on one card, where 12 GB is the most, or as much RAM, of which 20 GB can be had.",
    )
    assert found.forecast.ways_out == ("1 GB more RAM, or a larger card",)


def test_decoding_counts_where_it_is_the_fullest_moment(small: JobSubjects, job: Job, traces: Traces) -> None:
    rig = rig_imagined("2 x 3090")
    plain = phase(forecast_subjects(small, job, rig=rig, traces=traces).forecast, "sampling").cards
    decoding = replace(small, decoding=(called("VAE", "card", weights=GIB, peak=4 * GIB),))
    decoded = phase(forecast_subjects(decoding, job, rig=rig, traces=traces).forecast, "sampling")
    card = int(decoded.stages[0].device.removeprefix("cuda:"))
    assert decoded.cards[card].temporary_bytes == 4 * GIB
    assert decoded.cards[card].weights_bytes == plain[card].weights_bytes + GIB
    assert decoded.cards[1 - card] == plain[1 - card]


def test_blocks_step_aside_where_a_sample_is_decoded_or_the_processor_does_it(job: Job, traces: Traces) -> None:
    deep = wan_subjects(shape=replace(SMALL_WAN, num_blocks=16), num_tokens=200, micro=[4])

    def sampled(budget_bytes: int, peak_bytes: int) -> PhaseNeed:
        decoding = replace(deep, decoding=(called("VAE", "card", weights=MIB, peak=peak_bytes),))
        wish = Wish(kinds=frozenset({"split"}))
        rig = with_budgets(budget_bytes, budget_bytes)
        return phase(forecast_subjects(decoding, job, rig=rig, traces=traces, wish=wish).forecast, "sampling")

    roomy, budget_bytes = sampled(GIB, MIB), 64 * MIB
    assert roomy.num_aside == ()
    resting = roomy.stages[0].need
    needed = sampled(budget_bytes, budget_bytes - (resting.peak_bytes - resting.temporary_bytes) + 1)
    device = needed.stages[0].device
    assert device != "cpu" and sum(needed.num_aside) == needed.num_aside[int(device[-1])] > 0
    assert all(need.peak_bytes <= budget_bytes for need in needed.cards)
    assert sampled(budget_bytes, 2 * GIB).stages[0].device == "cpu"


@pytest.mark.parametrize("num_cards", [1, 2])
def test_a_sample_that_no_card_decodes_whole_is_decoded_in_tiles(
    num_cards: int, small: JobSubjects, job: Job, traces: Traces
) -> None:
    # Symptom: two seconds of a large video were decoded by the processor, which took longer than fifty steps.
    def decoded(whole_bytes: int, tile_bytes: int) -> tuple[StageNeed, Forecast]:
        tiles = replace(called("VAE", "card", weights=MIB, peak=tile_bytes), words="VAE, in tiles", in_tiles=True)
        whole = replace(called("VAE", "card", weights=MIB, peak=whole_bytes), otherwise=tiles)
        rig = replace(with_budgets(*[GIB] * num_cards), ram_free_bytes=8 * GIB)
        found = forecast_subjects(replace(small, decoding=(whole,)), job, rig=rig, traces=traces).forecast
        return phase(found, "sampling").stages[0], found

    whole, _ = decoded(MIB, MIB)
    assert (whole.device[:4], whole.in_tiles, whole.words) == ("cuda", False, "VAE")
    tiled, told = decoded(2 * GIB, MIB)
    assert (tiled.device[:4], tiled.in_tiles, tiled.words) == ("cuda", True, "VAE, in tiles")
    assert tiled.need.temporary_bytes == MIB and any("decoded in tiles" in note for note in told.notes)
    assert told.recommended is not None and run_plan(told, told.recommended).calls_in_tiles == {"VAE"}
    neither, _ = decoded(2 * GIB, 2 * GIB)
    assert (neither.device, neither.in_tiles) == ("cpu", False)


def test_what_earlier_runs_taught_is_added(small: JobSubjects, job: Job, traces: Traces) -> None:
    rig = rig_imagined("2 x 3090")
    lesson = Lesson(extra_bytes=(100 * MIB, 0), step_factor=2.0, num_runs=3)
    before = forecast_subjects(small, job, rig=rig, traces=traces).forecast
    after = forecast_subjects(small, job, rig=rig, traces=traces, lesson=lesson).forecast
    one, other = before.recommended, after.recommended
    assert one is not None and other is not None and one.step_s and other.step_s
    assert other.step_s == pytest.approx(2 * one.step_s)
    assert (before.times, after.times) == ("catalogue", "measured")
    extra = other.cards[0].needed_bytes - one.cards[0].needed_bytes
    assert (one.cards[0].device, extra) == ("cuda:0", 100 * MIB)
    assert any("3 earlier runs" in note for note in after.notes)


def test_captured_graphs_work_in_memory_of_their_own(job: Job, traces: Traces) -> None:
    subjects = wan_subjects(micro=[4])
    rig = rig_imagined("2 x 4090")
    plain = forecast_subjects(subjects, job, rig=rig, traces=traces, wish=Wish(kinds=frozenset({"split"}))).forecast
    with_graphs = replace(subjects, graphs=True)
    graphs = forecast_subjects(with_graphs, job, rig=rig, traces=traces, wish=Wish(kinds=frozenset({"split"}))).forecast
    captured = replayed(traces.training(subjects.variants)[0])
    for name in ("training", "sampling"):
        for one, other in zip(phase(plain, name).cards, phase(graphs, name).cards, strict=True):
            more = other.constant_bytes - one.constant_bytes
            # Fewer threads multiply outside of graphs, so that some workspaces go.
            assert more == pytest.approx(captured.buffers_bytes + captured.pool_bytes, abs=200 * MIB)
            assert other.peak_bytes > one.peak_bytes or name == "training"
    assert phase(graphs, "training").cards[1].temporary_bytes < phase(plain, "training").cards[1].temporary_bytes


def test_a_card_that_nobody_knows_has_memory_but_no_seconds(small: JobSubjects, job: Job, traces: Traces) -> None:
    rig = rig_imagined("2 x 3090")
    rig = replace(rig, sheets=(rig.sheets[0], None))
    forecast = forecast_subjects(small, job, rig=rig, traces=traces).forecast
    assert forecast.times == "unknown"
    assert all(way.step_s is None for way in forecast.ways)
    assert forecast.recommended is not None


def test_where_nothing_fits_other_settings_are_forecast_and_offered(
    traces: Traces, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a forecast of the changed job: pictures of half the size have a quarter of the tokens."""
    asked: list[int] = []

    def described(changed: Job, *, num_cards: int) -> JobSubjects:
        asked.append(changed.profile.dataset.width)
        num_tokens = 200 * changed.profile.dataset.width**2 // job.profile.dataset.width**2
        return wan_subjects(shape=SMALL_WAN, num_tokens=num_tokens, micro=[4], with_samples=False)

    monkeypatch.setattr(joining, "describe", described)
    most, half = (
        min(
            way.cards[0].needed_bytes
            for way in forecast_subjects(
                described(one, num_cards=1), one, rig=with_budgets(GIB), traces=traces
            ).forecast.ways
        )
        for one in (resized(job, job.profile.dataset.width * share // 4) for share in (3, 2))
    )
    rig = replace(with_budgets((most + half) // 2), ram_usable_bytes=0)
    forecast = forecast_job(job, rig=rig, traces=traces).forecast
    assert forecast.refusal
    (change,) = forecast.changes
    side = job.profile.dataset.width // 2
    assert change.settings == {"dataset.width": side, "dataset.height": side}
    assert change.words == forecast.ways_out[-1] and f"pictures of {side} x {side} (fits as one card" in change.words
    num_asked = len(asked)
    assert not forecast_job(job, rig=rig, traces=traces, finds_changes=False).forecast.changes
    assert len(asked) == num_asked + 1


def resized(job: Job, side_px: int) -> Job:
    profile = changed(job.profile, {"dataset.width": side_px, "dataset.height": side_px}, origin="test")
    return job.model_copy(update={"profile": profile})


def test_a_job_may_name_its_way(traces: Traces, job: Job, small: JobSubjects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "describe", lambda changed, num_cards: small)
    rig = with_budgets(GIB, GIB)
    ways = forecast_job(job, rig=rig, traces=traces).forecast.ways
    for way in (str(len(ways)), ways[-1].words):
        named = forecast_job(job.model_copy(update={"way": way}), rig=rig, traces=traces).forecast
        assert named.recommended is not None and named.recommended.words == ways[-1].words
    nowhere = forecast_job(job.model_copy(update={"way": "99"}), rig=rig, traces=traces).forecast
    assert nowhere.refusal == ('No way to train is called "99".',)


def test_a_rig_without_ram_for_the_process_is_refused(job: Job, traces: Traces) -> None:
    # Symptom: with hardly any RAM a way that fits was recommended, and a note said that the process needs more.
    with pytest.raises(DeviceError, match=r"of RAM, and a rig with 0\.9 GB has less"):
        forecast_job(job, rig=rig_imagined("RTX 3090", ram_gib=0.9), traces=traces)


def test_for_a_way_that_there_is_not_no_settings_are_tried(
    job: Job, traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Symptom: a misspelt way took as long to refuse as a dozen forecasts.
    def never(*_: object, **__: object) -> Forecast:
        raise AssertionError("other settings were tried")

    monkeypatch.setattr(joining, "_with_changes", never)
    asked = job.model_copy(update={"way": "splitt"})
    forecast = forecast_job(asked, rig=rig_imagined(TWO_CARDS), traces=traces).forecast
    assert forecast.refusal == ('No way to train is called "splitt".',)
