"""The trainer as a child process of the window.

Standard output carries telemetry and nothing else, standard error is the log, standard input takes commands. Both
streams arrive in pieces. The way a process ends (an exit code, a signal, a program that is not there) is turned
into an outcome that has words.
"""

import codecs
import sys
from collections import deque
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from diffusionforce.gui import processes
from diffusionforce.gui.model import outcome
from diffusionforce.gui.model.outcome import Outcome
from diffusionforce.wire import Command, Done, Failed, Message, Step, Stopped, StreamDecoder, encode
from diffusionforce.wire.child import child_command

LAST_WORDS = 40
RELEASE_MS = 1000
CHUNK_BYTES = 32 * 1024
"""Read at a time: a trainer that talks fast, or a window that was held up, must not keep the window from painting."""

# Children that outlive the window: destroying a QProcess would kill its process.
_released: list[QProcess] = []


class TrainerChild(QObject):
    """Starts one trainer, reads what it says, and tells how it ended. Use once."""

    message_received = Signal(object)
    log_received = Signal(str)
    ended = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._decoder = StreamDecoder()
        self._log_decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._log_tail = ""
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._outcome: Outcome | None = None
        self._step = 0
        self._command: list[str] = []
        self._has_ended = False
        self._is_reading = False
        self._exit: tuple[int, QProcess.ExitStatus] | None = None
        self._process = QProcess(self)
        self._process.readyReadStandardOutput.connect(self._on_output_ready)
        self._process.readyReadStandardError.connect(self._on_log_ready)
        self._process.finished.connect(self._on_finished)
        self._process.errorOccurred.connect(self._on_error)

    def start(self, job_file: Path, *, command: list[str] | None = None) -> None:
        """Start the trainer on a job file.

        Args:
            job_file: The job.
            command: Another program than the trainer, for tests.
        """
        self._command = command or child_command(job_file)
        processes.start(self._process, self._command, outlives_us=True)

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process.state() != QProcess.ProcessState.NotRunning

    @property
    def pid(self) -> int:
        """Number of the process, 0 when there is none."""
        return int(self._process.processId())

    def send(self, command: Command) -> None:
        """Send a command; one that is sent too late is lost without harm."""
        if self.is_running:
            self._process.write(encode(command))

    def wait(self, timeout_ms: int) -> bool:
        """Wait for the end; tells whether it came."""
        return not self.is_running or self._process.waitForFinished(timeout_ms)

    def terminate(self) -> None:
        """Have the process break its step off and end: by a signal, or where Windows has none for us, by its input."""
        if sys.platform == "win32":
            self.send(Command(command="break_off"))
        else:
            self._process.terminate()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def release(self) -> None:
        """Let the process live on without this window, which must then leave by `os._exit`."""
        self._process.blockSignals(True)
        self.send(Command(command="detach"))
        self._process.waitForBytesWritten(RELEASE_MS)  # Nobody turns the event loop any more.
        self._process.closeWriteChannel()
        self._process.setParent(None)  # type: ignore[arg-type]
        _released.append(self._process)

    def _on_output_ready(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._read_some()

    def _read_some(self) -> None:
        """Read the next piece, and the rest in turns of their own."""
        self._process.setReadChannel(QProcess.ProcessChannel.StandardOutput)
        for message in self._decoder.feed(bytes(self._process.read(CHUNK_BYTES).data())):
            self._take(message)
        self._show_garbage()
        if self._process.bytesAvailable():
            QTimer.singleShot(0, self, self._read_some)
            return
        self._is_reading = False
        if self._exit is not None:
            self._finish(*self._exit)

    def _take(self, message: Message) -> None:
        if isinstance(message, Step):
            self._step = message.step
        elif isinstance(message, Done | Stopped | Failed):
            self._outcome = outcome.of_message(message)
        self.message_received.emit(message)

    def _show_garbage(self) -> None:
        for line in self._decoder.garbage:
            self.log_received.emit(line)
        self._decoder.garbage.clear()

    def _on_log_ready(self, *, final: bool = False) -> None:
        data = bytes(self._process.readAllStandardError().data())
        text = self._log_tail + self._log_decoder.decode(data, final)
        *lines, self._log_tail = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if final and self._log_tail:
            lines.append(self._log_tail)
            self._log_tail = ""
        for line in lines:
            self._last_words.append(line)
            self.log_received.emit(line)

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and not self._has_ended:
            self._has_ended = True
            reason = self._process.errorString().rstrip(".")
            self.ended.emit(outcome.not_started(reason, command=" ".join(self._command)))

    def _on_finished(self, exit_code: int, status: QProcess.ExitStatus) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        # What it said last may still be on its way to us.
        self._exit = (exit_code, status)
        self._on_output_ready()

    def _finish(self, exit_code: int, status: QProcess.ExitStatus) -> None:
        self._exit = None
        for message in self._decoder.end():
            self._take(message)
        self._show_garbage()
        self._on_log_ready(final=True)
        killed = status == QProcess.ExitStatus.CrashExit
        result = self._outcome or outcome.of_exit(
            exit_code, killed=killed, step=self._step, last_words="\n".join(self._last_words)
        )
        self.ended.emit(result)
