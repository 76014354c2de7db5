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
from types import FrameType, TracebackType

from diffusionforce.cli.output import write_bytes
from diffusionforce.desktop import children
from diffusionforce.wire import Command, Message, StreamDecoder, child_command, child_environment, encode

TICK_S = 0.25
NUM_LAST_WORDS = 20
NUM_TO_KILL = 3


class StopRequests:
    """Counts how often the user asked for a stop, with Ctrl-C or a termination signal.

    The signal handler only counts, because it may interrupt anything; the main loop acts.
    """

    def __init__(self) -> None:
        self.count = 0

    @property
    def has_killed(self) -> bool:
        """Whether there were so many requests that the trainer was ended at once."""
        return self.count >= NUM_TO_KILL

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
    """A trainer process; a context manager that does not leave it behind when we break down.

    Args:
        job_file: Its job.
        stops: Requests to stop; each makes the trainer stop less kindly than the one before.
        is_copied: Whether its telemetry goes to our standard output, line by whole line, and its log to our
            standard error.
    """

    def __init__(self, job_file: Path, *, stops: StopRequests, is_copied: bool = False) -> None:
        self._stops = stops
        self._num_stops_done = 0
        self._said: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._last_words: deque[str] = deque(maxlen=NUM_LAST_WORDS)
        self._is_copied = is_copied
        self._process = children.start(
            child_command(job_file),
            environment=child_environment(),
            stdin=children.PIPE,
            stdout=children.PIPE,
            stderr=None if is_copied else children.PIPE,
            own_session=True,
        )
        self._message_reader = threading.Thread(target=self._read_messages, daemon=True)
        self._log_reader = threading.Thread(target=self._read_log, daemon=True)
        self._message_reader.start()
        self._log_reader.start()

    def __enter__(self) -> "TrainerChild":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            # A training that nobody follows should keep what it has and end.
            self._stops.count = max(self._stops.count, 1)
            self.wait()

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
        """Ask for a stop after the step (1), break the step off (2), or kill the process (`NUM_TO_KILL` and more)."""
        if harshness > 2:
            self._process.kill()
        elif harshness == 2 and os.name != "nt":
            self._process.send_signal(signal.SIGINT)
        else:
            # Windows has signals only for processes that share a console, and the window has none.
            assert self._process.stdin is not None
            self._process.stdin.write(encode(Command(command="stop" if harshness == 1 else "break_off")))
            self._process.stdin.flush()

    def _read_messages(self) -> None:
        decoder = StreamDecoder()
        assert self._process.stdout is not None
        for line in self._process.stdout:
            messages = list(decoder.feed(line))
            if self._is_copied and line.endswith(b"\n") and not decoder.garbage:
                write_bytes(line)
            for message in messages:
                self._said.put(message)
            self._last_words.extend(decoder.garbage)
            decoder.garbage.clear()

    def _read_log(self) -> None:
        for line in self._process.stderr or ():
            self._last_words.append(line.decode(errors="replace").rstrip())
