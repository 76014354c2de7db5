"""A saved state is looked at before a run goes on from it; what the engine really writes is met in tests/process."""

import json
from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.engines.musubi.states import NOTES, require_state
from diffusionforce.errors import ProfileError, RunFolderError
from diffusionforce.job import Job


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "fox-step00000003-state"
    folder.mkdir()
    for name in ("model.safetensors", "optimizer.bin"):
        (folder / name).touch()
    (folder / NOTES).write_text(json.dumps({"item_losses": [0.5] * 6, "accumulation": 2}), encoding="utf-8")
    return folder


def going_on(tmp_path: Path, state: Path | None, *, steps: int = 4) -> Job:
    return small_job(tmp_path, steps=steps).model_copy(update={"resume": state})


def test_a_state_with_steps_left_passes_and_so_does_a_run_from_the_start(tmp_path: Path, state: Path) -> None:
    require_state(going_on(tmp_path, state))
    require_state(going_on(tmp_path / "other", None))


def test_a_run_that_is_done_needs_more_steps(tmp_path: Path, state: Path) -> None:
    with pytest.raises(ProfileError, match="All 3 steps are done in fox-step00000003-state") as caught:
        require_state(going_on(tmp_path, state, steps=3))
    assert "--steps 6" in caught.value.hint


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.bin", NOTES])
def test_a_state_that_was_cut_short_says_what_it_lacks(tmp_path: Path, state: Path, name: str) -> None:
    (state / name).unlink()
    with pytest.raises(RunFolderError, match=f"fox-step00000003-state is no state .*: it lacks {name}"):
        require_state(going_on(tmp_path, state))


@pytest.mark.parametrize("text", ["", "[]", '{"item_losses": 3}', '{"item_losses": [1], "accumulation": 0}'])
def test_damaged_notes_are_named(tmp_path: Path, state: Path, text: str) -> None:
    (state / NOTES).write_text(text, encoding="utf-8")
    with pytest.raises(RunFolderError, match="is damaged"):
        require_state(going_on(tmp_path, state))
