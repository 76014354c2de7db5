"""Drive the real window under the installed Python: set the training environment up, train the demo, look at the end.

`python.exe -I -X utf8 drive_window.py FOLDER STEPS PROMPTS`: pictures of the window and `driven.json` come into the
folder. With 0 STEPS the demo is trained as it is. Clicks go to the buttons that a user would press.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QPushButton

from diffusionforce.gui import app
from diffusionforce.gui.model import first_run
from diffusionforce.gui.pages.welcome import WelcomePage
from diffusionforce.gui.shell import Window
from diffusionforce.job import Job, changed

TICK_MS = 200
SETTLING_S = 3.0
Deed = tuple[str, Callable[[], bool], float]
"""What is waited for: in words, how to know, and for how many seconds at most."""


def main() -> int:
    """Open the window, and drive it while it is open."""
    folder, num_steps, num_prompts = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    whole = first_run.demo_job
    first_run.demo_job = lambda: shortened(whole(), num_steps=num_steps, num_prompts=num_prompts)
    app.application()
    drive = Drive(folder)
    QTimer.singleShot(TICK_MS, drive.begin)
    return app.main()


def shortened(job: Job, *, num_steps: int, num_prompts: int) -> Job:
    """Return the demo with fewer steps and pictures; 0 steps leave it as it is."""
    if not num_steps:
        return job
    samples = {"samples.prompts": job.profile.samples.prompts[:num_prompts], "samples.every_steps": num_steps}
    steps = {"training.steps": num_steps, "training.warmup_steps": 0, "checkpoints.every_steps": num_steps}
    return job.model_copy(update={"profile": changed(job.profile, samples | steps, origin="wine")})


class Drive:
    """Goes through deeds, one after the other, and leaves when it is through or one does not happen.

    Args:
        folder: For pictures and the record.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._record: dict[str, object] = {}
        self._deeds = deeds(self._grab, self._record)
        self._deed: Deed | None = None
        self._since_s = time.monotonic()
        self._timer = QTimer()
        self._timer.timeout.connect(self._tick)

    def begin(self) -> None:
        """Begin with the first deed."""
        self._timer.start(TICK_MS)

    def _tick(self) -> None:
        waited_s = time.monotonic() - self._since_s
        if self._deed is not None:
            words, is_done, limit_s = self._deed
            if not is_done():
                if waited_s > limit_s:
                    self._grab("trouble")
                    self._leave(f"waited {limit_s:.0f} s for: {words}")
                return
            self._record[words] = round(waited_s, 1)
        self._since_s = time.monotonic()
        self._deed = next(self._deeds, None)
        if self._deed is None:
            self._leave("")

    def _grab(self, name: str) -> None:
        for window in windows():
            window.grab().save(str(self._folder / f"{name}.png"))

    def _leave(self, problem: str) -> None:
        self._timer.stop()
        self._record["problem"] = problem
        (self._folder / "driven.json").write_text(json.dumps(self._record), encoding="utf-8")
        if problem:
            os._exit(1)
        for window in windows():
            window.close()
        QApplication.quit()


def windows() -> list[Window]:
    """Return the window, once it is there."""
    return [widget for widget in QApplication.topLevelWidgets() if isinstance(widget, Window)]


def deeds(grab: Callable[[str], None], record: dict[str, object]) -> Generator[Deed, None, None]:
    """What a user does from the first start to the trained demo.

    Args:
        grab: Keeps a picture of the window.
        record: What is found out.
    """
    yield "the window is there", lambda: any(window.isVisible() for window in windows()), 60
    (window,) = windows()
    page = window.place("welcome")
    assert isinstance(page, WelcomePage)
    desk = window.environment
    if desk.is_needed:
        setup = page.rig.setup
        yield "the environment can be set up", lambda: can_press(setup.start), 120
        yield from settled(grab, "1-before-set-up")
        press(setup.start)
        yield "the environment is being set up", lambda: desk.view.is_busy, 60
        yield "some of it is there", lambda: desk.view.progress is not None and desk.view.progress.step != "venv", 300
        yield from settled(grab, "2-set-up-goes-on")
        yield "the environment is set up", lambda: not desk.view.is_busy, 1800
        yield from settled(grab, "3-set-up")
        record["environment"] = desk.view.state
        if desk.is_needed:
            raise RuntimeError(f"The environment is {desk.view.state}: {desk.view.problem}")
    press(page.next)
    yield "the demo can be started", lambda: can_press(page.demo.start), 60
    press(page.demo.start)
    yield "the demo has begun", lambda: page.demo.session is not None, 60
    session = page.demo.session
    assert session is not None
    yield "the demo trains", lambda: session.model.step > 0 or session.is_over, 1800
    yield from settled(grab, "4-demo-trains")
    yield "the demo has ended", lambda: session.is_over, 3600
    yield "the result is shown", lambda: page.demo.slider.isVisible(), 60
    yield from settled(grab, "5-demo-trained")
    outcome = session.model.outcome
    record["outcome"] = outcome.kind if outcome is not None else ""
    record["steps"] = session.model.step
    record["run"] = str(session.root)
    press(page.demo.gallery)
    yield "the gallery is open", lambda: window.places.currentWidget() is window.gallery, 30
    yield from settled(grab, "6-gallery")


def settled(grab: Callable[[str], None], name: str) -> Generator[Deed, None, None]:
    """Keep a picture once what has just changed is laid out and painted."""
    until_s = time.monotonic() + SETTLING_S
    yield f"picture {name}", lambda: time.monotonic() > until_s, 60
    grab(name)


def can_press(button: QPushButton) -> bool:
    """Return whether a user could press a button."""
    return button.isVisible() and button.isEnabled()


def press(button: QPushButton) -> None:
    """Press a button as the space bar does."""
    button.setFocus(Qt.FocusReason.TabFocusReason)
    button.click()


if __name__ == "__main__":
    sys.exit(main())
