"""The forecast of a run against what its steps took."""

from pathlib import Path

import pytest
from tests.support.jobs import small_job
from tests.support.planned_runs import GIB, RIG, planned, step

from diffusionforce.errors import CardMemoryError
from diffusionforce.job import Job
from diffusionforce.trainer.comparing import Comparison
from diffusionforce.ugpum.learned import Lesson, Lessons
from diffusionforce.wire import Compared, Warn


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return small_job(tmp_path)


def comparison(job: Job, folder: Path, **plan: object) -> tuple[Comparison, Lessons]:
    lessons = Lessons(folder / "lessons")
    return Comparison(job, planned(**plan), lessons), lessons  # pyright: ignore[reportArgumentType]


def lesson(lessons: Lessons, job: Job) -> Lesson | None:
    return lessons.find(job.profile_name, job.profile, rig=RIG)


def test_the_first_step_does_not_count(job: Job, tmp_path: Path):
    following, lessons = comparison(job, tmp_path)
    assert following.note(step(1, seconds=90, peaks_gib=(19, 9))) is None
    assert following.result() is None
    following.learn()
    assert lesson(lessons, job) is None
    compared = following.note(step(2))
    assert compared is not None and (compared.causes, compared.hint) == ((), "")
    assert following.note(step(3)) is None, "one comparison at the beginning is enough"


def test_seconds_are_the_median_and_memory_the_most(job: Job, tmp_path: Path):
    following, lessons = comparison(job, tmp_path)
    for number, (seconds, peak) in enumerate([(9, 1), (0.5, 12), (0.6, 13.5), (5, 12)], start=1):
        following.note(step(number, seconds=seconds, peaks_gib=(peak, 8)))
    following.note(Warn(sentence="Something else."))
    compared = following.result()
    assert isinstance(compared, Compared)
    assert (compared.step, compared.seen_s) == (4, 0.6)
    assert [one.seen_bytes for one in compared.devices] == [int(13.5 * GIB), 8 * GIB]
    assert "GPU 0 (RTX 3090) held 1.5 GB more than planned" in compared.causes[0]
    assert compared.hint
    following.learn()
    assert lesson(lessons, job) == Lesson(extra_bytes=(int(1.5 * GIB), 0), step_factor=1.2, num_runs=1)


def test_seconds_that_the_forecast_could_not_tell_are_learnt_on_its_own_scale(job: Job, tmp_path: Path):
    following, lessons = comparison(job, tmp_path, step_s=None)
    following.note(step(2, seconds=2.0))
    compared = following.result()
    assert compared is not None and compared.planned_s is None and compared.causes == ()
    following.learn()
    learnt = lesson(lessons, job)
    assert learnt is not None and learnt.step_factor == 4.0


def test_lessons_of_several_runs_add_up(job: Job, tmp_path: Path):
    for extra_gib in (1, 0.5):
        following, lessons = comparison(job, tmp_path)
        following.note(step(2, peaks_gib=(12 + extra_gib, 8)))
        following.learn()
    learnt = lesson(lessons, job)
    assert learnt is not None and (learnt.extra_bytes, learnt.num_runs) == ((int(1.5 * GIB), 0), 2)


@pytest.mark.parametrize(
    ("device", "held_gib", "wanted_bytes", "extra_gib"),
    [
        ("cuda:1", 9.5, GIB, 2.5),
        ("cuda:1", 7, 4 * GIB, 4),  # More is needed than was planned and wanted, whatever was held so far.
        ("cuda:1", 4, GIB, None),  # 9 GB fit the budget of 10: somebody else has them.
        ("cuda:1", 9.5, None, None),
        ("cuda:1", None, GIB, None),
        ("cuda:7", 9.5, GIB, None),
        ("", 9.5, GIB, None),
    ],
)
def test_a_shortage_teaches_what_was_needed(
    job: Job, tmp_path: Path, device: str, held_gib: float | None, wanted_bytes: int | None, extra_gib: float | None
):
    following, lessons = comparison(job, tmp_path)
    held_bytes = None if held_gib is None else int(held_gib * GIB)
    error = CardMemoryError("No memory.", device=device, wanted_bytes=wanted_bytes, held_bytes=held_bytes)
    following.learn_shortage(error)
    learnt = lesson(lessons, job)
    assert (learnt.extra_bytes if learnt else None) == (None if extra_gib is None else (0, int(extra_gib * GIB)))
