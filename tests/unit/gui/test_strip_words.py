"""The line at the foot of the window: what goes on, or whether the plan could start; nothing contradicts it."""

from pathlib import Path

import pytest
from tests.gui import recorded

from diffusionforce.gui.model import outcome
from diffusionforce.gui.model.plan import Plan
from diffusionforce.gui.model.plan_checks import standing
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.model.strip_words import of_plan, of_run
from diffusionforce.wire import Paused, Step


@pytest.fixture
def model(tmp_path: Path) -> RunModel:
    model = RunModel(recorded.job(tmp_path))
    step = Step(step=4, num_steps=9, loss=0.1, learning_rate=1e-3, seconds=1.0, eta_s=125, devices=())
    model.feed(step)
    return model


def test_a_plan_that_cannot_start_is_not_called_ready():
    # Symptom: "Idle, ready to train" stood under a plan with two things to fix.
    line = of_plan(standing(Plan()))
    assert (line.name, line.state, line.tone) == ("Idle", "not ready: 2 things to fix", "warn")
    assert of_plan(None).state == ""


def test_a_paused_run_has_work_left_and_no_time(model: RunModel):
    # Symptom: "2 min left" stood there while nothing went on.
    assert of_run("A run", model, compact=False).state == "step 4 of 9 · 2 min 5 s left"
    assert of_run("A run", model, compact=True).state == "2 min 5 s left"
    model.feed(Paused(paused=True))
    line = of_run("A run", model, compact=False)
    assert (line.icon, line.tone, line.state) == ("pause", "warn", "paused · 2 min 5 s of work left")


def test_a_run_that_is_stopped_has_nothing_left(model: RunModel):
    model.stop_asked = True
    assert of_run("A run", model, compact=False).state == "stopping after this step"
    model.end(outcome.not_started("no", command="x"))
    assert of_plan(standing(Plan()), ended=model).state == "last run: not started"
