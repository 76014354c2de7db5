"""Checks a dataset in a process of its own, so that decoding thousands of pictures never holds the window up."""

import contextlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from diffusionforce.datasets.records import Checked, Checking, FileFacts, FileFinding, read_record
from diffusionforce.datasets.sets import SetFolder
from diffusionforce.errors import DatasetError, UserError
from diffusionforce.gui.answer_child import AnswerChild
from diffusionforce.gui.model import training_size
from diffusionforce.wire import Failed, module_command

LINES_A_TURN = 60


@dataclass(frozen=True, kw_only=True)
class CheckedFolder:
    """What a check found in one folder."""

    path: Path
    files: Sequence[FileFacts]
    findings: Sequence[FileFinding]


def check_command(folder: SetFolder, *, profile: str = "", size: tuple[int, int] | None = None) -> list[str]:
    """Return the command line of a process that checks a folder.

    Args:
        folder: The folder.
        profile: Name or path of the profile whose model it is checked for; one that is gone is left out.
        size: Width and height that is trained at, in pixels; None takes that of the profile.
    """
    options: list[str] = []
    with contextlib.suppress(UserError):
        options += ["--profile", str(training_size.path_of(profile))] if profile else []
    options += ["--size", f"{size[0]}x{size[1]}"] if size is not None else []
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

    def __init__(
        self,
        folders: Sequence[SetFolder],
        *,
        profile: str = "",
        size: tuple[int, int] | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._size = size
        self._folders, self._profile, self._done = tuple(folders), profile, 0
        self._results: list[CheckedFolder] = []
        self._files: list[FileFacts] = []
        self._findings: list[FileFinding] = []
        self._lines: deque[bytes] = deque()
        self._end: Checked | Failed | None = None
        self._has_ended = self._is_cancelled = False
        self._child: AnswerChild | None = None
        # A few lines at a turn of the event loop: a large folder ends with thousands at once.
        self._reader = QTimer(self)
        self._reader.setInterval(0)
        self._reader.timeout.connect(self._read_some)

    def start(self) -> None:
        """Start on the first folder."""
        child = AnswerChild(self, what="the check")
        self._child, self._has_ended, self._end = child, False, None
        self._files, self._findings = [], []
        child.said.connect(self._on_line)
        child.answered.connect(self._on_answered)
        child.run(check_command(self._folders[self._done], profile=self._profile, size=self._size))

    def cancel(self) -> None:
        """End the process; nothing is told any more."""
        self._is_cancelled = True
        self._reader.stop()
        if self._child is not None:
            self._child.cancel()

    def _on_line(self, line: bytes) -> None:
        self._lines.append(line)
        if not self._reader.isActive():
            self._reader.start()

    def _on_answered(self, answer: bytes | UserError) -> None:
        assert self._child is not None
        if isinstance(answer, UserError) and self._child.exit_code is None:
            self.failed.emit(answer)
            return
        self._has_ended = True
        self._reader.start()

    def _read_some(self) -> None:
        for _ in range(min(LINES_A_TURN, len(self._lines))):
            self._take(self._lines.popleft())
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
            detail = self._child.log if self._child is not None else ""
            self.failed.emit(DatasetError("The check ended without an answer.", hint="Check again.", detail=detail))
        else:
            path = Path(self._folders[self._done].path)
            self._results.append(CheckedFolder(path=path, files=self._files, findings=self._findings))
            self._done += 1
            if self._done < len(self._folders):
                self.start()
            else:
                self.checked.emit(self._results)
