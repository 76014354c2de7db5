"""The queue as the window keeps it: changes it, and starts the next run when one has ended."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui.model.outcome import Outcome
from diffusionforce.job import Job
from diffusionforce.runs import QueuedRun, RunQueue, runs_root

NEW_NAME = "new"


class QueueDesk(QObject):
    """Holds the runs that wait.

    A run starts when another one ends, or when somebody asks. Nothing starts just because the window does.

    Attributes:
        is_held: Whether the next run waits although the one before it has ended.
    """

    changed = Signal()
    start_asked = Signal(object)
    removed = Signal(object, str)
    """A `QueuedRun` was taken out, and the key of the one that came after it, for `restore`."""
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue = RunQueue()
        self.is_held = False

    @property
    def runs(self) -> tuple[QueuedRun, ...]:
        """The runs that wait, the next one first."""
        return self._queue.runs

    @property
    def starts_next(self) -> bool:
        """Whether a run starts by itself as soon as another one has ended."""
        return bool(self.runs) and not self.is_held

    def add(self, job: Job) -> None:
        """Append a run. A new folder among the others gets its name, the time, when the run starts."""
        if job.run_dir.parent == runs_root():
            job = job.model_copy(update={"run_dir": runs_root() / NEW_NAME})
        self._change(lambda: self._queue.add(job))

    def remove(self, key: str) -> None:
        """Take a run out."""
        keys = [run.key for run in self.runs]
        after = keys[keys.index(key) + 1 :] if key in keys else []
        run = self._change(lambda: self._queue.remove(key))
        if isinstance(run, QueuedRun):
            self.removed.emit(run, after[0] if after else "")

    def restore(self, run: QueuedRun, before: str) -> None:
        """Put a run that was taken out where it was: before the one with that key; without one it comes last."""
        self._change(lambda: self._queue.restore(run, before=before))

    def move(self, key: str, by: int) -> None:
        """Move a run towards the head (`by` below zero) or the end."""
        self._change(lambda: self._queue.move(key, by))

    def hold(self, held: bool) -> None:
        """Let the next run wait, or not."""
        self.is_held = held
        self.changed.emit()

    def start_next(self) -> None:
        """Start the next run now."""
        self.is_held = False
        run = self._change(self._queue.take_next)
        if isinstance(run, QueuedRun):
            self.start_asked.emit(run)

    def put_back(self, run: QueuedRun) -> None:
        """Put a run that could not start at the head again, and let it wait."""
        self.is_held = True
        self._change(lambda: self._queue.put_back(run))

    def run_ended(self, outcome: Outcome) -> None:
        """Start the next run, unless the queue is held; if no trainer can start at all, none of the others could."""
        if outcome.kind == "not_started":
            self.is_held = True
            self.changed.emit()
        elif self.starts_next:
            # Not within the last words of the run that ended.
            QTimer.singleShot(0, self, self.start_next)

    def _change(self, change: Callable[[], object]) -> object:
        """Change the file and tell of it; return what the change returned, None where the disk refused."""
        try:
            result = change()
        except UserError as error:
            self.failed.emit(error)
            return None
        self.changed.emit()
        return result
