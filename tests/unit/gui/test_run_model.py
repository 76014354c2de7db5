from pathlib import Path

import pytest
from tests.gui import recorded

from diffusionforce.gui.model import outcome
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.wire import Checkpoint, Done, HeldOut, Hello, Paused, Preparing, Stalled, Step, Stopped, Warn


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def model(tmp_path: Path) -> RunModel:
    return RunModel(recorded.job(tmp_path / "run"), clock=Clock())


def step(number: int, *, seconds: float = 0.5) -> Step:
    return Step(step=number, num_steps=300, loss=0.1, learning_rate=1e-3, seconds=seconds, eta_s=10)


def test_a_model_without_messages_knows_what_the_job_says(model: RunModel):
    assert model.num_steps == 300
    assert model.step == 0
    assert model.phase == "starting"
    assert len(model.samples.rows) == len(recorded.PROMPTS)
    assert model.samples.steps == [0, 100, 200, 300]


def test_a_model_without_a_job_learns_from_the_messages():
    model = RunModel()
    model.feed(Hello(product="0", pid=1, engine="pocket", profile_name="x", run_dir="", num_steps=50))
    assert model.num_steps == 50
    assert model.sample_steps == [50]
    assert model.num_pictures_seen == 0


def test_the_phases_follow_each_other(model: RunModel):
    model.feed(Preparing(stage="pictures", done=4, total=12))
    assert (model.phase, model.phase_words) == ("preparing", "Preparing pictures 5 of 12")
    model.feed(step(1))
    assert model.phase == "training"
    model.feed(Preparing(stage="samples", done=0, total=4, step=100))
    assert (model.phase, model.phase_words) == ("sampling", "Drawing previews 1 of 4")
    model.feed(step(2))
    assert model.phase == "training"
    model.stop_asked = True
    assert model.phase == "stopping"
    model.feed(Done(step=2, lora="", seconds=1))
    assert (model.phase, model.phase_words) == ("ended", "Done")


def test_previews_are_expected_when_they_are_due(model: RunModel):
    model.feed(HeldOut(step=0, loss=0.06))
    assert (model.phase, model.samples.pending_step) == ("sampling", 0)
    model.feed(step(99))
    assert (model.phase, model.samples.pending_step) == ("training", None)
    model.feed(step(100))
    assert (model.phase_words, model.samples.pending_step) == ("Drawing previews 1 of 4", 100)
    model.feed(step(101))
    assert (model.phase, model.samples.pending_step) == ("training", None)


def test_the_first_end_counts(model: RunModel):
    model.feed(Done(step=300, lora="", seconds=1))
    model.end(outcome.of_exit(1, killed=False, step=300, last_words=""))
    assert model.outcome is not None
    assert model.outcome.kind == "done"


def test_the_usual_step_time_ignores_a_single_slow_step(model: RunModel):
    for number in range(1, 12):
        model.feed(step(number, seconds=60 if number == 5 else 0.5))
    assert model.step_s == 0.5


def test_pictures_seen_are_steps_times_the_batch(model: RunModel):
    model.feed(step(10))
    assert model.num_pictures_seen == 20


def test_the_next_preview_is_the_next_that_is_due(model: RunModel):
    assert model.sample_steps == [100, 200, 300]
    model.feed(step(100))
    assert model.next_sample_step == 200
    model.feed(step(300))
    assert model.next_sample_step is None


def test_a_save_ages(tmp_path: Path):
    clock = Clock()
    model = RunModel(recorded.job(tmp_path / "run"), clock=clock)
    assert model.seconds_since_save() is None
    model.feed(Checkpoint(step=100, path="checkpoints/a.safetensors", size_bytes=5))
    clock.now_s += 90
    assert model.seconds_since_save() == 90


def test_a_save_that_was_read_afterwards_has_no_age(model: RunModel):
    model.live = False
    model.feed(Checkpoint(step=100, path="checkpoints/a.safetensors", size_bytes=5))
    assert model.seconds_since_save() is None


def test_warnings_reach_the_log(model: RunModel):
    model.feed(Warn(sentence="The disk is nearly full.", hint="Free some."))
    assert "The disk is nearly full. Free some." in model.log[-1]


def test_the_log_is_bounded_but_counts_on(model: RunModel):
    for number in range(3000):
        model.write_log(str(number))
    assert len(model.log) == 2000
    assert model.log_count == 3000


def test_a_whole_recorded_run_adds_up(tmp_path: Path):
    model = RunModel(recorded.job(tmp_path / "run"))
    for message in recorded.messages(tmp_path / "run", upto=300):
        model.feed(message)
    assert model.share == 1
    assert model.samples.done_steps == [0, 100, 200, 300]
    assert [lora.step for lora in model.saved] == [100, 200, 300]
    assert len(model.losses.raw) == 300
    assert model.losses.verdict == "falling"
    assert len(model.devices.views) == 2
    assert len(model.devices.timeline) == 2


def test_what_keeps_a_run_from_going_on_is_shown_until_it_goes_on():
    model = RunModel()
    stall = Stalled(stalled=True, sentence="Step 3 has made no progress for 50 s.", step=2)
    model.feed(stall)
    assert model.trouble is stall and stall.sentence in model.log[-1]
    model.feed(Stalled(stalled=False, sentence="Step 3 goes on.", step=2))
    assert model.trouble is None
    lack = Paused(paused=True, sentence="The disk is nearly full.", step=3)
    model.feed(lack)
    assert model.trouble is lack and lack.sentence in model.log[-1] and model.phase == "paused"
    model.feed(Paused(paused=False, step=3))
    assert model.trouble is None
    model.feed(Paused(paused=True, step=4))  # As somebody asked.
    assert model.trouble is None
    model.feed(stall)
    model.feed(Stopped(step=4))
    assert model.trouble is None
