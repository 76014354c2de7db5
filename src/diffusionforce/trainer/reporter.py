"""Telemetry that leaves the process without ever holding up the training.

A reader may stall (a window in a debugger, a pager), and a full pipe blocks whoever writes to it. So every
outlet has a thread of its own and a queue with an end: when the queue is full, the oldest progress records go.
A reader that is gone, or a disk that is full, ends its own outlet, not the run.
"""

import contextlib
import errno
import io
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

from diffusionforce.runs import storage_error
from diffusionforce.trainer.streams import write_all
from diffusionforce.wire import End, Message, Preparing, Step, Warn, encode

MAX_WAITING = 1000
PATIENCE_S = 5.0


class Outlet:
    """One file or pipe with a queue and a thread that writes to it.

    Args:
        file: Unbuffered binary file; closed by `close`, or when it fails.
        on_error: Called once, from the writing thread, when writing fails. Nothing is written after that.
        max_waiting: Length of the queue from which on progress records are dropped.
    """

    def __init__(
        self, file: io.FileIO, *, name: str, on_error: Callable[[OSError], None], max_waiting: int = MAX_WAITING
    ) -> None:
        self._file = file
        self._on_error = on_error
        self._max_waiting = max_waiting
        self._waiting: deque[tuple[bytes, bool]] = deque()
        self._changed = threading.Condition()
        self._is_closing = False
        self._is_over = False
        self._thread = threading.Thread(target=self._write, name=f"{name} writer", daemon=True)
        self._thread.start()

    def offer(self, line: bytes, *, is_progress: bool) -> None:
        """Queue a line; never waits.

        Args:
            is_progress: Whether the line may be dropped when newer ones wait behind it.
        """
        with self._changed:
            if self._is_closing or self._is_over:
                return
            if len(self._waiting) >= self._max_waiting:
                self._drop_oldest_progress()
            self._waiting.append((line, is_progress))
            self._changed.notify_all()

    def close(self, *, patience_s: float = PATIENCE_S) -> None:
        """Write what waits, then end; give up on a reader that takes nothing for `patience_s` seconds."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
            while not self._is_over and self._changed.wait(patience_s):
                pass  # The writer tells of every line that it got rid of. If it is stuck, it ends with the process.

    def _drop_oldest_progress(self) -> None:
        oldest = next((index for index, (_, is_progress) in enumerate(self._waiting) if is_progress), None)
        if oldest is not None:
            del self._waiting[oldest]

    def _write(self) -> None:
        try:
            while (line := self._next()) is not None:
                write_all(self._file.fileno(), line)
                with self._changed:
                    self._changed.notify_all()
        except OSError as error:
            self._end()
            self._on_error(error)
        else:
            self._end()

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closing)
            return self._waiting.popleft()[0] if self._waiting else None

    def _end(self) -> None:
        with self._changed:
            self._is_over = True
            self._waiting.clear()
            self._changed.notify_all()
        with contextlib.suppress(OSError):  # It tells again what the last write told.
            self._file.close()


class Reporter:
    """Sends every record to the reader of our telemetry, and to the run's telemetry file once there is one.

    Args:
        stream: The private duplicate of standard output.
    """

    def __init__(self, stream: io.FileIO) -> None:
        self._lock = threading.Lock()
        self._has_ended = False
        self._outlets = [Outlet(stream, name="telemetry", on_error=self._on_reader_gone)]

    def open_file(self, path: Path) -> None:
        """Also write to a file from now on. If that fails later, a warning goes to whoever reads, unless all is said.

        Raises:
            OSError: The file cannot be opened.
        """

        def warn(error: OSError) -> None:
            problem = storage_error(error, path)
            self.report(Warn(sentence=f"{problem.sentence} The telemetry is no longer kept.", hint=problem.hint))

        file = io.FileIO(path, "ab")
        with self._lock:
            self._outlets.append(Outlet(file, name="telemetry file", on_error=warn))

    def report(self, message: Message) -> None:
        """Send a record; never waits and never fails. May be called from any thread. After an end nothing is sent."""
        line = encode(message)
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = isinstance(message, End)
            for outlet in self._outlets:
                outlet.offer(line, is_progress=isinstance(message, Step | Preparing))

    def close(self, *, patience_s: float = PATIENCE_S) -> None:
        """Write what waits, then end."""
        for outlet in reversed(self._outlets):
            outlet.close(patience_s=patience_s)

    @staticmethod
    def _on_reader_gone(error: OSError) -> None:
        with contextlib.suppress(OSError):  # The log may lie on a full disk.
            sys.stderr.write(f"{reader_gone_words(error)}\n")


def reader_gone_words(error: OSError) -> str:
    """Return what the log says once records cannot be handed over any more.

    A window or a terminal that is closed on purpose is no mishap, and must not read like one.
    """
    # A closed pipe is EINVAL on Windows.
    if isinstance(error, BrokenPipeError) or error.errno in {errno.EPIPE, errno.EINVAL}:
        return "The window or terminal that followed this run was closed; the training goes on without it."
    return f"Progress cannot be shown live any more ({error.strerror or error}); the training goes on."
