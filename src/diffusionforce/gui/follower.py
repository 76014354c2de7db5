"""Watches a run that another process writes, or reads one that is over, from its folder alone."""

import codecs
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from diffusionforce.errors import RunFolderError
from diffusionforce.gui.model import outcome
from diffusionforce.runs import RunFolder
from diffusionforce.wire import StreamDecoder

POLL_MS = 250
CHUNK_BYTES = 6 * 1024
"""Read at a time, so that the window can paint while a long run is read."""
LOG_BACKLOG_BYTES = 64 * 1024
# Looking for the process costs more than looking at a file.
POLLS_PER_STATE_CHECK = 4


class RunFollower(QObject):
    """Reads `telemetry.jsonl` and `log.txt` of a run as they grow."""

    message_received = Signal(object)
    log_received = Signal(str)
    caught_up = Signal()
    ended = Signal(object)

    def __init__(self, folder: RunFolder, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._decoder = StreamDecoder()
        self._log_decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._telemetry_at = 0
        self._log_at: int | None = None
        self._log_tail = ""
        self._polls = 0
        self._is_caught_up = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._poll)

    def start(self) -> None:
        """Start reading; what is there already comes first."""
        self._poll()

    def stop(self) -> None:
        """Stop reading."""
        self._timer.stop()

    def _poll(self) -> None:
        # The state is asked before the file is read, so that nothing written before the end is missed.
        is_over = self._polls % POLLS_PER_STATE_CHECK == 0 and self._is_over()
        self._polls += 1
        if self._read_telemetry():
            self._polls = 0
            self._timer.start(0)
            return
        self._read_log()
        if not self._is_caught_up:
            self._is_caught_up = True
            self.caught_up.emit()
        if is_over:
            self._finish()
        else:
            self._timer.start(POLL_MS)

    def _is_over(self) -> bool:
        try:
            return self._folder.reconciled_state().state != "running"
        except RunFolderError:
            return not self._folder.root.is_dir()

    def _read_telemetry(self) -> bool:
        """Read the next piece; tells whether there is more."""
        chunk = _read(self._folder.telemetry_path, at=self._telemetry_at)
        self._telemetry_at += len(chunk)
        for message in self._decoder.feed(chunk):
            self.message_received.emit(message)
        self._decoder.garbage.clear()
        return len(chunk) == CHUNK_BYTES

    def _read_log(self) -> None:
        size = self._folder.log_path.stat().st_size if self._folder.log_path.is_file() else 0
        if self._log_at is None:
            self._log_at = max(0, size - LOG_BACKLOG_BYTES)
        elif size < self._log_at:  # It was full, and a new one was begun.
            self._log_at = 0
        chunk = _read(self._folder.log_path, at=self._log_at)
        self._log_at += len(chunk)
        *lines, self._log_tail = (self._log_tail + self._log_decoder.decode(chunk)).split("\n")
        for line in lines:
            self.log_received.emit(line.rstrip("\r"))

    def _finish(self) -> None:
        for message in self._decoder.end():
            self.message_received.emit(message)
        try:
            result = outcome.of_state(self._folder.reconciled_state())
        except RunFolderError as error:
            result = outcome.Outcome(kind="crashed", sentence=error.sentence, hint=error.hint, detail=error.detail)
        self.ended.emit(result)


def _read(path: Path, *, at: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(at)
            return file.read(CHUNK_BYTES)
    except OSError:
        return b""
