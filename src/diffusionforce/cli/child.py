"""The trainer process as the command line holds it: what it says, and how it is made to end.

The trainer lives in a session of its own. A Ctrl-C in the terminal thus reaches only us, and we ask the trainer to
stop; a terminal that is closed takes us along but not the training.
"""

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from diffusionforce.wire import Command, Message, StreamDecoder, child_command, child_environment, encode

TICK_S = 0.25
NUM_LAST_WORDS = 20


class StopRequests:
    """Counts how often the user asked for a stop, with Ctrl-C or a termination signal.

    The signal handler only counts, because it may interrupt anything; the main loop acts.
    """

    def __init__(self) -> None:
        self.count = 0

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count the signals that arrive within this instead of being ended by them."""
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.count += 1


class TrainerChild:
    """A trainer process.

    Args:
        job_file: Its job.
        stops: Requests to stop; each makes the trainer stop less kindly than the one before.
        copy_to: Binary stream for its telemetry, line by whole line; its log then goes to our standard error.
    """

    def __init__(self, job_file: Path, *, stops: StopRequests, copy_to: BinaryIO | None = None) -> None:
        self._stops = stops
        self._num_stops_done = 0
        self._said: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._last_words: deque[str] = deque(maxlen=NUM_LAST_WORDS)
        self._copy_to = copy_to
        self._process = subprocess.Popen(
            child_command(job_file),
            env=child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if copy_to is None else None,
            start_new_session=os.name != "nt",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._message_reader = threading.Thread(target=self._read_messages, daemon=True)
        self._log_reader = threading.Thread(target=self._read_log, daemon=True)
        self._message_reader.start()
        self._log_reader.start()

    def messages(self) -> Iterator[Message | None]:
        """Yield what the trainer says until it has said all, and None now and then while it is silent."""
        while self._message_reader.is_alive() or not self._said.empty():
            self._pass_on_stops()
            try:
                yield self._said.get(timeout=TICK_S)
            except queue.Empty:
                yield None

    def wait(self) -> int:
        """Wait for the end, passing on requests to stop, and return the exit code; negative if a signal ended it."""
        while True:
            self._pass_on_stops()
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.wait(TICK_S)

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def last_words(self) -> str:
        """Return the end of its log, unless that went to our standard error; to be asked after `wait`."""
        self._log_reader.join(timeout=1.0)  # A program that it started may hold the pipe open.
        return "\n".join(list(self._last_words))

    def _pass_on_stops(self) -> None:
        while self._num_stops_done < self._stops.count:
            self._num_stops_done += 1
            with contextlib.suppress(OSError):  # It has just ended by itself.
                self._stop(harshness=self._num_stops_done)

    def _stop(self, *, harshness: int) -> None:
        """Ask for a stop after the step (1), break the step off (2), or kill the process (3 and more)."""
        if harshness == 1:
            assert self._process.stdin is not None
            self._process.stdin.write(encode(Command(command="stop")))
            self._process.stdin.flush()
        elif harshness == 2:
            self._process.send_signal(getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT))
        else:
            self._process.kill()

    def _read_messages(self) -> None:
        decoder = StreamDecoder()
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if self._copy_to is not None and line.endswith(b"\n"):
                self._copy(line, self._copy_to)
            for message in decoder.feed(line):
                self._said.put(message)

    def _copy(self, line: bytes, copy_to: BinaryIO) -> None:
        try:
            copy_to.write(line)
            copy_to.flush()
        except OSError:  # Whoever read it is gone; the training goes on.
            self._copy_to = None

    def _read_log(self) -> None:
        for line in self._process.stderr or ():
            self._last_words.append(line.decode(errors="replace").rstrip())
