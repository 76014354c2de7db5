"""Has the training environment looked at, built, checked and repaired by a child process, one thing at a time.

The child is `diffusionforce env`, in the window's own Python. It ends what it does when its input is closed: when the
user cancels, and when the window is gone, however that went.
"""

from collections import deque
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication

from diffusionforce.environment.application import find_application
from diffusionforce.environment.plan import plan_environment
from diffusionforce.environment.verification import look
from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.answer_child import AnswerChild
from diffusionforce.gui.model.environment_view import Action, EnvironmentView
from diffusionforce.rig import read_cards
from diffusionforce.wire import Failed, own_command
from diffusionforce.wire.environment import (
    EnvironmentLine,
    EnvironmentPlan,
    EnvironmentProgress,
    EnvironmentStatus,
    read_environment_record,
)
from diffusionforce.wire.interpreter import is_environment_needed, is_from_checkout

MAX_LINES = 2000
STOP_WAIT_MS = 8000
AUTO = "auto"


def environment_command(action: Action, *options: str) -> list[str]:
    """Return the command line of the child."""
    return own_command("diffusionforce.cli", "env", action, "--json", "--stop-with-input", *options)


class EnvironmentDesk(QObject):
    """Knows the state of the environment.

    Attributes:
        view: What is known of it.
        lines: What was said in the last attempt.
        backend: The build that the user has chosen, or `auto`.
        wheels: The folder to install from; None downloads.
    """

    changed = Signal()
    line_said = Signal(str)
    settled = Signal()
    """It was built or removed: whether anything can be trained has changed."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.view = EnvironmentView(is_ours=self.is_ours)
        self.lines: deque[str] = deque(maxlen=MAX_LINES)
        self.backend = AUTO
        self.wheels: Path | None = None
        self._child: AnswerChild | None = None
        self._num_looks = 0
        quitting = QApplication.instance()
        assert quitting is not None
        quitting.aboutToQuit.connect(self.close)

    @property
    def is_needed(self) -> bool:
        """Whether nothing can be trained before it is built."""
        return is_environment_needed()

    @property
    def is_ours(self) -> bool:
        """Whether this application trains in such an environment at all: a source checkout has its own."""
        return not is_from_checkout()

    def told(self) -> str:
        """Return all that was said in the last attempt, what it came to first, for whoever is asked for help."""
        problem = self.view.problem
        return "\n".join([*((problem.sentence, problem.hint, "") if problem is not None else ()), *self.lines])

    def look(self) -> None:
        """Look how it stands, and what would be built; that asks the driver, so not on the window's thread."""
        if self._child is not None:
            return
        self._num_looks += 1
        number, backend, wheels = self._num_looks, self.backend, self.wheels
        background.run(
            self,
            lambda: _found(backend, wheels),
            done=lambda found: self._on_found(number, *found),
            failed=lambda error: self._show(replace(self.view, phase="idle", plan_problem=error)),
        )

    def choose(self, backend: str) -> None:
        """Take another build."""
        if backend != self.backend:
            self.backend = backend
            self.look()

    def use_wheels(self, folder: Path | None) -> None:
        """Install from a folder of wheels; None downloads."""
        self.wheels = folder
        self.look()

    def start(self, action: Action) -> None:
        """Have something done. What is being done already goes on."""
        if self._child is not None:
            return
        self.lines.clear()
        child = self._child = AnswerChild(self, what="the set-up")
        child.said.connect(self._take)
        child.answered.connect(self._on_answered)
        self._show(replace(self.view, phase="running", action=action, problem=None, progress=None))
        builds = action in {"create", "repair"}
        options = [f"--backend={self.backend}"] if builds else []
        options += [f"--wheels={self.wheels}"] if builds and self.wheels is not None else []
        child.run(environment_command(action, *options))

    def cancel(self) -> None:
        """Give up what is being done. What was done so far is kept for the next time."""
        if self._child is not None and self.view.phase == "running":
            self._child.end_input()
            self._show(replace(self.view, phase="stopping"))
            # One that does not listen any more is ended; the timer goes with it.
            QTimer.singleShot(STOP_WAIT_MS, self._child, self._end_by_force)

    def _end_by_force(self) -> None:
        if self._child is not None:
            self._child.cancel()
            self._on_answered(b"")

    def close(self) -> None:
        """End what is being done, because the window goes."""
        child, self._child = self._child, None
        if child is not None:
            child.blockSignals(True)
            child.end_input()
            child.wait(STOP_WAIT_MS // 4)
            child.cancel()

    def _take(self, line: bytes) -> None:
        try:
            record = read_environment_record(line)
        except ValueError:
            return
        match record:
            case EnvironmentProgress():
                self._show(replace(self.view, progress=record))
            case EnvironmentPlan():
                self._show(replace(self.view, plan=record, plan_problem=None))
            case EnvironmentLine():
                self.lines.append(record.text)
                self.line_said.emit(record.text)
            case EnvironmentStatus():
                self._show(replace(self.view, status=record))
            case Failed():
                problem = UserError(record.sentence, hint=record.hint, detail=record.detail)
                self._show(replace(self.view, problem=problem))

    def _on_answered(self, answer: bytes | UserError) -> None:
        if self._child is not None:
            self._child.deleteLater()
            self._child = None
        problem = answer if isinstance(answer, UserError) else self.view.problem
        self._show(replace(self.view, phase="idle", problem=problem))
        if self.view.status is not None and self.view.status.outcome in {"built", "repaired", "removed"}:
            self.settled.emit()
        self.look()

    def _on_found(self, number: int, status: EnvironmentStatus, plan: EnvironmentPlan | UserError) -> None:
        if number != self._num_looks or self._child is not None:
            return  # Asked anew meanwhile.
        # What a check has found is more than the look of an eye finds.
        known = self.view.status
        if known is not None and known.state == "damaged" and status.state == "ready":
            status = known
        problem = plan if isinstance(plan, UserError) else None
        made = None if isinstance(plan, UserError) else plan
        self._show(replace(self.view, phase="idle", status=status, plan=made, plan_problem=problem))

    def _show(self, view: EnvironmentView) -> None:
        self.view = view
        self.changed.emit()


def _found(backend: str, wheels: Path | None) -> tuple[EnvironmentStatus, EnvironmentPlan | UserError]:
    application = find_application()
    status = look()
    try:
        return status, plan_environment(application, cards=read_cards(), backend=backend, wheels=wheels).told()
    except UserError as problem:
        return status, problem
