"""How long a start of the window takes, from the first line of Python to the first picture of it on the screen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gui import recorded

from diffusionforce.gui.preferences import STEPS_SEEN_KEY, Preferences

MOST_BARE_WINDOWS = 13
"""The limit of a start, in starts of a bare Qt window on the same machine, which takes 0.13 s of a free core.

On two free cores ours takes 6 to 8 of them. Other programs lengthen both, but ours, which touches more memory, by half
as much again: seconds alone would tell how busy the machine is.
"""
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
from PySide6.QtCore import QEvent, QTimer
from diffusionforce import cli
app = cli.loaded("diffusionforce.gui.app")
class Timed(app.Window):
    painted = False
    def event(self, event):
        if event.type() == QEvent.Type.UpdateRequest and not self.painted:
            self.painted = True
            QTimer.singleShot(0, self, self.tell)
        return super().event(event)
    def tell(self):
        heavy = [name for name in ("torch", "numpy", "PIL", "av") if name in sys.modules]
        page = type(self.places.currentWidget()).__name__
        sys.stdout.write(f"{time.process_time():.3f} {time.perf_counter() - begun:.3f} {page} {','.join(heavy)}")
        sys.stdout.flush()
        self.close()
app.Window = Timed
sys.exit(cli.main(["gui"]))
"""


def bare_window_s() -> float:
    """Return the processor's seconds until an empty window of Qt's is on the screen."""
    result = subprocess.run([sys.executable, "-c", BARE_WINDOW], capture_output=True, text=True, timeout=60, check=True)
    return float(result.stdout)


def start() -> tuple[float, float, str, str]:
    """Open the window; return processor seconds, seconds by the clock, the page shown, and what was loaded in vain."""
    code = f"import time; begun = time.perf_counter()\n{START}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    processor, clock, page, heavy = result.stdout.split(" ")
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
