"""Reads the runs on disk for the history, on a thread: when asked to, and every few seconds while somebody watches."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model import history
from diffusionforce.gui.model.history import PastRun
from diffusionforce.runs import runs_root

LOOK_EVERY_MS = 3000
"""How often it is looked for runs that were started or have ended elsewhere."""


class HistoryReader(QObject):
    """Knows the runs there are.

    Attributes:
        past: The runs, the newest first, as they were read last.
        is_read: Whether they were read at all.
    """

    read = Signal()
    """The runs were read, or are others than before."""
    moved = Signal()
    """Runs that go on elsewhere have come farther; nothing else has changed."""

    def __init__(self, *, is_held: Callable[[], bool], parent: QObject | None = None) -> None:
        """Begin without runs.

        Args:
            is_held: Whether nothing may change in sight: a menu is open, or something else is looked at.
            parent: Owner.
        """
        super().__init__(parent)
        self._is_held = is_held
        self.past: list[PastRun] = []
        self.is_read = self._is_reading = False
        self._looks = QTimer(self, interval=LOOK_EVERY_MS)
        self._looks.timeout.connect(self._look)

    def watch(self, watched: bool) -> None:
        """Look at the runs every few seconds from now on, or no more."""
        if watched:
            self._looks.start()
        else:
            self._looks.stop()

    def again(self) -> None:
        """Read the runs, and tell of them whether or not they have changed."""
        self._read(told=True)

    def _look(self) -> None:
        if not self._is_reading and not self._is_held():
            self._read(told=False)

    def _read(self, *, told: bool) -> None:
        root, known = runs_root(), tuple(self.past)
        self._is_reading = True
        background.run(
            self,
            lambda: history.read_history(root, known),
            done=lambda past: self._take(past, told=told),
            failed=self._give_up,
        )

    def _give_up(self, _error: UserError) -> None:
        self._is_reading = False

    def _take(self, past: list[PastRun], *, told: bool) -> None:
        self._is_reading = False
        has_changed = [_without_step(run) for run in past] != [_without_step(run) for run in self.past]
        if has_changed and not told and self._is_held():
            return  # It is found again at the next look.
        self.past, self.is_read = past, True
        (self.read if told or has_changed else self.moved).emit()


def _without_step(run: PastRun) -> PastRun:
    """Return a run as it looks in the list, except for how far it is while it goes on."""
    return replace(run, state=run.state.model_copy(update={"step": 0, "num_samples": 0})) if run.is_going else run
