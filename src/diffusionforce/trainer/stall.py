"""Says that a run hangs, and where, while nobody is there to ask it.

A thread of the trainer's process counts the seconds since the engine last gave a sign of life: a record, or a look at
what the outside asks. Only time in which this thread itself was running is counted, look by look, so a laptop that
slept, a process that was held, or a clock that was set look like no time at all.

What hangs inside of a library that keeps Python's lock holds up this thread as well; then the interpreter's own timer
writes the stacks, and the sentence comes when the thread runs again.
"""

import contextlib
import faulthandler
import sys
import threading
import time
from collections.abc import Callable

from diffusionforce.job import Profile
from diffusionforce.trainer.patience import Patience
from diffusionforce.wire import Message, Paused, Stalled, Warn

LOOK_S = 5.0
LOCKED_S = 60.0
"""After so long without a look of ours the interpreter writes the stacks by itself."""
_AWAY_LOOKS = 3
"""A look that comes so many times too late was none: the process did not run."""
_HINT = " ".join(
    (
        "Where it hangs is written in log.txt.",
        "It may still go on by itself; if it does not, stop the run: what was saved stays.",
    )
)

Tell = Callable[[Stalled], None]


class StallWatch:
    """Watches one run.

    Args:
        profile: Of the run.
        tell: Sends a record.
        dump: Writes the stacks of all threads to the log.
    """

    def __init__(self, profile: Profile, *, tell: Tell, dump: Callable[[], None] | None = None) -> None:
        self._patience = Patience(profile)
        self._tell = tell
        self._dump = dump or dump_stacks
        self._lock = threading.Lock()
        self._silent_s = 0.0
        self._step = 0
        self._stalled_doing = ""
        self._is_waiting = self._was_away = False
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join()

    def note(self, message: Message) -> None:
        """Take in a record of the engine; warnings come from other threads as well, and are no sign of life."""
        if isinstance(message, Stalled | Warn | Paused):
            return
        with self._lock:
            self._step = getattr(message, "step", self._step)
            self._patience.note(message, silent_s=self._silent_s, was_away=self._was_away)
        self.note_life()

    def note_life(self) -> None:
        """Take in that the engine did something, such as to ask for requests."""
        with self._lock:
            silent_s, doing = self._silent_s, self._stalled_doing
            self._silent_s, self._stalled_doing, self._was_away = 0.0, "", False
            step = self._step
        if doing:
            sentence = f"{doing} goes on after {_duration(silent_s)} without progress."
            _log(sentence)
            self._tell(Stalled(stalled=False, sentence=sentence, step=step))

    def note_pause(self, is_waiting: bool) -> None:
        """Take in that the run waits because it was asked to, or goes on."""
        with self._lock:
            self._is_waiting, self._silent_s = is_waiting, 0.0

    def note_request(self, asked: str) -> None:
        """Take in that the engine is about to do what it was asked for: `save` or `sample`."""
        with self._lock:
            if asked == "save":
                self._patience.expect_save()
            else:
                self._patience.expect_samples()

    def pass_time(self, elapsed_s: float) -> None:
        """Count the time since the last look, and say so if that was too much.

        Args:
            elapsed_s: Seconds by the clock. Where they are many more than the time between two looks, the process did
                not run, and what it does begins anew.
        """
        with self._lock:
            if self._is_waiting:
                return
            if elapsed_s > _AWAY_LOOKS * LOOK_S:
                self._was_away = True
                if not self._stalled_doing:
                    self._silent_s = 0.0
                return
            self._silent_s += elapsed_s
            is_news = self._silent_s > self._patience.allowed_s and not self._stalled_doing
            if is_news:
                self._stalled_doing = self._patience.doing
            silent_s, step, sentence = self._silent_s, self._step, self._sentence()
        if is_news:
            _log(f"{sentence} {round(silent_s)} s. The stacks of all threads, the last call first:")
            self._dump()
            self._tell(Stalled(stalled=True, sentence=sentence, hint=_HINT, step=step))

    def _sentence(self) -> str:
        step_s, doing, silent = self._patience.step_s, self._patience.doing, _duration(self._silent_s)
        if doing.startswith("Step") and step_s:
            return f"{doing} has made no progress for {silent}; steps take {step_s:.3g} s."
        return f"{doing} has made no progress for {silent}."

    def _watch(self) -> None:
        looked_s = time.monotonic()
        _arm()
        while not self._closing.wait(LOOK_S):
            _arm()
            now_s = time.monotonic()
            elapsed_s, looked_s = now_s - looked_s, now_s
            if elapsed_s > _AWAY_LOOKS * LOOK_S:
                _log(
                    f"This process did not run for {_duration(elapsed_s)}: the computer slept, the process was held, "
                    "or one call kept everything else waiting."
                )
            self.pass_time(elapsed_s)
        faulthandler.cancel_dump_traceback_later()


def dump_stacks() -> None:
    """Write where every thread is to descriptor 2, the run's log."""
    _flush()
    faulthandler.dump_traceback(file=2, all_threads=True)


def _arm() -> None:
    """Have the interpreter write the stacks if we do not come back in time; this needs no lock of Python's."""
    faulthandler.dump_traceback_later(LOCKED_S, file=2)


def _duration(seconds: float) -> str:
    return f"{round(seconds)} s" if seconds < 120 else f"{round(seconds / 60)} min"


def _log(line: str) -> None:
    with contextlib.suppress(OSError):  # The log may lie on a full disk.
        sys.stderr.write(f"{line}\n")


def _flush() -> None:
    with contextlib.suppress(OSError):
        sys.stderr.flush()
