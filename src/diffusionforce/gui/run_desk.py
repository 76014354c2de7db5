"""Holds the run of the window: starts runs and opens them, and knows what else trains here.

While a trainer of the window's own is at work, another run is only looked at: it does not take the place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model.elsewhere import RunElsewhere, run_elsewhere
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.session import RunSession
from diffusionforce.job import Job
from diffusionforce.runs import runs_root


@dataclass(frozen=True, kw_only=True)
class Clash:
    """A start that would have met a run which trains outside of this window.

    Attributes:
        other: That run.
        start: Starts beside it all the same.
        wait: Lets the start wait for its end; None where it cannot wait.
    """

    other: RunElsewhere
    start: Callable[[], object]
    wait: Callable[[], object] | None


class RunDesk(QObject):
    """One run at a time; another takes its place.

    Attributes:
        session: The run: the last one that was started or opened; None before the first.
        looked_at: Another run that was opened while ours trained; None where none was.
    """

    taken = Signal(object, bool)
    """A `RunSession` took the place, and whether its page is to open."""
    looked = Signal(object)
    """The `RunSession` of another run is to be looked at, while the run of the window goes on."""
    changed = Signal()
    ended = Signal()
    clashed = Signal(object)
    """The `Clash` of a start with a run that trains already: nothing was started."""
    said = Signal(str, str, str)
    """Tone, headline and text of what is in the way."""

    def __init__(self, preferences: Preferences, parent: QObject | None = None) -> None:
        """Begin without a run.

        Args:
            preferences: Say what runs do without the window.
            parent: Owner of the desk.
        """
        super().__init__(parent)
        self._preferences = preferences
        self.session: RunSession | None = None
        self.looked_at: RunSession | None = None
        self._is_asking = False

    @property
    def is_going(self) -> bool:
        """Whether the run goes on, whoever trains it."""
        return self.session is not None and not self.session.is_over

    @property
    def is_training(self) -> bool:
        """Whether a trainer of the window's own is at work."""
        return self.session is not None and self.session.is_own and not self.session.is_over

    def ask_to_start(self, start: Callable[[], object], *, wait: Callable[[], object] | None = None) -> None:
        """Start what starts a run, unless one trains outside of this window: then that is told, and nothing started.

        Args:
            start: Starts the run.
            wait: Lets the start wait for the end of the other run; None where it cannot wait.
        """
        if self._is_asking:
            return
        self._is_asking = True
        root = runs_root()

        def go_on(found: RunElsewhere | None) -> None:
            self._is_asking = False
            if found is None:
                start()
            else:
                self.clashed.emit(Clash(other=found, start=start, wait=wait))

        background.run(self, lambda: run_elsewhere(root), done=go_on, failed=lambda _error: go_on(None))

    def start(self, job: Job, *, opens: bool = True) -> RunSession | None:
        """Start a trainer; where no place for its run can be made that is told, and None returned."""
        job = job.model_copy(update={"when_alone": self._preferences.when_alone})
        try:
            session = RunSession.start(job, parent=self)
        except UserError as error:
            self.said.emit("err", error.sentence, error.hint)
            return None
        self._take(session, opens=opens)
        return session

    def open(self, path: Path) -> None:
        """Follow the run in a folder, or read one that is over; a folder that holds none is told.

        It takes the place of the run of the window, unless that is being trained by us: then it is only looked at.
        """
        try:
            session = RunSession.open(path, parent=self)
        except UserError as error:
            self.said.emit("err", error.sentence, error.hint)
            return
        if self.is_training:
            self._look_at(session)
        else:
            self._take(session, opens=True)

    def _look_at(self, session: RunSession) -> None:
        before, self.looked_at = self.looked_at, session
        self.looked.emit(session)
        if before is not None:
            before.close()
            before.deleteLater()

    def _take(self, session: RunSession, *, opens: bool) -> None:
        if self.session is not None:
            self.session.close()
            self.session.deleteLater()
        self.session = session
        session.changed.connect(self.changed)
        session.ended.connect(self.ended)
        self.taken.emit(session, opens)

    def stop(self) -> None:
        """Have our trainer save and stop, and end it by force if it does not: nobody is there any more to be asked."""
        if self.session is not None:
            self.session.stop()
            QTimer.singleShot(self.session.stop_ms, self, self._end_by_force)

    def _end_by_force(self) -> None:
        if self.session is not None and self.is_training:
            self.session.end_by_force()

    def close(self) -> None:
        """Stop listening to the run, and to the one that is looked at."""
        for session in (self.session, self.looked_at):
            if session is not None:
                session.close()
