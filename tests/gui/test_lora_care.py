"""LoRA files that get another name in the gallery, or go to the trash."""

import os
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.gui import recorded

from diffusionforce.gui.pages.gallery_files import LoraBox, LoraFilesCard
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.runs import RunFolder

WAIT_MS = 20_000


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the system's trash was given."""
    found: list[str] = []
    monkeypatch.setattr("diffusionforce.runs.deleting.send2trash", found.append)
    return found


@pytest.fixture
def files(window: Window, qtbot: QtBot, tmp_path: Path) -> LoraFilesCard:
    """The files of a finished run, in sight."""
    window.open_run(recorded.run_folder(tmp_path / "run", end="done").root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    window.go("gallery")
    qtbot.waitUntil(lambda: len(window.gallery.files.boxes) > 1, timeout=WAIT_MS)
    qtbot.waitUntil(window.gallery.files.isVisible, timeout=WAIT_MS)
    return window.gallery.files


def type_name(qtbot: QtBot, box: LoraBox, name: str) -> None:
    box.actions_by_words["Rename"].trigger()
    assert box.line.isVisible() and box.line.selectedText() == box.path.stem
    qtbot.keyClicks(box.line, name)
    qtbot.keyClick(box.line, Qt.Key.Key_Return)


def said(box: LoraBox) -> str:
    return " ".join(label.text() for label in box.findChildren(Label))


def test_a_file_gets_another_name_and_its_own_again(window: Window, files: LoraFilesCard, qtbot: QtBot):
    box = files.boxes[0]
    before, content = box.path, box.path.read_bytes()
    type_name(qtbot, box, "red fox")
    qtbot.waitUntil(lambda: files.boxes[0].path.name == "red fox.safetensors", timeout=WAIT_MS)
    assert files.boxes[0].path.read_bytes() == content and not before.exists()
    assert "red fox" in said(files.boxes[0])
    window.gallery.toasts.act()
    qtbot.waitUntil(lambda: files.boxes[0].path == before, timeout=WAIT_MS)
    assert before.read_bytes() == content


@pytest.mark.parametrize("name", ["a?b", "taken"])
def test_a_name_that_cannot_be_is_refused_in_its_box(files: LoraFilesCard, qtbot: QtBot, name: str):
    box = files.boxes[0]
    (box.path.parent / "taken.safetensors").write_bytes(b"")
    type_name(qtbot, box, name)
    sentence = "A name cannot hold ?." if name == "a?b" else "There is another file called taken.safetensors."
    qtbot.waitUntil(lambda: sentence in said(box), timeout=WAIT_MS)
    assert box.path.is_file() and files.boxes[0] is box


def test_escape_leaves_the_name_as_it_was(files: LoraFilesCard, qtbot: QtBot):
    box = files.boxes[0]
    box.actions_by_words["Rename"].trigger()
    qtbot.keyClicks(box.line, "other")
    qtbot.keyClick(box.line, Qt.Key.Key_Escape)
    assert not box.line.isVisible() and box.path.is_file()


def test_a_file_goes_to_the_trash_when_the_message_has_left(
    window: Window, files: LoraFilesCard, qtbot: QtBot, moved: list[str]
):
    number, path = len(files.boxes), files.boxes[1].path
    files.boxes[1].actions_by_words["Delete"].trigger()
    qtbot.waitUntil(lambda: len(files.boxes) == number - 1, timeout=WAIT_MS)
    assert path.is_file() and not moved, "it can still be brought back"
    window.gallery.toasts.shown[-1].dismiss.click()
    qtbot.waitUntil(lambda: moved == [str(path)], timeout=WAIT_MS)


def test_a_deleted_file_is_brought_back(window: Window, files: LoraFilesCard, qtbot: QtBot, moved: list[str]):
    number, path = len(files.boxes), files.boxes[1].path
    files.boxes[1].actions_by_words["Delete"].trigger()
    qtbot.waitUntil(lambda: len(files.boxes) == number - 1, timeout=WAIT_MS)
    qtbot.keyClick(window.gallery, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: [box.path for box in files.boxes][1:2] == [path], timeout=WAIT_MS)
    qtbot.wait(50)
    assert path.is_file() and not moved


def test_a_finished_run_without_files_says_where_they_went(
    window: Window, files: LoraFilesCard, qtbot: QtBot, moved: list[str]
):
    # Symptom: of a run that had ended long ago it said that its first file is written at the next save.
    for number in range(len(files.boxes), 0, -1):
        files.boxes[0].actions_by_words["Delete"].trigger()
        qtbot.waitUntil(lambda number=number: len(files.boxes) == number - 1, timeout=WAIT_MS)
    told = " ".join(label.text() for label in files.findChildren(Label))
    assert "no LoRA files any more" in told and "trash of the system" in told and "None yet" not in told


def test_a_run_that_ended_early_says_that_it_wrote_no_file(window: Window, qtbot: QtBot, tmp_path: Path):
    window.open_run(recorded.run_folder(tmp_path / "run", end="failed", upto=3).root)
    window.go("gallery")
    files = window.gallery.files

    def told() -> str:
        return " ".join(label.text() for label in files.findChildren(Label))

    qtbot.waitUntil(lambda: "ended before a file was written" in told(), timeout=WAIT_MS)


def test_the_newest_file_of_a_run_that_goes_on_stays(
    window: Window, files: LoraFilesCard, qtbot: QtBot, moved: list[str]
):
    box = files.boxes[0]
    folder = RunFolder(box.path.parent.parent)
    os.utime(box.path)
    alive = {"state": "running", "pid": os.getpid(), "process_started_s": psutil.Process().create_time()}
    folder.write_state(folder.read_state().model_copy(update=alive))
    box.actions_by_words["Delete"].trigger()
    qtbot.waitUntil(lambda: "the newest file of a run that goes on" in said(box), timeout=WAIT_MS)
    assert not moved and not window.gallery.toasts.shown


def test_a_file_of_a_run_that_goes_on_says_why_it_keeps_its_name(window: Window, qtbot: QtBot, tmp_path: Path):
    window.open_run(recorded.run_folder(tmp_path / "run", end="running").root)
    window.go("gallery")
    files = window.gallery.files
    qtbot.waitUntil(lambda: bool(files.boxes), timeout=WAIT_MS)
    renaming = files.boxes[0].actions_by_words["Rename"]
    assert not renaming.isEnabled() and "as long as the run goes on" in renaming.toolTip()
    assert files.boxes[0].actions_by_words["Delete"].isEnabled()
