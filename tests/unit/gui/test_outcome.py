import signal
import sys

import pytest

from diffusionforce.gui.model import outcome
from diffusionforce.runs import RunHeldOut, RunState
from diffusionforce.wire import Done, Failed, Stopped


def state(kind: str, **changes: object) -> RunState:
    values = {
        "state": kind,
        "profile_name": "p",
        "title": "P",
        "pid": 1,
        "process_started_s": 0.0,
        "started_at": "2026-01-01T00:00:00+00:00",
        "num_steps": 300,
        "step": 120,
    }
    return RunState.model_validate({**values, **changes})


def test_a_finished_run_says_how_far_the_held_out_loss_fell():
    end = Done(step=300, lora="x", seconds=124, held_out_before=0.0605, held_out_after=0.0376)
    result = outcome.of_message(end)
    assert (result.kind, result.tone) == ("done", "ok")
    assert result.sentence == (
        "300 steps in 2 min 4 s, previews and pauses included. The held-out loss fell by 38 %, from 0.0605 to 0.0376."
    )


def test_a_loss_that_rose_is_not_called_a_fall():
    result = outcome.of_message(Done(step=1, lora="", seconds=1, held_out_before=0.1, held_out_after=0.2))
    assert "rose by 100 %" in result.sentence


def test_a_stopped_run_says_whether_anything_was_saved():
    assert "saved" in outcome.of_message(Stopped(step=5, lora="x.safetensors")).sentence
    assert "nothing to save" in outcome.of_message(Stopped(step=0)).sentence


def test_a_failure_keeps_sentence_hint_and_detail():
    result = outcome.of_message(Failed(sentence="A.", hint="B.", detail="C", step=7))
    assert (result.sentence, result.hint, result.detail) == ("A.", "B.", "C")
    assert result.title == "Training failed at step 7"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to name")
def test_a_killed_trainer_is_a_crash_with_its_signal_and_last_words():
    result = outcome.of_exit(int(signal.SIGKILL), killed=True, step=42, last_words="bang")
    assert result.kind == "crashed"
    assert "SIGKILL" in result.sentence
    assert (result.step, result.detail) == (42, "bang")


def test_an_exit_without_a_word_is_a_crash_with_its_code():
    result = outcome.of_exit(2, killed=False, step=0, last_words="")
    assert result.kind == "crashed"
    assert "code 2" in result.sentence
    assert result.title == "The trainer crashed"


def test_a_trainer_that_could_not_start_names_the_command():
    result = outcome.not_started("No such file or directory", command="python -m x")
    assert result.kind == "not_started"
    assert "No such file" in result.sentence
    assert result.detail == "python -m x"


def test_a_run_that_goes_on_has_no_outcome():
    assert outcome.of_state(state("running")) is None


def test_the_state_of_a_folder_tells_the_same_as_the_message():
    done = outcome.of_state(state("done", step=300, held_out_loss=RunHeldOut(before=0.1, after=0.05)))
    assert done is not None
    assert "fell by 50 %" in done.sentence
    crashed = outcome.of_state(state("crashed", sentence="Gone.", hint="Look."))
    assert crashed is not None
    assert (crashed.kind, crashed.sentence, crashed.hint, crashed.step) == ("crashed", "Gone.", "Look.", 120)
