"""Has the engine looked at, installed and verified by a child process, one thing at a time."""

from PySide6.QtCore import QObject, QProcess, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui import processes
from diffusionforce.gui.model import engine_state
from diffusionforce.gui.model.engine_state import EngineView
from diffusionforce.wire import module_command
from diffusionforce.wire.engine import EngineProgress, read_engine_record

END_WAIT_MS = 3000
_MODULE = "diffusionforce.engines.musubi.command"


def engine_command(action: str) -> list[str]:
    """Return the command line of the child: `status`, `install` or `verify`."""
    return module_command(_MODULE, action)


class EngineDesk(QObject):
    """Knows the state of the engine."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.view: EngineView = engine_state.LOOKING
        self._action = ""
        self._process: QProcess | None = None
        self._is_settled = False

    @property
    def is_busy(self) -> bool:
        """Whether the child is at work."""
        return self._process is not None

    def ask(self, action: str) -> None:
        """Have something done: `status`, `install` or `verify`. What is being done already goes on."""
        if self._process is not None:
            return
        self._action, self._is_settled = action, False
        process = self._process = QProcess(self)
        process.readyReadStandardOutput.connect(self._on_output)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        self._show(engine_state.begun(action))
        processes.start(process, engine_command(action))

    @property
    def action(self) -> str:
        """What was asked for last."""
        return self._action

    def cancel(self) -> None:
        """Give up what is being done. What was brought so far is kept for the next time."""
        process = self._process
        if process is None:
            return
        self._process = None
        process.kill()
        process.waitForFinished(END_WAIT_MS)
        process.deleteLater()

    def _on_output(self) -> None:
        # After a cancel the process has some last words, which nobody wants.
        while self._process is not None and self._process.canReadLine():
            self._take(bytes(self._process.readLine().data()))

    def _take(self, line: bytes) -> None:
        try:
            record = read_engine_record(line)
        except ValueError:
            return
        self._is_settled = not isinstance(record, EngineProgress)
        self._show(engine_state.of_record(record, action=self._action))

    def _on_finished(self, exit_code: int) -> None:
        process = self._process
        if process is None:
            return
        self._on_output()
        log = bytes(process.readAllStandardError().data()).decode(errors="replace").strip()
        self._end()
        if not self._is_settled:
            self._show(
                engine_state.of_problem(
                    UserError(
                        f"The engine could not be looked at: the process ended with code {exit_code}.",
                        hint="Run bootstrap.py again; it repairs the environment.",
                        detail=log,
                    )
                )
            )
        else:
            self.changed.emit()

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            reason = self._process.errorString().rstrip(".")
            self._end()
            problem = UserError(f"The system could not start the process: {reason}.", hint="Run bootstrap.py again.")
            self._show(engine_state.of_problem(problem))

    def _end(self) -> None:
        if self._process is not None:
            self._process.deleteLater()
            self._process = None

    def _show(self, view: EngineView) -> None:
        self.view = view
        self.changed.emit()
