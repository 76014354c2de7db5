"""The process that makes one forecast after another, and stays ready for the next one.

It is there only while somebody looks at forecasts: hidden pages close it, and so do minutes without a choice.
That gives its RAM back, and leaves no files open that the set-up of an environment replaces. It lets go of a job that
is not wanted any more; where it does not, it is ended.
"""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from diffusionforce.gui.answer_child import AnswerChild
from diffusionforce.gui.model.standby_book import StandbyBook
from diffusionforce.wire import child_environment, forecast_command, forecast_request
from diffusionforce.wire.interpreter import STAMP_NAME, environment_dir, is_environment_needed

IDLE_S = 150.0
LET_GO_S = 3.0
"""How long it may take to let go of a job; what it does meanwhile looks now and then whether it is still wanted."""


def may_stand_by() -> bool:
    """Return whether such a process can forecast anything: not while no environment for training is there."""
    return not is_environment_needed()


def standby_command() -> list[str]:
    """Return the command line of the process."""
    return forecast_command(None)


class Standby(QObject):
    """Such a process, started with the first job that is given to it.

    `answered` brings what it answered to the newest job; `lost` says that no answer to that will come.
    """

    answered = Signal(bytes)
    lost = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._child: AnswerChild | None = None
        self._book = StandbyBook()
        self._origin: object = None
        self._idle = self._timer(IDLE_S, self.close)
        self._patience = self._timer(LET_GO_S, self._give_way)
        # Whoever replaces the environment, in a terminal for example, takes its stamp away first.
        self._stamps = QFileSystemWatcher(self)
        self._stamps.fileChanged.connect(lambda _path: self._give_way())

    def _timer(self, limit_s: float, do: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(int(limit_s * 1000))
        timer.timeout.connect(do)
        return timer

    @property
    def is_there(self) -> bool:
        """Whether the process is there."""
        return self._child is not None

    def ask(self, job_file: Path) -> bool:
        """Have a job forecast instead of the former one; tells whether that is being done.

        Args:
            job_file: The job, which stays until it is answered or given up.
        """
        child = self._present()
        if child is None:
            return False
        self._book.ask()
        self._idle.stop()
        child.write(forecast_request(job_file))
        if self._book.is_held_up:
            self._patience.start()
        return True

    def prepare(self) -> None:
        """Have the process there before there is a job."""
        if self._present() is not None and not self._book.is_wanted:
            self._idle.start()

    def give_up(self) -> None:
        """Want no answer to what was asked."""
        self._patience.stop()
        if self._book.give_up() and self._child is not None:
            self._child.write(forecast_request(None))
            self._idle.start()

    def close(self) -> None:
        """End the process, which comes at once; no answer comes. The next job starts another."""
        self._idle.stop()
        self._patience.stop()
        if self._stamps.files():
            self._stamps.removePaths(self._stamps.files())
        child, self._child = self._child, None
        self._book = StandbyBook()
        if child is not None:
            child.cancel()
            child.deleteLater()

    def _present(self) -> AnswerChild | None:
        """The process, begun if need be; one that was begun for other variables or another Python is ended."""
        may_be, origin = may_stand_by(), (standby_command(), child_environment())
        if not may_be or origin != self._origin:
            self.close()
        if self._child is None and may_be:
            self._origin = origin
            child = self._child = AnswerChild(self, what="the forecast")
            child.said.connect(self._on_line)
            child.answered.connect(self._on_end)
            child.run(origin[0])
            if self._stamp.exists():
                self._stamps.addPath(str(self._stamp))
        return self._child

    @property
    def _stamp(self) -> Path:
        return environment_dir() / STAMP_NAME

    def _on_line(self, line: bytes) -> None:
        counts = self._book.take_answer()
        if not self._book.is_held_up:
            self._patience.stop()
        if counts:
            self._idle.start()
            self.answered.emit(line)

    def _on_end(self, _answer: object) -> None:
        self._give_way()

    def _give_way(self) -> None:
        """End the process; what is wanted is for another to do."""
        is_wanted = self._book.is_wanted
        self.close()
        if is_wanted:
            self.lost.emit()
