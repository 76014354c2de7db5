"""Checkpoints: whole or not there, read back, listed, refused by name, and removed by rule."""

import json
import os
from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.errors import DiskError, ProfileError, RunFolderError
from diffusionforce.job import Job, changed, held_files
from diffusionforce.job.profile import CheckpointSettings
from diffusionforce.runs import (
    RunFolder,
    differing_settings,
    list_states,
    manifest_of,
    newest_good,
    read_checked,
    remove_checkpoint,
    require_resumable,
    require_whole,
    sealing,
    write_checkpoint,
)
from diffusionforce.runs.checkpoints import EARLIER_NOTES, MANIFEST
from diffusionforce.runs.keeping import Save, surplus

FILES = {"state.safetensors": bytes(range(256)) * 40, "notes.json": b"{}"}


@pytest.fixture
def job(tmp_path: Path) -> Job:
    made = small_job(tmp_path, steps=10)
    made.run_dir.mkdir()
    return made


def saved(job: Job, step: int, *, held_out_loss: float | None = None, name: str = "fox") -> Path:
    path = job.run_dir / "checkpoints" / f"{name}_step_{step:06d}-state"
    write_checkpoint(path, manifest_of(job, step=step, held_out_loss=held_out_loss), FILES)
    return path


def from_state(job: Job, state: Path) -> Job:
    return job.model_copy(update={"resume": state})


def test_a_checkpoint_comes_back_as_it_was_written(job: Job) -> None:
    path = saved(job, 4, held_out_loss=0.5)
    manifest = require_whole(path)
    assert (manifest.step, manifest.num_steps, manifest.engine) == (4, 10, "pocket")
    assert read_checked(path, "state.safetensors", manifest=manifest) == FILES["state.safetensors"]
    assert sorted(child.name for child in path.iterdir()) == [MANIFEST, "notes.json", "state.safetensors"]
    assert [child.name for child in path.parent.iterdir()] == [path.name]
    require_resumable(from_state(job, path))
    assert require_resumable(job) is None


def test_the_one_that_came_farthest_is_first_whatever_its_name_and_age(job: Job) -> None:
    saved(job, 9, name="a")
    saved(job, 2, name="z")
    assert [state.step for state in list_states(job.run_dir / "checkpoints")] == [9, 2]
    assert list_states(job.run_dir / "nowhere") == []


@pytest.mark.parametrize("name", ["state.safetensors", MANIFEST])
@pytest.mark.parametrize("damage", ["cut short", "changed", "gone"])
def test_a_damaged_checkpoint_is_named_and_the_last_good_one_taken(job: Job, name: str, damage: str) -> None:
    good, bad = saved(job, 2), saved(job, 4)
    content = bytearray((bad / name).read_bytes())
    content[7] ^= 1
    match damage:
        case "cut short":
            (bad / name).write_bytes((bad / name).read_bytes()[:-100])
        case "changed":
            (bad / name).write_bytes(content)
        case _:
            (bad / name).unlink()
    # A file that is as long as it should be is only found out by its checksum.
    is_seen_at_once = damage != "changed" or name == MANIFEST
    states = list_states(bad.parent)
    assert [state.step for state in states if state.is_whole] == ([2] if is_seen_at_once else [4, 2])
    state, passed_over = newest_good(bad.parent)
    assert state is not None and state.path == good
    assert [one.path for one in passed_over] == [bad] and name in passed_over[0].problem
    with pytest.raises(RunFolderError, match=f"{bad.name} is no state .*{name}") as caught:
        require_resumable(from_state(job, bad))
    assert f"The last good one is {good.name}: go on from step 2" in caught.value.hint


def test_what_is_no_checkpoint_or_has_nothing_left_to_do_is_refused(job: Job, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="it is not there"):
        require_resumable(from_state(job, tmp_path / "none"))
    done = saved(job, 10)
    with pytest.raises(ProfileError, match=f"All 10 steps are done in {done.name}, which is of step 10") as caught:
        require_resumable(from_state(job, done))
    assert "--steps 20" in caught.value.hint
    other = done.with_name("other-state")
    write_checkpoint(other, manifest_of(job, step=1).model_copy(update={"engine": "musubi"}), FILES)
    with pytest.raises(ProfileError, match="saved by the engine musubi"):
        require_resumable(from_state(job, other))


@pytest.mark.parametrize(
    ("engine", "setting", "value"),
    [
        ("pocket", "lora.rank", 4),
        ("musubi", "model.family", "z-image"),
        ("musubi", "training.batch_size", 7),
        ("musubi", "training.gradient_accumulation", 7),
    ],
)
def test_settings_that_a_checkpoint_cannot_go_on_with_are_refused(
    job: Job, engine: str, setting: str, value: object
) -> None:
    """The engine found out when everything was prepared and the model loaded."""
    path = job.run_dir / "checkpoints" / "fox-state"
    write_checkpoint(path, manifest_of(job, step=4).model_copy(update={"engine": engine}), FILES)
    changes = {"model.engine": engine, "training.steps": 20}
    require_resumable(from_state(job.model_copy(update={"profile": changed(job.profile, changes, origin="")}), path))
    other = changed(job.profile, {**changes, setting: value}, origin="")
    with pytest.raises(ProfileError, match=f"{setting} is {value!r}, and fox-state was saved with "):
        require_resumable(from_state(job.model_copy(update={"profile": other}), path))


def test_states_of_earlier_versions_have_no_manifest_and_are_known_all_the_same(job: Job) -> None:
    folder = job.run_dir / "checkpoints" / "fox-step00000003-state"
    folder.mkdir(parents=True)
    for name in ("model.safetensors", "optimizer.bin"):
        (folder / name).touch()
    (folder / EARLIER_NOTES).write_text(json.dumps({"item_losses": [0.5] * 6, "accumulation": 2}), encoding="utf-8")
    (state,) = list_states(folder.parent)
    assert (state.step, state.is_whole) == (3, True)
    (folder / "optimizer.bin").unlink()
    (state,) = list_states(folder.parent)
    assert "it lacks optimizer.bin" in state.problem
    for text in ("", "[]", '{"item_losses": 3}', '{"item_losses": [1], "accumulation": 0}'):
        (folder / "optimizer.bin").touch()
        (folder / EARLIER_NOTES).write_text(text, encoding="utf-8")
        assert f"{EARLIER_NOTES} is damaged" in list_states(folder.parent)[0].problem


def test_a_disk_that_gives_back_something_else_is_found_out_at_once(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    good = saved(job, 2)
    sync = os.fsync

    def lose(descriptor: int) -> None:
        sync(descriptor)
        if Path(f"/proc/self/fd/{descriptor}").readlink().name == "state.safetensors":
            os.pwrite(descriptor, b"x", 5)

    monkeypatch.setattr(sealing.os, "fsync", lose)
    with pytest.raises(RunFolderError, match=r"does not give back what was written to state\.safetensors"):
        saved(job, 4)
    assert [child.name for child in good.parent.iterdir()] == [good.name]


def test_a_full_disk_leaves_what_was_there(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    good = saved(job, 2)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sealing.os, "fsync", full)
        with pytest.raises(DiskError, match="is full"):
            saved(job, 4)
    assert [child.name for child in good.parent.iterdir()] == [good.name]
    require_whole(good)


def test_the_same_step_saved_twice_stays_what_it_was_and_a_damaged_one_is_replaced(job: Job) -> None:
    path = saved(job, 4)
    before = (path / MANIFEST).stat().st_ino
    saved(job, 4)
    assert (path / MANIFEST).stat().st_ino == before
    (path / "notes.json").write_bytes(b"damaged")
    saved(job, 4)
    require_whole(path)
    remove_checkpoint(path)
    assert list(path.parent.iterdir()) == []


def test_settings_that_differ_are_told_by_their_names(job: Job) -> None:
    state = saved(job, 4)
    assert differing_settings(job) == differing_settings(from_state(job, state)) == ""
    profile = changed(
        job.profile, {"training.steps": 20, "devices.use": ["cpu", "cpu"], "title": "Other"}, origin="test"
    )
    sentence = differing_settings(from_state(job, state).model_copy(update={"profile": profile}))
    assert sentence == (
        f"From checkpoint {state.name}, these settings differ: training.steps (10 before, 20 now), "
        "devices.use (cpu before, cpu, cpu now)."
    )


def test_settings_of_an_earlier_state_are_those_of_its_run(job: Job) -> None:
    folder = RunFolder.create(job.run_dir, job)
    state = folder.checkpoints_dir / "fox-state"
    state.mkdir()
    for name in ("model.safetensors", "optimizer.bin"):
        (state / name).touch()
    (state / EARLIER_NOTES).write_text(json.dumps({"item_losses": [0.5], "accumulation": 1}), encoding="utf-8")
    longer = changed(job.profile, {"training.steps": 11}, origin="test")
    sentence = differing_settings(from_state(job, state).model_copy(update={"profile": longer}))
    assert sentence == "From checkpoint fox-state, this setting differs: training.steps (10 before, 11 now)."


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"keep": 2, "keep_best": 0}, {50, 60}),
        ({"keep": 1, "keep_best": 1}, {20, 60}),
        ({"keep": 1, "keep_best": 2}, {20, 40, 60}),
        ({"keep": 1, "keep_best": 0, "keep_every_steps": 30}, {30, 60}),
        ({"keep": 100}, {10, 20, 30, 40, 50, 60}),
    ],
)
def test_the_newest_the_best_and_some_in_between_are_kept(settings: dict[str, int], kept: set[int]) -> None:
    losses = {10: 0.9, 20: 0.2, 30: None, 40: 0.3, 50: 0.4, 60: 0.5}
    saves = [Save(step=step, held_out_loss=loss) for step, loss in losses.items()]
    assert set(losses) - surplus(saves, CheckpointSettings(**settings)) == kept


def test_a_run_folder_that_was_moved_away_is_not_made_anew(job: Job) -> None:
    job.run_dir.rename(job.run_dir.with_name("elsewhere"))
    with pytest.raises(RunFolderError, match="its folder was moved or removed"):
        saved(job, 4)
    assert not job.run_dir.exists()


def test_on_windows_a_scanner_that_holds_a_new_checkpoint_is_waited_for(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scanners open what has just been written; a folder with an open file in it cannot be renamed on Windows."""
    move, refusals = Path.replace, iter(range(3))

    def replace(source: Path, target: Path) -> Path:
        if next(refusals, None) is not None:
            raise PermissionError(13, "Access is denied", str(source), None, str(target))
        return move(source, target)

    monkeypatch.setattr(Path, "replace", replace)
    monkeypatch.setattr(held_files, "WAITS_FOR_HOLDERS", True)
    state = saved(job, 4)
    assert require_whole(state).step == 4 and [path.name for path in state.parent.iterdir()] == [state.name]
