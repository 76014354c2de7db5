"""A child process that is asked one thing and answers with records, a JSON object a line; the last one counts."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, QProcess, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui import processes
from diffusionforce.wire import LineSplitter, module_command
from diffusionforce.wire.interpreter import repair_hint

END_WAIT_MS = 3000
LAST_WORDS_BYTES = 16 * 1024


class AnswerChild(QObject):
    """Asks a module of ours. Use once.

    `said` brings each line as it comes, `answered` the last line, or a `UserError` where none came.

    Attributes:
        exit_code: How it ended; None while it has not, or if it could not be started.
    """

    said = Signal(bytes)
    answered = Signal(object)

    def __init__(self, parent: QObject | None = None, *, what: str = "a process") -> None:
        """Make it; nothing is started.

        Args:
            parent: Its owner.
            what: What the process is, for sentences about it.
        """
        super().__init__(parent)
        self.exit_code: int | None = None
        self._what = what
        self._splitter, self._last, self._log = LineSplitter(), b"", b""
        self._is_done = False
        self._process = QProcess(self)
        self._process.readyReadStandardOutput.connect(self._on_output)
        self._process.readyReadStandardError.connect(self._on_log)
        self._process.finished.connect(self._on_finished)
        self._process.errorOccurred.connect(self._on_error)

    def start(self, module: str, arguments: Sequence[str]) -> None:
        """Start `python -m module` with arguments."""
        self.run(module_command(module, *arguments))

    def run(self, command: Sequence[str]) -> None:
        """Start a program with its arguments."""
        processes.start(self._process, command)

    @property
    def is_running(self) -> bool:
        """Whether the answer is still to come."""
        return not self._is_done

    @property
    def log(self) -> str:
        """The end of what it wrote to its standard error."""
        return self._log.decode(errors="replace").strip()

    def write(self, line: bytes) -> None:
        """Give it a line to read."""
        self._process.write(line)

    def end_input(self) -> None:
        """Close its input: a child that watches for that ends what it does, and answers."""
        self._process.closeWriteChannel()

    def wait(self, timeout_ms: int) -> None:
        """Wait for its end, not for ever."""
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.waitForFinished(timeout_ms)

    def cancel(self) -> None:
        """End the process without an answer, and wait for its end, which comes at once."""
        self._is_done = True
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.kill()
            self._process.waitForFinished(END_WAIT_MS)

    def _on_output(self) -> None:
        for line in self._splitter.feed(bytes(self._process.readAllStandardOutput().data())):
            self._take(line)

    def _on_log(self) -> None:
        self._log = (self._log + bytes(self._process.readAllStandardError().data()))[-LAST_WORDS_BYTES:]

    def _take(self, line: bytes) -> None:
        if line.strip() and not self._is_done:  # After a cancel it has some last words, which nobody wants.
            self._last = line
            self.said.emit(line)

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and not self._is_done:
            self._is_done = True
            reason = self._process.errorString().rstrip(".")
            sentence = f"The system could not start {self._what}: {reason}."
            self.answered.emit(UserError(sentence, hint=repair_hint()))

    def _on_finished(self, exit_code: int, _status: QProcess.ExitStatus) -> None:
        self._on_output()
        self._on_log()
        self._take(self._splitter.end())
        if self._is_done:
            return
        self._is_done, self.exit_code = True, exit_code
        if self._last:
            self.answered.emit(self._last)
            return
        last = self.log.splitlines()[-1] if self.log else f"exit code {exit_code}"
        self.answered.emit(UserError(f"The process ended without an answer: {last}", detail=self.log))
