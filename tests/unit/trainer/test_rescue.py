"""What is offered after a training ran out of memory: only what was forecast to help."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.jobs import small_job
from tests.support.planned_runs import GIB, planned

from diffusionforce.errors import CardMemoryError, DeviceError
from diffusionforce.job import Job
from diffusionforce.trainer.forecasting.smaller import for_samples, for_training
from diffusionforce.trainer.planning import PlannedRun
from diffusionforce.trainer.rescue import as_in_profile, with_ways_out

ERROR = CardMemoryError("GPU 1 ran out.", hint="Saved.", detail="numbers", device="cuda:1", wanted_bytes=GIB)


def job_with(folder: Path, **settings: Any) -> Job:
    return small_job(folder, training__batch_size=4, training__gradient_accumulation=1, **settings)


def rescued(job: Job, make_plan: Callable[[Job], PlannedRun]) -> CardMemoryError:
    def planning(job: Job, /, *, finds_changes: bool = True) -> PlannedRun:
        assert not finds_changes, "each change is tried by itself, not with changes of its own"
        return make_plan(job)

    found = with_ways_out(ERROR, job, planned=planned(), make_plan=planning)
    assert (found.sentence, found.detail, found.device, found.wanted_bytes) == (
        ERROR.sentence, ERROR.detail, ERROR.device, ERROR.wanted_bytes,
    )  # fmt: skip
    return found


def lines(job: Job, make_plan: Callable[[Job], PlannedRun]) -> list[str]:
    return rescued(job, make_plan).hint.splitlines()


def test_what_is_tried(tmp_path: Path):
    job = job_with(tmp_path, training__gradient_checkpointing=False)
    assert [as_in_profile(attempt.settings) for attempt in for_training(job)] == [
        "training.gradient_checkpointing = true",
        "training.batch_size = 2 with training.gradient_accumulation = 2",
        "training.batch_size = 1 with training.gradient_accumulation = 4",
        "dataset.width = 192 with dataset.height = 192",
        "lora.rank = 8",
        "dataset.width = 128 with dataset.height = 128",
        "lora.rank = 4",
    ]


def test_fewer_frames_are_numbers_that_models_make(tmp_path: Path):
    """Samples of four frames in place of nine were offered, and no model makes four."""
    attempts = for_samples(job_with(tmp_path, samples__num_frames=17))
    frames = [attempt.settings["samples.num_frames"] for attempt in attempts if attempt.about == "frames"]
    assert frames == [9, 5, 1]


def test_only_changes_that_save_what_was_wanted_are_offered(tmp_path: Path):
    def make_plan(job: Job) -> PlannedRun:
        if job.profile.lora.rank == 8:
            raise DeviceError("Does not fit.")
        saved = 1.5 if job.profile.training.batch_size == 2 else 0.5 if job.profile.dataset.width == 192 else 0
        return planned(needed_gib=(12, 8 - saved))

    assert lines(job_with(tmp_path), make_plan) == [
        "Saved.",
        "Any of these makes room:",
        "- training.batch_size = 2 with training.gradient_accumulation = 2: "
        "batches of 2, 2 of them summed up (1.5 GB less on GPU 1 (RTX 3060))",
    ]
    (change,) = rescued(job_with(tmp_path / "again"), make_plan).changes
    assert change.settings == {"training.batch_size": 2, "training.gradient_accumulation": 2}


def test_another_way_that_is_planned_with_what_was_seen_comes_first(tmp_path: Path):
    found = lines(job_with(tmp_path), lambda job: planned(words="split + swap, bf16 weights, 4 micro-batches"))
    assert found == [
        "Saved.",
        "Start the same run again: it is planned with what was seen, and trains as split + swap, bf16 weights, 4 "
        "micro-batches.",
    ]
    (change,) = rescued(
        job_with(tmp_path / "again"), lambda job: planned(words="split + swap, bf16 weights, 4 micro-batches")
    ).changes
    assert change.settings == {}, "as it is"


def test_where_nothing_helps_nothing_is_promised(tmp_path: Path):
    def make_plan(job: Job) -> PlannedRun:
        raise DeviceError("Does not fit.")

    assert lines(job_with(tmp_path), make_plan)[1].startswith("No single setting makes enough room")


@pytest.mark.parametrize(
    "settings", [{"training__gradient_checkpointing": True}, {"lora__rank": 1, "lora__alpha": 1.0}]
)
def test_what_is_at_its_smallest_is_not_tried(tmp_path: Path, settings: dict[str, Any]):
    job = job_with(tmp_path, dataset__width=64, dataset__height=64, **settings)
    words = " ".join(as_in_profile(attempt.settings) for attempt in for_training(job))
    assert "dataset" not in words
    assert ("checkpointing" in words) == ("lora__rank" in settings) != ("rank" in words)
