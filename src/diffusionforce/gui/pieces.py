"""Building what takes long a piece at a time, between the turns of the event loop.

A place of the window is made of a hundred widgets and more, and all of them at once take longer than anybody should
wait for a window that does not answer. So whatever is large is written as a generator that builds a piece and yields,
and is called again and again until it is through: whatever the user does meanwhile comes in between. It may yield
`IN_SIGHT` once, when what is left is not to be seen at first.
"""

import time
from collections.abc import Callable, Iterator

from PySide6.QtCore import QObject, QTimer, Signal

IN_SIGHT = True
BUILD_S = 0.008
"""For building within one turn of the event loop; placing and painting what was built takes about as long again."""


class Pieces(QObject):
    """Runs through a generator between the turns of the event loop."""

    turned = Signal()
    """Some more of it is there."""

    finished = Signal()
    """All of it is there."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._rest: Iterator[bool | None] | None = None
        self._is_at_work = False
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self.go_on)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be built."""
        return self._rest is None

    def start(self, pieces: Iterator[bool | None]) -> None:
        """Build this from the next turn on, instead of whatever was being built."""
        self._rest = pieces
        self._timer.start()

    def go_on(self) -> None:
        """Build a few pieces."""
        end_s = time.perf_counter() + BUILD_S
        self._build(lambda _is_in_sight: time.perf_counter() > end_s)

    def finish_sight(self) -> None:
        """Build at once all that is in sight at first."""
        self._build(lambda is_in_sight: is_in_sight)

    def finish(self) -> None:
        """Build at once all that is left, for somebody who needs it now."""
        self._build(lambda _is_in_sight: False)

    def _build(self, is_enough: Callable[[bool], bool]) -> None:
        if self._rest is None or self._is_at_work:
            return
        self._is_at_work, pieces = True, self._rest
        try:
            for is_in_sight in pieces:
                if is_enough(bool(is_in_sight)):
                    break
            else:
                self._end(pieces)
        finally:
            self._is_at_work = False
        self.turned.emit()
        if self._rest is None:
            self.finished.emit()

    def _end(self, pieces: Iterator[bool | None]) -> None:
        if self._rest is pieces:  # It may have started something else.
            self._rest = None
            self._timer.stop()
