"""What the outside asks of a running training: stop, save, sample.

Requests come as lines on standard input and, for stopping, as signals. They are kept until the engine looks,
between two steps. The end of the input means that our parent is gone, which is no reason to lose a night's work.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from pydantic import ValidationError

from diffusionforce.wire import Command, Warn

MAX_LINE_BYTES = 64 * 1024
_CHUNK_BYTES = 4096
_STOP_SIGNALS = ("SIGINT", "SIGTERM", "SIGBREAK")


class Requests:
    """Requests that wait for the engine; the `Controls` that it is given."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._save = threading.Event()
        self._sample = threading.Event()
        self._is_over = threading.Event()

    def add(self, command: Command) -> None:
        """Keep a request until the engine looks."""
        {"stop": self._stop, "save": self._save, "sample": self._sample}[command.command].set()

    def close(self) -> None:
        """Ignore signals from now on: the training has ended, and its last words must not be interrupted."""
        self._is_over.set()

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: the first asks for a stop after the current step, a second one breaks the step off."""
        if self._is_over.is_set():
            return
        if self.stop_requested:
            raise KeyboardInterrupt
        self._stop.set()

    @property
    def stop_requested(self) -> bool:
        """Whether the run should end after the current step, keeping what it has."""
        return self._stop.is_set()

    def take_save_request(self) -> bool:
        """Whether a checkpoint was asked for since the last look."""
        return _take(self._save)

    def take_sample_request(self) -> bool:
        """Whether a sample pass was asked for since the last look."""
        return _take(self._sample)


def listen(descriptor: int, *, requests: Requests, warn: Callable[[Warn], None]) -> threading.Thread:
    """Start the thread that reads command lines until the input ends.

    Args:
        descriptor: Where the lines come from.
        warn: Told of lines that are no command.
    """

    def read() -> None:
        for line in _lines(descriptor):
            try:
                requests.add(Command.model_validate_json(line))
            except ValidationError:
                shown = line[:80].decode(errors="replace").strip()
                warn(Warn(sentence=f"The trainer was sent a line that is no command: {shown!r}."))

    thread = threading.Thread(target=read, name="command reader", daemon=True)
    thread.start()
    return thread


def stop_on_signals(requests: Requests) -> None:
    """Hand the signals that end a process to the requests."""
    for name in _STOP_SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), requests.interrupt)


def ignore_signals() -> None:
    """Let the process end in peace: Python gives signals their deadly defaults back before its last moment."""
    for name in _STOP_SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _take(event: threading.Event) -> bool:
    was_set = event.is_set()
    if was_set:
        event.clear()
    return was_set


def _lines(descriptor: int) -> Iterator[bytes]:
    """Yield the lines that arrive; `os.read`, because a buffered reader that waits cannot be shut down cleanly."""
    tail = b""
    while True:
        try:
            chunk = os.read(descriptor, _CHUNK_BYTES)
        except OSError:
            return
        if not chunk:
            return
        *lines, tail = (tail + chunk).split(b"\n")
        if len(tail) > MAX_LINE_BYTES:
            lines, tail = [*lines, tail], b""
        yield from (line for line in lines if line.strip())
