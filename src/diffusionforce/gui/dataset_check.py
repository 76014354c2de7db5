"""Checks a dataset in a process of its own, so that decoding thousands of pictures never holds the window up."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from diffusionforce.datasets.records import Checked, Checking, FileFacts, FileFinding, read_record
from diffusionforce.datasets.sets import SetFolder
from diffusionforce.errors import DatasetError, UserError
from diffusionforce.gui import processes
from diffusionforce.gui.model import training_size
from diffusionforce.wire import Failed, module_command

LINES_A_TURN = 60
END_WAIT_MS = 3000


@dataclass(frozen=True, kw_only=True)
class CheckedFolder:
    """What a check found in one folder."""

    path: Path
    files: Sequence[FileFacts]
    findings: Sequence[FileFinding]


def check_command(folder: SetFolder, *, profile: str = "") -> list[str]:
    """Return the command line of a process that checks a folder.

    Args:
        folder: The folder.
        profile: Name or path of the profile whose model it is checked for; one that is gone is left out.
    """
    options: list[str] = []
    with contextlib.suppress(UserError):
        options += ["--profile", str(training_size.path_of(profile))] if profile else []
    options += ["--frames", str(folder.frames)] if folder.frames else []
    options += ["--controls", folder.controls] if folder.controls else []
    return module_command("diffusionforce.cli", "check", folder.path, "--json", *options)


class DatasetCheck(QObject):
    """Checks folders one after another. Use once."""

    progressed = Signal(int, int)
    """Files done, and of how many."""
    checked = Signal(list)
    """A `CheckedFolder` for each folder."""
    failed = Signal(object)

    def __init__(self, folders: Sequence[SetFolder], *, profile: str = "", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folders, self._profile, self._done = tuple(folders), profile, 0
        self._results: list[CheckedFolder] = []
        self._files: list[FileFacts] = []
        self._findings: list[FileFinding] = []
        self._buffer, self._lines = b"", list[bytes]()
        self._end: Checked | Failed | None = None
        self._has_ended = self._is_cancelled = False
        self._process: QProcess | None = None
        # A few lines at a turn of the event loop: a large folder ends with thousands at once.
        self._reader = QTimer(self)
        self._reader.setInterval(0)
        self._reader.timeout.connect(self._read_some)

    def start(self) -> None:
        """Start on the first folder."""
        process = QProcess(self)
        self._process, self._has_ended, self._end = process, False, None
        self._files, self._findings = [], []
        process.readyReadStandardOutput.connect(self._on_output)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        processes.start(process, check_command(self._folders[self._done], profile=self._profile))

    def cancel(self) -> None:
        """End the process; nothing is told any more."""
        self._is_cancelled = True
        self._reader.stop()
        process = self._process
        if process is not None and process.state() != QProcess.ProcessState.NotRunning:
            process.kill()
            process.waitForFinished(END_WAIT_MS)

    def _on_output(self) -> None:
        if self._process is None or self._is_cancelled:
            return
        self._buffer += bytes(self._process.readAllStandardOutput().data())
        *lines, self._buffer = self._buffer.split(b"\n")
        self._lines += lines
        if not self._reader.isActive():
            self._reader.start()

    def _on_finished(self) -> None:
        self._on_output()
        self._has_ended = True
        if not self._is_cancelled:
            self._reader.start()

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and not self._is_cancelled and self._process is not None:
            self.failed.emit(DatasetError(f"The check cannot be started: {self._process.errorString()}."))

    def _read_some(self) -> None:
        portion, self._lines = self._lines[:LINES_A_TURN], self._lines[LINES_A_TURN:]
        for line in portion:
            self._take(line)
        if not self._lines:
            self._reader.stop()
            if self._has_ended and not self._is_cancelled:
                self._finish()

    def _take(self, line: bytes) -> None:
        try:
            record = read_record(line)
        except ValueError:
            return  # A later version may say more.
        if isinstance(record, Checking):
            self.progressed.emit(record.done, record.total)
        elif isinstance(record, FileFacts):
            self._files.append(record)
        elif isinstance(record, FileFinding):
            self._findings.append(record)
        else:
            self._end = record

    def _finish(self) -> None:
        self._has_ended = False
        if isinstance(self._end, Failed):
            self.failed.emit(UserError(self._end.sentence, hint=self._end.hint, detail=self._end.detail))
        elif self._end is None:
            log = bytes(self._process.readAllStandardError().data()) if self._process is not None else b""
            detail = log.decode(errors="replace")
            self.failed.emit(DatasetError("The check ended without an answer.", hint="Check again.", detail=detail))
        else:
            path = Path(self._folders[self._done].path)
            self._results.append(CheckedFolder(path=path, files=self._files, findings=self._findings))
            self._done += 1
            if self._done < len(self._folders):
                self.start()
            else:
                self.checked.emit(self._results)
