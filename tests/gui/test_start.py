"""How long a start of the window takes, from the first line of Python to the first picture of it on the screen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gui import recorded

from diffusionforce.gui.preferences import STEPS_SEEN_KEY, Preferences

MOST_BARE_WINDOWS = 9
"""The limit of a start, in starts of a bare Qt window on the same machine, which takes 0.13 s of a free core.

On two free cores ours takes 5 of them. Other programs lengthen both, but ours, which touches more memory, by half
as much again: seconds alone would tell how busy the machine is.
"""
NOT_AT_ONCE = ("torch", "numpy", "PIL", "av", "rich")
"""What a start needs not, or only after the first picture."""
NUM_TRIES = 3

BARE_WINDOW = """
import sys, time
from PySide6.QtWidgets import QApplication, QWidget
app = QApplication([])
window = QWidget()
window.show()
app.processEvents()
sys.stdout.write(f"{time.process_time():.3f}")
"""

START = """
import sys, time
from diffusionforce import cli
from diffusionforce.cli import window as command
def timed(Window):
    from PySide6.QtCore import QEvent, QTimer
    class Timed(Window):
        painted = False
        def event(self, event):
            result = super().event(event)
            if event.type() == QEvent.Type.UpdateRequest and not self.painted:
                self.painted = True
                self.tell()
                QTimer.singleShot(0, self, self.close)
            return result
        def tell(self):
            heavy = [name for name in NOT_AT_ONCE if name in sys.modules]
            page = type(self.places.currentWidget()).__name__
            sys.stdout.write(f"{time.process_time():.3f} {time.perf_counter() - begun:.3f} {page} {','.join(heavy)}")
            sys.stdout.flush()
    return Timed
def loaded(name):
    module = cli.loaded(name)
    if name == "diffusionforce.gui.app":
        module.Window = timed(module.Window)
    return module
command.loaded = loaded
sys.exit(cli.main(["gui"]))
"""


def run_python(code: str) -> str:
    """Run a program whose modules are compiled, as those of an installed one are; return what it says."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def bare_window_s() -> float:
    """Return the processor's seconds until an empty window of Qt's is on the screen."""
    return float(run_python(BARE_WINDOW))


def start() -> tuple[float, float, str, str]:
    """Open the window; return processor seconds, seconds by the clock, the page shown, and what was loaded in vain."""
    code = f"import time; begun = time.perf_counter()\nNOT_AT_ONCE = {NOT_AT_ONCE}\n{START}"
    processor, clock, page, heavy = run_python(code).split(" ")
    return float(processor), float(clock), page, heavy


@pytest.mark.parametrize("kind", ["somebody new", "plan", "run"])
def test_the_window_is_there_in_a_second(kind: str, home: Path):
    if kind == "run":
        recorded.run_folder(home / "runs" / "a", upto=120)
    elif kind == "plan":
        preferences = Preferences(home / "window.ini")
        preferences.set_text(STEPS_SEEN_KEY, "seen")
        preferences.save()
    tries = [(*start(), bare_window_s()) for _ in range(NUM_TRIES)]
    processor, clock, page, heavy, _ = min(tries)
    bare = min(seconds for *_, seconds in tries)
    words = f"A start of the window ({kind}) takes {processor:.2f} s of the processor, {clock:.2f} s by the clock"
    words += f"; that of a bare one {bare:.2f} s"
    print(words)  # noqa: T201 - the measurement is for people, too.
    assert page == {"somebody new": "WelcomePage", "plan": "RunPlace", "run": "RunPlace"}[kind]
    assert heavy == "", "nothing of the start needs these"
    assert processor < MOST_BARE_WINDOWS * bare
    assert os.environ["QT_QPA_PLATFORM"] == "offscreen"


def test_no_file_is_searched_for_the_names_that_qt_could_have():
    # Three hundred files were read again at each start, which took a tenth of it.
    code = """
from diffusionforce.gui import feature_scan
feature_scan.switch_off()
import linecache
import diffusionforce.gui.app
print([name for name in linecache.cache if "diffusionforce" in name])
"""
    assert run_python(code).strip() == "[]"
