"""When a run counts as stalled. The time is counted by the test: nothing here waits."""

from pathlib import Path
from typing import Any, get_args

import pytest
from tests.support.jobs import small_job

from diffusionforce.trainer import patience
from diffusionforce.trainer.stall import LOOK_S, StallWatch
from diffusionforce.wire import Checkpoint, HeldOut, Message, Paused, Planned, Preparing, Sample, Stalled, Step, Warn
from diffusionforce.wire.stages import STAGE_WORDS


class Watched:
    """A watch, and what it told."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.told: list[Stalled] = []
        self.num_dumps = 0
        job = small_job(folder, steps=1000, **settings)
        self.watch = StallWatch(job.profile, tell=self.told.append, dump=self._dump)

    def _dump(self) -> None:
        self.num_dumps += 1

    def pass_s(self, seconds: float) -> None:
        """Let time pass, look by look."""
        for _ in range(round(seconds / LOOK_S)):
            self.watch.pass_time(LOOK_S)

    def hear(self, *messages: Message) -> None:
        """Let the engine report."""
        for message in messages:
            self.watch.note(message)


def step(number: int, *, seconds: float = 1.0) -> Step:
    return Step(step=number, num_steps=1000, loss=0.1, learning_rate=1e-4, seconds=seconds, eta_s=1.0)


def sample(number: int, index: int, *, seconds: float = 10.0) -> Sample:
    return Sample(step=number, prompt_index=index, num_prompts=2, prompt="a", seed=1, path="a.png", seconds=seconds)


@pytest.fixture
def run(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def test_a_step_without_end_is_told_within_a_minute_and_once(run: Watched):
    run.hear(step(1), step(2))
    run.pass_s(40)
    assert not run.told
    run.pass_s(20)
    assert [(one.stalled, one.step) for one in run.told] == [(True, 2)] and run.num_dumps == 1
    assert run.told[0].sentence == "Step 3 has made no progress for 50 s; steps take 1 s."
    assert "log.txt" in run.told[0].hint
    run.pass_s(600)
    assert len(run.told) == 1 and run.num_dumps == 1


def test_it_is_told_when_the_run_goes_on_and_the_next_stall_is_another(run: Watched):
    run.hear(step(1))
    run.pass_s(180)
    run.hear(step(2))
    assert [one.stalled for one in run.told] == [True, False]
    assert run.told[1].sentence == "Step 2 goes on after 3 min without progress."
    run.hear(step(3))
    assert len(run.told) == 2
    run.pass_s(60)
    assert [one.stalled for one in run.told] == [True, False, True]


@pytest.mark.parametrize("known", [Planned(words="", mode="A", devices=(), step_s=60), step(5, seconds=60)])
def test_long_steps_are_waited_for_as_they_were_forecast_or_seen(run: Watched, known: Message):
    run.hear(known, *([sample(5, 1)] if isinstance(known, Planned) else []))
    run.pass_s(8 * 60)
    assert not run.told
    run.pass_s(330)
    assert [one.stalled for one in run.told] == [True]


def test_a_run_that_waits_is_never_stalled(run: Watched):
    run.hear(step(1))
    run.pass_s(30)
    run.watch.note_pause(True)
    run.pass_s(100_000)
    run.watch.note_pause(False)
    run.pass_s(30)  # What passed before the pause does not count either.
    assert not run.told
    run.pass_s(30)
    assert len(run.told) == 1


@pytest.mark.parametrize("slept_s", [3600.0, 8 * 3600.0, 20.0])
def test_a_laptop_that_slept_is_no_stall(run: Watched, slept_s: float):
    run.hear(step(1))
    run.pass_s(40)
    run.watch.pass_time(slept_s)
    run.pass_s(40)
    assert not run.told


def test_sleeping_does_not_end_a_stall(run: Watched):
    run.hear(step(1))
    run.pass_s(60)
    run.watch.pass_time(3600)
    run.pass_s(60)
    assert [one.stalled for one in run.told] == [True]


def test_caching_a_large_video_has_its_time(run: Watched):
    run.hear(Preparing(stage="pictures", done=0, total=3))
    run.pass_s(5)
    run.hear(Preparing(stage="pictures", done=1, total=3))
    run.pass_s(1500)  # After a small picture.
    run.hear(Preparing(stage="pictures", done=2, total=3))
    run.pass_s(10_000)  # Even larger than that; ten times the longest is too long.
    assert not run.told
    run.pass_s(6_000)
    assert [one.sentence.partition(" has")[0] for one in run.told] == ["Preparing pictures"]


def test_samples_have_their_time_though_nobody_says_that_they_begin(tmp_path: Path):
    run = Watched(tmp_path, samples__every_steps=10, samples__prompts=["a", "b"])
    run.hear(step(9), step(10))
    run.pass_s(600)
    run.hear(sample(10, 0, seconds=600))
    run.pass_s(800)
    run.hear(sample(10, 1, seconds=800))
    run.pass_s(300)  # Weights come back.
    assert not run.told
    run.hear(step(11))
    run.pass_s(60)
    assert len(run.told) == 1


@pytest.mark.parametrize("asked", ["save", "sample"])
def test_what_was_asked_for_has_its_time(run: Watched, asked: str):
    run.hear(step(1))
    run.watch.note_request(asked)
    run.pass_s(300)
    assert not run.told


def test_a_save_that_is_due_has_its_time(tmp_path: Path):
    run = Watched(tmp_path, checkpoints__every_steps=5)
    run.hear(step(5))
    run.pass_s(200)
    run.hear(HeldOut(step=5, loss=0.1), Checkpoint(step=5, path="a", size_bytes=1))
    run.pass_s(300)
    assert not run.told


def test_an_engine_that_asks_for_requests_is_alive_and_warnings_of_others_are_no_life(run: Watched):
    run.hear(step(1))
    for _ in range(20):
        run.pass_s(40)
        run.watch.note_life()
    assert not run.told
    for _ in range(3):
        run.pass_s(20)
        run.hear(Warn(sentence="The telemetry is no longer kept."), Paused(paused=False))
    assert len(run.told) == 1


def test_every_stage_has_a_time_and_words():
    stages = set(get_args(Preparing.model_fields["stage"].annotation))
    assert stages == STAGE_WORDS.keys() == patience._STAGES_S.keys()


def test_a_step_that_was_slept_through_makes_nobody_patient(run: Watched):
    """On Windows the clock of a step goes on while the computer sleeps: eight hours would be three days of patience."""
    run.hear(step(5, seconds=10))
    run.watch.pass_time(28_800.0)
    run.hear(step(6, seconds=28_800))
    run.pass_s(8 * 10 + LOOK_S)
    assert [told.stalled for told in run.told] == [True]
    run.hear(step(7, seconds=20))
    run.pass_s(8 * 20)
    assert [told.stalled for told in run.told] == [True, False]
