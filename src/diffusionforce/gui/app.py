"""The window as a program: `diffusionforce gui [--run DIR]`."""

import gc
import logging
import os
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from diffusionforce.desktop.taskbar import set_app_id
from diffusionforce.errors import UserError
from diffusionforce.gui import background, places, theme
from diffusionforce.gui.model import first_run, hub_token, language
from diffusionforce.gui.model.crash_notes import CrashNotes
from diffusionforce.gui.preferences import STEPS_SEEN_KEY, TOKEN_KEPT_KEY, Preferences
from diffusionforce.gui.shell import Window
from diffusionforce.gui.single_window import SingleWindow, come_to_front
from diffusionforce.runs import RunFolder, data_dir, list_runs, runs_root

SWITCH_INTERVAL_S = 0.0002
LOAD_REST_MS = 2000
"""After the start, when a first look at the machine and the dataset is over."""

log = logging.getLogger(__name__)


def main(run: Path | None = None) -> int:
    """Open the window and stay until it is closed.

    Args:
        run: A run folder to open: followed while its run goes on, shown when it is over. None opens the run that
            goes on now, or else what was in sight when the last window was closed.

    Returns:
        The exit code.
    """
    started_s = time.perf_counter()
    gc.disable()
    set_app_id()
    app = application()
    single = SingleWindow(data_dir())
    if not single.begin() and single.hand_over(run):
        # With the run that we were given. Whoever typed the command learns why no second window came.
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] - a program without a console.
            sys.stdout.write("The window is open already; it has come to the front.\n")
        return 0
    preferences = Preferences()
    theme.apply(app, preferences.theme)
    theme.follow_system(app)
    language.use(preferences.language)
    notes = CrashNotes()
    crashed = notes.begin()
    run = run or running_run() or last_run(preferences)
    window = Window(preferences, place="run" if run is not None else first_place(preferences))
    sys.excepthook = _show_bug
    single.asked.connect(lambda folder: _come_forward(window, folder))
    window.show()
    if crashed is not None:
        window.reports.tell_crash(crashed)
    if preferences.text(TOKEN_KEPT_KEY):
        # The key store may take its time, or ask for a password.
        background.run(window, hub_token.look, done=lambda _state: None, failed=lambda _error: None)
    if run is not None:
        window.open_run(run.absolute())
    # What a start makes stays for good: the collector need not look through it again and again.
    gc.freeze()
    gc.enable()
    QTimer.singleShot(0, window, lambda: QTimer.singleShot(LOAD_REST_MS, window, lambda: _load_rest(window)))
    QTimer.singleShot(0, window, lambda: log.info("Window shown after %.2f s", time.perf_counter() - started_s))
    code = app.exec()
    background.finish(2.0)
    notes.end()
    single.end()
    if window.closing.leaves_run:
        # Destroying a QProcess kills its process; only a hard exit lets the training go on.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def first_place(preferences: Preferences) -> str:
    """Return the place to open: the first steps for somebody new, else where the last window was closed."""
    is_new = not preferences.text(STEPS_SEEN_KEY) and first_run.is_first_start()
    return "welcome" if is_new else preferences.place if places.is_lasting(preferences.place) else "run"


def last_run(preferences: Preferences) -> Path | None:
    """Return the run that was in sight when the last window was closed; None where none was, or it is gone."""
    run = preferences.run
    return run if run is not None and RunFolder(run).state_path.is_file() else None


def running_run() -> Path | None:
    """Return the newest run that goes on now, for example one that an earlier window left in the background."""
    for folder in list_runs(runs_root()):
        try:
            if folder.reconciled_state().state == "running":
                return folder.root
        except UserError:
            continue
    return None


def application() -> QApplication:
    """Return the Qt application, with fonts and focus tracking in place."""
    existing = QApplication.instance()
    app = existing if isinstance(existing, QApplication) else QApplication(["DiffusionForce"])
    app.setApplicationName("DiffusionForce")
    app.setApplicationDisplayName("DiffusionForce")
    app.setDesktopFileName("diffusionforce")
    theme.load_fonts()
    # Threads that work must give the interpreter back to painting sooner than after the usual 5 ms.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    return app


def _load_rest(window: Window) -> None:
    """Load the code of the places that were not opened yet, on a thread, and build what the next run is shown in."""
    background.run(
        window, places.load, done=lambda _: window.prepare_run(), failed=lambda error: log.warning(error.detail)
    )


def _come_forward(window: Window, folder: str) -> None:
    """Bring the window to the front, because the program was started again."""
    come_to_front(window)
    if folder:
        window.open_run(Path(folder))


def _show_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Log an exception that reached Qt; the window stays open, because a training may depend on it."""
    log.error("An unexpected error in the window:\n%s", "".join(traceback.format_exception(kind, error, trace)))
