"""The three standard descriptors of the trainer process, each made fit for one purpose.

Libraries print. A progress bar or a warning in the middle of the telemetry would break the protocol, and nothing
in Python stops a library, or a program that it starts, from writing to descriptor 1. So the telemetry gets a
private duplicate, and 1 becomes another name for 2. From the moment there is a run folder, 2 is the run's log
file itself rather than a pipe with a reader behind it: the last words before a crash are then on disk, and a
stalled reader cannot hold up whoever prints. What arrives in the log is copied to the real standard error.
"""

import contextlib
import faulthandler
import io
import os
import sys
import threading
from pathlib import Path

from diffusionforce.runs.log import MAX_LOG_BYTES, put_aside

COPY_EVERY_S = 0.2
_CHUNK_BYTES = 1 << 16


def take_stdout() -> io.FileIO:
    """Return a private, unbuffered duplicate of descriptor 1 and let 1 write where 2 does."""
    _open_missing_descriptors()
    private = os.dup(1)
    _flush()
    # First this: a stream that began on a file asks where it stands when its error handling changes, and a pipe
    # cannot tell.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    os.dup2(2, 1)
    return io.FileIO(private, "wb")


def take_stdin() -> int:
    """Return a private duplicate of descriptor 0 and let 0 be empty.

    On Windows a thread that waits for a pipe blocks everyone who as much as asks what kind of file it is, and
    libraries do that while they load.
    """
    _open_missing_descriptors()
    private = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return private


class Log:
    """The run's log file in the place of descriptors 1 and 2, copied to the real standard error as it grows.

    Args:
        path: The log file; it is made, or appended to.
        max_bytes: Size from which on it is put aside for a new one, see `runs.log`.

    Raises:
        OSError: The file cannot be opened.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_LOG_BYTES) -> None:
        self._path, self._max_bytes, self._full_bytes = path, max_bytes, max_bytes
        self._real = os.dup(2)
        self._open()
        self._is_copied = True
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._copier = threading.Thread(target=self._copy, name="log copier", daemon=True)
        self._copier.start()

    def close(self) -> None:
        """Give the descriptors back and copy the rest, without waiting long for a reader that does not read."""
        with self._lock:
            self._give_back()
            self._closing.set()
        self._copier.join(timeout=2.0)
        self._file.close()

    def _open(self) -> None:
        self._file = self._path.open("ab", buffering=0)
        self._reader: io.BufferedIOBase = self._path.open("rb")
        _flush()
        for descriptor in (1, 2):
            os.dup2(self._file.fileno(), descriptor)
        faulthandler.enable(self._file)

    def _give_back(self) -> None:
        _flush()
        faulthandler.disable()
        for descriptor in (1, 2):
            os.dup2(self._real, descriptor)

    def _copy(self) -> None:
        ends = False
        while not ends:
            ends = self._closing.wait(COPY_EVERY_S)
            self._copy_news()
            if self._reader.tell() >= self._full_bytes:
                self._begin_anew()

    def _copy_news(self) -> None:
        try:
            while chunk := self._reader.read(_CHUNK_BYTES):
                if self._is_copied:
                    write_all(self._real, chunk)
        except OSError:
            # Whoever read our standard error is gone, or the disk gives nothing back; the file has it all.
            self._is_copied = False

    def _begin_anew(self) -> None:
        """Put the full file aside; for the moment, what is printed goes to the real standard error only.

        Windows renames no file that is open, and a program that we started may hold it there: then it grows on.
        """
        with self._lock:
            if self._closing.is_set():
                return
            self._give_back()
            self._reader.close()
            self._file.close()
            with contextlib.suppress(OSError):
                put_aside(self._path)
            try:
                self._open()
                self._full_bytes = self._path.stat().st_size + self._max_bytes
            except OSError:
                self._reader, self._full_bytes = io.BytesIO(), sys.maxsize


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of the content; a single `os.write` may take only a part of it."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.flush()


def _open_missing_descriptors() -> None:
    """Open the null device for standard descriptors that our parent closed, lest a later file get their number."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
