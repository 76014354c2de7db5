"""From a forecast to the plan of a run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.jobs import small_job
from tests.support.planned_runs import GIB, forecast
from tests.support.pocket_runs import Run, tiny_job

from diffusionforce.errors import DeviceError, NotForecastError
from diffusionforce.job.profile import MemorySettings
from diffusionforce.pipeline.pager.pager import Pager
from diffusionforce.trainer import planning
from diffusionforce.trainer.forecasting import joining
from diffusionforce.trainer.forecasting.rigs import rig_imagined
from diffusionforce.trainer.forecasting.traces import Traces
from diffusionforce.trainer.planning import plan_run, run_plan
from diffusionforce.ugpum.allocator import WorkspaceSizes
from diffusionforce.wire import Placed
from diffusionforce.wire.forecast import CardNeed, Forecast, PhaseNeed, StageNeed, WayCard


def on_three_cards() -> Forecast:
    """A way that uses the third card and the first, in this order, of which some blocks are always in RAM."""
    made = forecast()
    third = made.rig[1].model_copy(update={"device": "cuda:2", "label": "GPU 2", "budget_bytes": 7 * GIB})
    cards = (
        WayCard(device="cuda:2", num_blocks=6, num_paged=3, num_slots=2, needed_bytes=6 * GIB, missing_bytes=0),
        WayCard(device="cuda:0", num_blocks=4, num_paged=0, needed_bytes=3 * GIB, missing_bytes=0),
    )
    needs = [CardNeed(weights_bytes=one * GIB) for one in (1, 0, 2)]
    sampling = PhaseNeed(phase="sampling", cards=tuple(needs), num_aside=(4, 0, 1))
    way = made.ways[0].model_copy(update={"cards": cards, "paged_blocks": (0, 2, 4), "mode": "B"})
    return made.model_copy(update={"rig": (*made.rig, third), "ways": (way,), "phases": (made.phases[0], sampling)})


def test_the_engine_gets_what_was_planned_for_each_card_that_it_uses():
    made = on_three_cards()
    plan = run_plan(made, made.ways[0])
    assert plan.weights == "bf16"
    assert run_plan(made, made.ways[0].model_copy(update={"weights": "fp8"})).weights == "fp8"
    assert [(one.device, one.label) for one in plan.devices] == [("cuda:2", "GPU 2"), ("cuda:0", "GPU 0 (RTX 3090)")]
    assert [one.budget_bytes for one in plan.devices] == [7 * GIB, 20 * GIB]
    assert [one.planned_bytes for one in plan.devices] == [6 * GIB, 3 * GIB]
    assert [one.planned_sampling_bytes for one in plan.devices] == [2 * GIB, GIB]
    assert [one.num_aside for one in plan.devices] == [1, 4]
    assert [one.num_slots for one in plan.devices] == [2, 3]  # Blocks that step aside need slots too.
    assert plan.paged == {0, 2, 4}
    assert (plan.chunk_sizes, plan.stage_of_chunk, plan.mode) == ((3, 3, 2, 2), (0, 1, 0, 1), "B")


def test_what_runs_by_itself_runs_where_the_forecast_found_room():
    made = on_three_cards()
    places = {"pictures": "cuda:0", "captions": "cpu", "decoding": "cuda:2"}
    stages = tuple(StageNeed(name=name, words=name, device=device, need=CardNeed()) for name, device in places.items())
    caching = PhaseNeed(phase="caching", cards=(), stages=stages[:2])
    sampling = made.phases[1].model_copy(update={"stages": stages[2:]})
    found = made.model_copy(update={"phases": (caching, made.phases[0], sampling)})
    assert run_plan(found, made.ways[0]).device_of_call == places


def test_samples_that_do_not_fit_move_no_blocks():
    made = on_three_cards()
    sampling = made.phases[1].model_copy(update={"fits": False, "num_aside": ()})
    plan = run_plan(made.model_copy(update={"phases": (made.phases[0], sampling)}), made.ways[0])
    assert [(one.num_aside, one.planned_sampling_bytes) for one in plan.devices] == [(0, None)] * 2


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Two cards that are not there; what was asked for is noted."""
    noted: list[object] = []

    def rig_here(devices, *, memory):
        noted.append(memory)
        return SimpleNamespace(on_cards=tuple(devices) != ("cpu",), names=("a", "b"))

    def forecast_job(job, *, rig, finds_changes):
        made = forecast(fits=job.profile.lora.rank < 100)
        return made, SimpleNamespace(recommended=SimpleNamespace(step_s=7.0) if made.recommended else None)

    monkeypatch.setattr(planning, "rig_here", rig_here)
    monkeypatch.setattr(planning, "forecast_job", forecast_job)
    return noted


def test_a_job_for_cards_is_planned_within_what_the_user_gives(tmp_path: Path, asked: list[object]):
    planned = plan_run(small_job(tmp_path, devices__use=["auto"], memory__budget_gb=[5]))
    assert planned is not None
    assert (planned.rig, planned.modelled_s, planned.index_of("cuda:1")) == (("a", "b"), 7.0, 1)
    assert asked == [MemorySettings(budget_gb=(5.0,))]
    assert planned.record.devices[1].num_aside == 4


def test_a_job_for_the_processor_needs_no_plan(tmp_path: Path, asked: list[object]):
    assert plan_run(small_job(tmp_path)) is None


def test_a_way_is_not_passed_over_in_silence_where_there_is_nothing_to_plan(tmp_path: Path, asked: list[object]):
    job = small_job(tmp_path).model_copy(update={"way": "split"})
    with pytest.raises(DeviceError, match='no way "split" to train here: the processor'):
        plan_run(job)


def test_a_model_that_cannot_be_forecast_is_trained_without_a_plan(
    tmp_path: Path, asked: list[object], monkeypatch: pytest.MonkeyPatch
):
    # Symptom: models of the engine that had no forecast could not be trained at all.
    def forecast_job(job, *, rig, finds_changes):
        raise NotForecastError("What Krea 2 needs cannot be forecast yet.")

    monkeypatch.setattr(planning, "forecast_job", forecast_job)
    assert plan_run(small_job(tmp_path, devices__use=["auto"])) is None


def test_a_job_that_fits_in_no_way_is_refused(tmp_path: Path, asked: list[object]):
    with pytest.raises(DeviceError, match=r"^This needs 2 GB more on GPU 1") as caught:
        plan_run(small_job(tmp_path, devices__use=["auto"], lora__rank=100))
    assert "fp8 weights (fits, 0.6 s a step)" in caught.value.hint
    assert caught.value.detail.startswith("The closest way: split")


@pytest.mark.slow
def test_what_a_forecast_plans_for_two_small_cards_is_what_the_engine_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    settings: dict[str, Any] = {
        "steps": 2,
        "training__batch_size": 4,
        "training__gradient_checkpointing": True,
        "samples__width": 256,
        "samples__height": 256,
        "devices__use": ["cpu", "cpu"],
    }
    job = tiny_job(tmp_path / "planned", **settings, samples__prompts=["Blob"])
    rig = rig_imagined("2 x 3090")
    budget_bytes = 30 << 20  # A few MB too little for samples of this size beside all blocks.
    rig = replace(
        rig,
        cards=tuple(replace(card, budget_bytes=budget_bytes) for card in rig.cards),
        workspaces=(WorkspaceSizes(product_bytes=0),) * 2,
        shown=tuple(card.model_copy(update={"budget_bytes": budget_bytes}) for card in rig.shown),
    )
    made = joining.forecast_job(job, rig=rig, traces=Traces(tmp_path / "traces")).forecast
    assert made.recommended is not None
    plan = run_plan(made, made.recommended)
    assert plan.mode == "C" and [one.num_aside for one in plan.devices] == [4, 0]
    on_processor = replace(plan, devices=tuple(replace(one, device="cpu") for one in plan.devices))

    moved: list[list[int]] = []
    step_aside = Pager.step_aside

    def noting(self: Pager, aside: Sequence[frozenset[int]]) -> None:
        moved.append([len(blocks) for blocks in aside])
        step_aside(self, aside)

    monkeypatch.setattr(Pager, "step_aside", noting)
    run = Run(job, plan=on_processor)
    assert moved == [[4, 0]] * 2
    assert run.losses == Run(tiny_job(tmp_path / "plain", **settings)).losses
    (placed,) = run.of_kind(Placed)
    assert [device.blocks for device in placed.devices] == [(0, 1, 2, 6, 7), (3, 4, 5, 8, 9)]
