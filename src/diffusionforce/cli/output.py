"""Standard output that is closed, full, or read by nobody any more: none of it may end a training, or us in words
of Python.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TextIO, cast


def make_streams_fit() -> None:
    """Give standard streams that our caller closed a place to go, and let no character stop what is written."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - it is None if descriptor 0 was closed.
        sys.stdin = _nowhere("r")
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = _nowhere("w")
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = _nowhere("w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence(stream: TextIO) -> None:
    """Let a stream lead nowhere from now on, with what it still holds: Python would try to write that as it ends."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)


def write_bytes(content: bytes) -> None:
    """Write to standard output; if nobody takes it, it is silent from then on."""
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError:
        silence(sys.stdout)


def write_answer(content: bytes) -> None:
    """Write what a command was run for to standard output.

    Raises:
        OSError: It cannot be written; an exit code of 0 would be a lie.
    """
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


@contextlib.contextmanager
def waiting(words: str) -> Iterator[None]:
    """Show on a terminal that something is being done, and for how long; where nobody looks, nothing is written.

    Args:
        words: What is being done.
    """
    # Loaded late: the window starts through this module, and draws nothing in a terminal.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task(words, total=None)
        yield


class Screen:
    """Standard output for what may be lost: where others would fail, it falls silent."""

    def __init__(self) -> None:
        self._stream = sys.stdout
        self.encoding = self._stream.encoding

    def as_file(self) -> IO[str]:
        """Return this as the file that it behaves like as far as rich needs it."""
        return cast(IO[str], self)

    def write(self, text: str) -> int:
        """Write text."""
        with self._silenced_on_error():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Pass on what was written."""
        with self._silenced_on_error():
            self._stream.flush()

    def isatty(self) -> bool:
        """Tell whether a person may be looking."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._stream.fileno()

    @contextlib.contextmanager
    def _silenced_on_error(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            silence(self._stream)


def _nowhere(mode: str) -> TextIO:
    return cast(TextIO, Path(os.devnull).open(mode, encoding="utf-8"))
