"""The window as a program."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.gui import recorded

from diffusionforce.gui.app import first_place, last_run, running_run
from diffusionforce.gui.shell import Window

QUICK = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from diffusionforce.gui import app, shell
class Brief(shell.Window):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = []
        self.timer = QTimer(self, interval=700)
        self.timer.timeout.connect(self.look)
        self.timer.start()
    def look(self):
        session = self.session
        self.seen.append(f"{session.title if session else None}|{session.model.step if session else 0}")
        if self.seen.count(self.seen[-1]) == 4:  # All that there was to read has been read.
            sys.stdout.write(self.seen[-1])
            self.close()
app.Window = Brief
sys.exit(app.main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
"""


def start(*arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", QUICK, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    return result.stdout


def test_the_window_opens_on_the_run_that_it_is_given(tmp_path: Path):
    folder = recorded.run_folder(tmp_path / "my-run", end="done")
    assert start(str(folder.root)) == "my-run|300"


def test_the_window_opens_on_the_run_that_goes_on(home: Path):
    assert running_run() is None
    recorded.run_folder(home / "runs" / "a", end="done")
    recorded.run_folder(home / "runs" / "b", end="crashed")
    assert running_run() is None
    recorded.run_folder(home / "runs" / "c", upto=120)
    assert running_run() == home / "runs" / "c"
    assert start() == "c|120"


def test_the_window_opens_on_the_run_on_which_it_was_closed(tmp_path: Path):
    # Symptom: a window that was closed on a run that had failed opened on the plan of another.
    folder = recorded.run_folder(tmp_path / "my-run", end="failed", upto=20)
    assert start(str(folder.root)) == start() == "my-run|20"
    shutil.rmtree(folder.root)
    assert start() == "None|0"


def test_the_window_opens_where_it_was_closed(make_window: Callable[..., Window], tmp_path: Path, home: Path):
    recorded.run_folder(home / "runs" / "a", end="done")  # Nobody is led through the first steps any more.
    window = make_window()
    for place, kept in (("gallery", "gallery"), ("keys", "keys"), ("welcome", "run"), ("run", "run")):
        window.go(place)
        window.close()
        assert first_place(window.preferences) == kept
        assert last_run(window.preferences) is None
        window.show()
    window.preferences.remember_place("a place of another version", run=None)
    assert first_place(window.preferences) == "run"
    window.open_run(recorded.run_folder(tmp_path / "goes-on", upto=120).root)
    window.go("datasets")
    window.close()  # What became of a run that goes on without the window matters more than the place.
    assert last_run(window.preferences) == tmp_path / "goes-on"


def test_a_folder_without_a_run_opens_the_window_all_the_same(tmp_path: Path):
    assert start(str(tmp_path)) == "None|0"
    assert os.environ["QT_QPA_PLATFORM"] == "offscreen"
