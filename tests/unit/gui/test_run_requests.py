"""What can be asked of a run is offered where it does something."""

import pytest
from tests.gui import recorded

from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.model.run_requests import why_no_preview, why_no_save
from diffusionforce.wire import Paused, Preparing


@pytest.fixture
def model(tmp_path) -> RunModel:
    """A run at step 120 of 300, which saved and drew at step 100."""
    made = RunModel(recorded.job(tmp_path))
    for message in recorded.messages(tmp_path, upto=120):
        made.feed(message)
    return made


def test_both_are_offered_between_steps(model: RunModel):
    assert (why_no_save(model), why_no_preview(model)) == ("", "")


def test_neither_before_the_first_step_nor_after_the_last(tmp_path):
    # Symptom: a save during the last previews was taken, and nothing ever came.
    made = RunModel(recorded.job(tmp_path))
    assert why_no_save(made) == why_no_preview(made) == "Possible after the first step."
    for message in recorded.messages(tmp_path, upto=299, every=7):
        made.feed(message)
    assert (why_no_save(made), why_no_preview(made)) == ("", "")
    assert made.last_step is not None
    made.feed(made.last_step.model_copy(update={"step": 300}))
    assert "come by themselves" in why_no_save(made)


def test_previews_that_are_being_drawn_are_not_drawn_again(model: RunModel):
    # Symptom: asked for while they were being drawn, all four were drawn once more, a step later.
    model.feed(Preparing(stage="samples", done=1, total=4, step=120))
    assert why_no_preview(model) == "Previews are being drawn."


def test_what_is_there_already_is_not_offered(tmp_path):
    made = RunModel(recorded.job(tmp_path))
    for message in recorded.messages(tmp_path, upto=100):
        made.feed(message)
    assert why_no_save(made) == "Step 100 is saved."
    assert why_no_preview(made) == "The previews of step 100 are drawn."


def test_what_was_asked_for_is_not_asked_for_twice(model: RunModel):
    model.save_asked = model.preview_asked = True
    assert "comes after this step" in why_no_save(model) and "come after this step" in why_no_preview(model)


def test_a_paused_run_says_what_saves(model: RunModel):
    model.feed(Paused(paused=True, step=120))
    assert why_no_save(model) == why_no_preview(model) == "The run is paused. Stopping it saves what was learned."


def test_a_profile_without_prompts_has_no_previews(tmp_path):
    job = recorded.job(tmp_path)
    samples = job.profile.samples.model_copy(update={"prompts": ()})
    made = RunModel(job.model_copy(update={"profile": job.profile.model_copy(update={"samples": samples})}))
    assert why_no_preview(made) == "The profile has no prompts for previews."
