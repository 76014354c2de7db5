"""Notices that a trainer is held up by one call that keeps everything else in it waiting.

A library that keeps Python's lock silences all threads of the trainer: those that send records, that copy the log, and
that would tell of a stall. Only the interpreter's own timer still runs, and writes where every thread is to the log. So
the window, which hears nothing for a while, looks there for itself.
"""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from diffusionforce.gui import background
from diffusionforce.runs.log import size_of, was_held_up

LOOK_MS = 10_000
SILENT_MS = 60_000
"""How long nothing has to have been heard before the log is looked at."""


class LockWatch(QObject):
    """Watches one run.

    Args:
        log_path: Gives the run's log as of now.
        parent: Owner.
    """

    found = Signal()

    def __init__(self, log_path: Callable[[], Path], parent: QObject) -> None:
        super().__init__(parent)
        self.is_held_up = False
        """Whether it was found, and nothing has been heard since."""
        self._log_path = log_path
        self._heard = QElapsedTimer()
        self._log_bytes = 0
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self._look)

    def start(self) -> None:
        """Begin to watch."""
        self._heard.start()
        self._timer.start()

    def stop(self) -> None:
        """Stop watching."""
        self._timer.stop()

    def note_life(self) -> bool:
        """Take in that something was heard; tells whether the run had been held up until then."""
        was, self.is_held_up = self.is_held_up, False
        self._heard.start()
        return was

    def _look(self) -> None:
        path = self._log_path()
        silent_ms = self._heard.elapsed()
        if silent_ms < SILENT_MS // 2:
            # What stands there by now tells of other times; the interpreter takes as long as we do.
            background.run(self, lambda: size_of(path), done=self._note_size, failed=lambda _error: None)
        elif silent_ms >= SILENT_MS and not self.is_held_up:
            at = self._log_bytes
            background.run(self, lambda: was_held_up(path, at=at), done=self._on_looked, failed=lambda _error: None)

    def _note_size(self, size_bytes: int) -> None:
        self._log_bytes = size_bytes

    def _on_looked(self, found: bool) -> None:
        if found and not self.is_held_up and self._heard.elapsed() >= SILENT_MS and self._timer.isActive():
            self.is_held_up = True
            self.found.emit()
