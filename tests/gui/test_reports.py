"""A report of a run out of the history, and what a window that crashed leaves for the next one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel
from tests.gui import recorded

from diffusionforce.gui.model.crash_notes import NUM_KEPT, CrashNotes
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.buttons import Button

CRASH = """
import faulthandler, sys
from pathlib import Path
from diffusionforce.gui.model.crash_notes import CrashNotes
CrashNotes(Path(sys.argv[1])).begin()
faulthandler._sigsegv()
"""


@pytest.fixture
def window(qtbot, home: Path, monkeypatch: pytest.MonkeyPatch) -> Window:
    window = Window(Preferences(home / "window.ini"))
    qtbot.addWidget(window)
    return window


def notice(window: Window) -> str:
    return " ".join(label.text() for label in window.notices.findChildren(QLabel))


def press(window: Window, text: str) -> None:
    next(button for button in window.notices.findChildren(Button) if button.text().strip() == text).click()


def test_a_report_is_shown_before_it_is_written(qtbot, window: Window, home: Path):
    folder = recorded.run_folder(home / "runs" / "a", end="failed")
    window.reports.collect(folder.root)
    qtbot.waitUntil(lambda: "job.toml" in notice(window))
    assert "are replaced" in notice(window) and not (home / "reports").exists()
    press(window, "Cancel")
    qtbot.waitUntil(lambda: notice(window) == "")
    window.reports.collect(folder.root)
    qtbot.waitUntil(lambda: "job.toml" in notice(window))
    press(window, "Save the report")
    qtbot.waitUntil(lambda: "look into it before you send it" in notice(window))
    assert len(list((home / "reports").glob("*.zip"))) == 1


def test_a_run_that_is_gone_is_said(qtbot, window: Window, home: Path):
    window.reports.collect(home / "runs" / "gone")
    qtbot.waitUntil(lambda: "is not a run folder" in notice(window))


def test_the_history_offers_it(qtbot, window: Window, home: Path):
    recorded.run_folder(home / "runs" / "a", end="failed")
    window.go("history")
    page = window.place("history")
    qtbot.waitUntil(lambda: bool(page.past_rows))  # type: ignore[attr-defined]
    asked: list[Path] = []
    page.report_asked.connect(asked.append)  # type: ignore[attr-defined]
    actions = [action for action in page.past_rows[0].menu.actions() if action.text() == "Report a problem"]  # type: ignore[attr-defined]
    actions[0].trigger()
    assert asked == [home / "runs" / "a"]


def begin_and_end(folder: Path) -> Path | None:
    notes = CrashNotes(folder)
    try:
        return notes.begin()
    finally:
        notes.end()


def test_a_window_that_crashed_is_told_of_once(tmp_path: Path):
    folder = tmp_path / "crashes"
    crashed = subprocess.run([sys.executable, "-c", CRASH, str(folder)], stderr=subprocess.PIPE, check=False)
    assert crashed.returncode != 0
    note = begin_and_end(folder)
    assert note is not None and "Segmentation fault" in note.read_text()
    assert begin_and_end(folder) is None and note.exists()


def test_a_window_that_ends_as_it_should_leaves_nothing_and_others_alone(tmp_path: Path):
    folder = tmp_path / "crashes"
    notes = CrashNotes(folder)
    assert notes.begin() is None
    (own,) = folder.iterdir()
    assert f"window-{os.getpid()}-" in own.name
    other = "import sys; from pathlib import Path; from diffusionforce.gui.model.crash_notes import CrashNotes as C"
    other += "; c = C(Path(sys.argv[1])); print(c.begin()); c.end()"
    told = subprocess.run([sys.executable, "-c", other, str(folder)], stdout=subprocess.PIPE, check=True)
    assert told.stdout.strip() == b"None" and own.exists()
    notes.end()
    assert not list(folder.iterdir())


def test_few_notes_are_kept_and_a_folder_that_is_none_does_not_matter(tmp_path: Path):
    folder = tmp_path / "crashes"
    folder.mkdir()
    for number in range(NUM_KEPT + 4):
        (folder / f"window-{99_999_000 + number}-1.txt").write_text("Fatal")
    assert begin_and_end(folder) is not None
    assert len(list(folder.iterdir())) == NUM_KEPT
    (tmp_path / "file").write_text("")
    assert begin_and_end(tmp_path / "file") is None


def test_the_crash_is_said_in_the_window(window: Window, tmp_path: Path):
    window.reports.tell_crash(tmp_path / "crashed-1.txt")
    assert "The window crashed" in notice(window) and "crashed-1.txt" in notice(window)
