"""Lessons of earlier runs: kept for their kind only, and added up."""

from pathlib import Path

import pytest

from diffusionforce.job import Profile, builtin_profiles, changed, read_profile
from diffusionforce.ugpum.estimate import PlanCard
from diffusionforce.ugpum.learned import Lesson, Lessons

GIB = 1 << 30
RIG = ("RTX 3090 GPU-a", "RTX 3060 GPU-b")
PROFILE = read_profile(builtin_profiles()["pocket-demo"])
LESSON = Lesson(extra_bytes=(GIB, GIB // 4), step_factor=1.25, num_runs=2)


def with_settings(**settings: object) -> Profile:
    return changed(PROFILE, {name.replace("__", "."): value for name, value in settings.items()}, origin="test")


def test_a_lesson_survives_on_disk(tmp_path: Path):
    lessons = Lessons(tmp_path / "not made yet")
    assert lessons.find("p", PROFILE, rig=RIG) is None
    lessons.keep(LESSON, "p", PROFILE, rig=RIG)
    assert lessons.find("p", PROFILE, rig=RIG) == LESSON


@pytest.mark.parametrize(
    "same", [with_settings(training__steps=77, training__learning_rate=0.5), with_settings(samples__prompts=["other"])]
)
def test_settings_without_weight_share_a_lesson(tmp_path: Path, same: Profile):
    lessons = Lessons(tmp_path)
    lessons.keep(LESSON, "p", PROFILE, rig=RIG)
    assert lessons.find("p", same, rig=RIG) == LESSON


@pytest.mark.parametrize(
    "other",
    [
        with_settings(lora__rank=8),
        with_settings(training__batch_size=5),
        with_settings(dataset__width=512),
        with_settings(samples__width=512),
        with_settings(training__gradient_checkpointing=True),
    ],
)
def test_other_kinds_of_runs_do_not(tmp_path: Path, other: Profile):
    lessons = Lessons(tmp_path)
    lessons.keep(LESSON, "p", PROFILE, rig=RIG)
    assert lessons.find("p", other, rig=RIG) is None
    assert lessons.find("q", PROFILE, rig=RIG) is None
    assert lessons.find("p", PROFILE, rig=RIG[::-1]) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": 0, "extra_bytes": [1, 2], "step_factor": 1, "num_runs": 1}',
        '{"format": 1, "extra_bytes": [1], "step_factor": 1, "num_runs": 1}',
        '{"format": 1, "extra_bytes": [1, -2], "step_factor": 1, "num_runs": 1}',
        '{"format": 1, "extra_bytes": [1, 2], "step_factor": 0, "num_runs": 1}',
        '{"format": 1, "extra_bytes": [1, 2], "step_factor": "fast", "num_runs": 1}',
    ],
)
def test_a_damaged_lesson_is_none(tmp_path: Path, text: str):
    lessons = Lessons(tmp_path)
    lessons.keep(LESSON, "p", PROFILE, rig=RIG)
    (file,) = tmp_path.iterdir()
    file.write_text(text, encoding="utf-8")
    assert lessons.find("p", PROFILE, rig=RIG) is None


def test_what_was_seen_adds_to_what_was_known():
    planned = {0: 10 * GIB, 1: 8 * GIB}
    lesson = LESSON.after(planned_bytes=planned, seen_bytes={0: 11 * GIB}, planned_s=2.0, seen_s=3.0)
    assert lesson == Lesson(extra_bytes=(2 * GIB, GIB // 4), step_factor=1.875, num_runs=3)
    lesson = LESSON.after(planned_bytes=planned, seen_bytes={0: 9 * GIB, 1: 6 * GIB}, planned_s=2.0, seen_s=None)
    assert lesson == Lesson(extra_bytes=(0, 0), step_factor=1.25, num_runs=3)
    without_times = LESSON.after(planned_bytes={}, seen_bytes={}, planned_s=None, seen_s=3.0)
    assert without_times.step_factor == LESSON.step_factor


def test_a_forecast_with_its_lesson_is_what_was_seen():
    cards = (PlanCard(label="a", budget_bytes=20 * GIB), PlanCard(label="b", budget_bytes=9 * GIB, constant_bytes=100))
    learnt = LESSON.on_cards(cards)
    assert [card.constant_bytes for card in learnt] == [GIB, GIB // 4 + 100]
    assert [card.budget_bytes for card in learnt] == [20 * GIB, 9 * GIB]
