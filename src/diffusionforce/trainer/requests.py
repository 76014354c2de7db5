"""What the outside asks of a running training: stop, save, sample, pause, other prompts.

Requests come as lines on standard input, as lines in a file of the run folder (a window that did not start us has
no other way in), and, for stopping, as signals. They are kept until the engine looks, between two steps. The end of
the input means that our parent is gone, which is no reason to lose a night's work: see `parent`.
"""

import _thread
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from pydantic import ValidationError

from diffusionforce.engines.contract import Lack
from diffusionforce.trainer.room import Asked
from diffusionforce.wire import Command, Warn

MAX_LINE_BYTES = 64 * 1024
_CHUNK_BYTES = 4096
FILE_LOOK_S = 0.5
_PAUSE_LOOK_S = 0.1
ROOM_LOOK_S = 2.0
_STOP_SIGNALS = ("SIGINT", "SIGTERM", "SIGBREAK")


class Requests:
    """Requests that wait for the engine; the `Controls` that it is given."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._save = threading.Event()
        self._sample = threading.Event()
        self._paused = threading.Event()
        self._is_over = threading.Event()
        self._prompts: tuple[str, ...] | None = None
        self._is_detached = threading.Event()
        self._goes_on_anyway = threading.Event()
        self.lack: Lack | None = None
        """What the run waits for by itself; None where it was asked to wait, or does not."""
        self.find_lack: Callable[[Asked], Lack | None] = lambda asked: None
        """Asked before something is written whether there is room for it."""
        self.on_pause: Callable[[bool], None] = lambda paused: None
        """Told from the engine's thread that the run waits (True), and that it goes on (False)."""
        self.on_look: Callable[[], None] = lambda: None
        """Told from the engine's thread that it looks."""
        self.on_taken: Callable[[Asked], None] = lambda asked: None
        """Told from the engine's thread that it is about to do what was asked for."""

    def add(self, command: Command) -> None:
        """Keep a request until the engine looks."""
        match command.command:
            case "resume":
                self._paused.clear()
                if self.lack is not None:
                    self._goes_on_anyway.set()
            case "prompts":
                self._prompts = command.prompts or ()
            case "detach":
                self._is_detached.set()
            case "break_off":
                self._break_off()
            case name:
                {"stop": self._stop, "save": self._save, "sample": self._sample, "pause": self._paused}[name].set()

    def _break_off(self) -> None:
        """Interrupt the engine's thread as Ctrl-C does.

        A signal also ends a system call that waits; where a system has no signals between threads, Python is told
        of one, and sees it when it next runs.
        """
        self._stop.set()
        if self._is_over.is_set():
            return
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            _thread.interrupt_main(signal.SIGINT)

    def close(self) -> None:
        """Ignore signals from now on: the training has ended, and its last words must not be interrupted."""
        self._is_over.set()

    def wait_for_end(self, timeout_s: float) -> bool:
        """Wait for the end of the training; tells whether it came."""
        return self._is_over.wait(timeout_s)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: the first asks for a stop after the current step, a second one breaks the step off."""
        if self._is_over.is_set():
            return
        if self._stop.is_set():
            raise KeyboardInterrupt
        self._stop.set()

    @property
    def is_detached(self) -> bool:
        """Whether the run goes on without its parent, whatever its job says."""
        return self._is_detached.is_set()

    @property
    def stop_asked(self) -> bool:
        """Whether a stop was asked for. Whoever asks here does not wait while the run is to pause."""
        return self._stop.is_set()

    @property
    def stop_requested(self) -> bool:
        """Whether the run should end after the current step, keeping what it has.

        Every engine looks here between two steps, so a run that is to pause, or that lacks room, waits here.
        """
        self.on_look()
        self._wait(lambda: self.find_lack("step"))
        return self._stop.is_set()

    def wait_while(self, find_lack: Callable[[], Lack | None]) -> None:
        """Wait until nothing is lacking, somebody says to go on all the same, or the run is to stop.

        Whoever said so before has said it of something else.
        """
        self._goes_on_anyway.clear()
        self._wait(find_lack)
        self._goes_on_anyway.clear()

    def _wait(self, find_lack: Callable[[], Lack | None]) -> None:
        """Wait while the run is to pause or lacks something, unless it is to stop."""
        if self._stop.is_set():
            return
        self.lack = self._found(find_lack)
        if self.lack is None and not self._paused.is_set():
            return
        self.on_pause(True)
        looked_s = time.monotonic()
        # A signal handler can set the stop but wake nobody, hence a wait in short pieces.
        while (self.lack is not None or self._paused.is_set()) and not self._stop.wait(_PAUSE_LOOK_S):
            if self.lack is not None and (self._goes_on_anyway.is_set() or time.monotonic() - looked_s > ROOM_LOOK_S):
                self.lack, looked_s = self._found(find_lack), time.monotonic()
        self.lack = None
        self.on_pause(False)

    def _found(self, find_lack: Callable[[], Lack | None]) -> Lack | None:
        """What is lacking; nothing, once somebody said to go on all the same, until that was over."""
        lack = find_lack()
        if lack is None:
            self._goes_on_anyway.clear()
        return None if self._goes_on_anyway.is_set() else lack

    def take_prompts(self) -> tuple[str, ...] | None:
        """Return other prompts that were asked for since the last look, None if none were."""
        prompts, self._prompts = self._prompts, None
        return prompts

    def take_save_request(self) -> bool:
        """Whether a checkpoint was asked for since the last look."""
        return self._taken(self._save, "save")

    def take_sample_request(self) -> bool:
        """Whether a sample pass was asked for since the last look."""
        return self._taken(self._sample, "sample")

    def _taken(self, event: threading.Event, asked: Asked) -> bool:
        if not _take(event):
            return False
        self._wait(lambda: self.find_lack(asked))
        self.on_taken(asked)
        return True


def listen(
    descriptor: int,
    *,
    requests: Requests,
    warn: Callable[[Warn], None],
    on_end: Callable[[], None] = lambda: None,
) -> threading.Thread:
    """Start the thread that reads command lines until the input ends.

    Args:
        descriptor: Where the lines come from.
        warn: Told of lines that are no command.
        on_end: Told that the input has ended.
    """

    def read() -> None:
        for line in _lines(descriptor):
            _take_line(line, requests, warn)
        on_end()

    thread = threading.Thread(target=read, name="command reader", daemon=True)
    thread.start()
    return thread


def listen_to_file(path: Path, *, requests: Requests, warn: Callable[[Warn], None]) -> threading.Thread:
    """Start the thread that reads command lines from a file as it grows, until the training is over.

    Args:
        path: The file; it need not be there yet.
        requests: Takes the commands.
        warn: Told of lines that are no command.
    """

    # What stands in the file already was asked of an earlier run in this folder.
    begin = 0
    with contextlib.suppress(OSError):  # Usually there is none yet.
        begin = path.stat().st_size

    def read() -> None:
        tail, at = b"", begin
        while not requests.wait_for_end(FILE_LOOK_S):
            try:
                with path.open("rb") as file:
                    file.seek(at)
                    chunk = file.read(MAX_LINE_BYTES)
            except OSError:
                continue
            at += len(chunk)
            *lines, tail = (tail + chunk).split(b"\n")
            for line in lines:
                _take_line(line, requests, warn)

    thread = threading.Thread(target=read, name="command file reader", daemon=True)
    thread.start()
    return thread


def _take_line(line: bytes, requests: Requests, warn: Callable[[Warn], None]) -> None:
    if not line.strip():
        return
    try:
        requests.add(Command.model_validate_json(line))
    except ValidationError:
        shown = line[:80].decode(errors="replace").strip()
        warn(Warn(sentence=f"The trainer was sent a line that is no command: {shown!r}."))


def stop_on_signals(requests: Requests) -> None:
    """Hand the signals that end a process to the requests. A terminal that is closed is no reason to stop by itself."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
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
