"""A child process that is asked one thing and answers with records, a JSON object a line; the last one counts."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, QProcess, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui import processes
from diffusionforce.wire import module_command

END_WAIT_MS = 3000


class AnswerChild(QObject):
    """Asks a module of ours. Use once.

    `said` brings each line as it comes, `answered` the last line, or a `UserError` where none came.
    """

    said = Signal(bytes)
    answered = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tail, self._last = b"", b""
        self._is_done = False
        self._process = QProcess(self)
        self._process.readyReadStandardOutput.connect(self._on_output)
        self._process.finished.connect(self._on_finished)
        self._process.errorOccurred.connect(self._on_error)

    def start(self, module: str, arguments: Sequence[str]) -> None:
        """Start `python -m module` with arguments."""
        processes.start(self._process, module_command(module, *arguments))

    @property
    def is_running(self) -> bool:
        """Whether the answer is still to come."""
        return not self._is_done

    def cancel(self) -> None:
        """End the process without an answer."""
        self._is_done = True
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.kill()
            self._process.waitForFinished(END_WAIT_MS)

    def _on_output(self) -> None:
        *lines, self._tail = (self._tail + bytes(self._process.readAllStandardOutput().data())).split(b"\n")
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        if line.strip():
            self._last = line
            self.said.emit(line)

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and not self._is_done:
            self._is_done = True
            reason = self._process.errorString().rstrip(".")
            hint = "Run bootstrap.py again; it repairs the environment."
            self.answered.emit(UserError(f"The system could not start a process: {reason}.", hint=hint))

    def _on_finished(self, exit_code: int, _status: QProcess.ExitStatus) -> None:
        if self._is_done:
            return
        self._on_output()
        self._take(self._tail)
        self._is_done = True
        if self._last:
            self.answered.emit(self._last)
            return
        log = bytes(self._process.readAllStandardError().data()).decode(errors="replace").strip()
        last = log.splitlines()[-1] if log else f"exit code {exit_code}"
        self.answered.emit(UserError(f"The process ended without an answer: {last}", detail=log[-4000:]))
