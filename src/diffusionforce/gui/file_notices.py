"""What is said of the user's files that make no sense any more, shown in the window.

Such files are read in many places, some of them on threads. Each tells it to one log, and the window listens there.
"""

import logging
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from diffusionforce.job import kept_files


class FileNotices(QObject):
    """Passes on the warnings about files that were kept aside, for as long as it lives."""

    said = Signal(str, str)
    """Sentence and hint."""
    _heard = Signal(str)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._heard.connect(self._on_heard)  # On this object's thread, whoever warned.
        ear = _Ear(self._heard.emit)
        kept_files.log.addHandler(ear)
        self.destroyed.connect(lambda: kept_files.log.removeHandler(ear))

    def _on_heard(self, message: str) -> None:
        sentence, _, hint = message.partition("\n")
        self.said.emit(sentence, hint)


class _Ear(logging.Handler):
    """Hands on what is logged."""

    def __init__(self, hand_on: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._hand_on = hand_on

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on a message."""
        self._hand_on(record.getMessage())
