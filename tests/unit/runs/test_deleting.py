"""Runs that go into the system's trash."""

import os
from pathlib import Path

import psutil
import pytest
from tests.gui import recorded

from diffusionforce.errors import RunFolderError
from diffusionforce.runs import deleting
from diffusionforce.runs.deleting import contents_of, delete_run


@pytest.fixture
def trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trash of its own."""
    place = tmp_path / "trash"
    place.mkdir()

    def move(path: str) -> None:
        Path(path).rename(place / Path(path).name)

    monkeypatch.setattr(deleting, "send2trash", move)
    return place


def test_a_run_goes_into_the_trash_whole(tmp_path: Path, trash: Path) -> None:
    folder = recorded.run_folder(tmp_path / "run", end="done")
    found = contents_of(folder.root)
    assert found.num_loras == len(list(folder.checkpoints_dir.glob("*.safetensors"))) > 0
    assert found.size_bytes == sum(path.stat().st_size for path in folder.root.rglob("*") if path.is_file())
    delete_run(folder.root)
    assert not folder.root.exists()
    assert contents_of(trash / "run") == found


def test_a_run_that_goes_on_stays(tmp_path: Path, trash: Path) -> None:
    folder = recorded.run_folder(tmp_path / "run", end="done")
    alive = {"state": "running", "pid": os.getpid(), "process_started_s": psutil.Process().create_time()}
    folder.write_state(folder.read_state().model_copy(update=alive))
    with pytest.raises(RunFolderError, match="still being trained"):
        delete_run(folder.root)
    assert folder.state_path.is_file()
    assert not list(trash.iterdir())


def test_a_folder_that_is_no_run_is_not_deleted(tmp_path: Path, trash: Path) -> None:
    (tmp_path / "pictures").mkdir()
    with pytest.raises(RunFolderError, match="not a run folder"):
        delete_run(tmp_path / "pictures")
    assert not list(trash.iterdir())


def test_a_system_without_trash_leaves_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise OSError("no trash here")

    monkeypatch.setattr(deleting, "send2trash", refuse)
    folder = recorded.run_folder(tmp_path / "run", end="done")
    with pytest.raises(RunFolderError, match="does not take") as caught:
        delete_run(folder.root)
    assert caught.value.detail == "no trash here"
    assert folder.state_path.is_file()


def test_a_run_with_a_damaged_state_can_be_deleted(tmp_path: Path, trash: Path) -> None:
    folder = recorded.run_folder(tmp_path / "run", end="done")
    folder.state_path.write_bytes(b"{")
    delete_run(folder.root)
    assert [path.name for path in trash.iterdir()] == ["run"]
