"""Notices that whoever started this run is gone, and has the run go on or save and end, as its job asks.

A window that crashes, or a terminal that is closed, takes nobody along: the trainer is a process of its own. The end of
its input alone says little, since an input may be empty from the beginning, and the number of the parent says little,
since numbers are used again and on Windows the parent may be a launcher that outlives the window. So either counts: the
parent's identity is gone, or an input that was a pipe has ended.
"""

import contextlib
import os
import stat
import sys
import threading
from collections.abc import Callable

import psutil

from diffusionforce.job import Job
from diffusionforce.runs.processes import is_process_alive, mark_of
from diffusionforce.trainer.requests import Requests
from diffusionforce.wire import Command, Warn

LOOK_S = 1.0


class Parent:
    """The process that started this one; made before anything that takes time.

    Args:
        descriptor: Our input.
    """

    def __init__(self, descriptor: int) -> None:
        self._pid = os.getppid()
        self._mark = mark_of(self._pid)
        self._started_s = _started_s(self._pid)
        self._is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        self._input_ended = threading.Event()

    def note_input_end(self) -> None:
        """Take in that nothing more will come from our input."""
        self._input_ended.set()

    @property
    def is_gone(self) -> bool:
        """Whether it is gone, or has let us go."""
        if self._is_pipe and self._input_ended.is_set():
            return True
        return os.getppid() != self._pid or not is_process_alive(self._pid, started_s=self._started_s, mark=self._mark)

    def watch(self, job: Job, *, requests: Requests, warn: Callable[[Warn], None]) -> None:
        """Start the thread that does what the job asks once the parent is gone, unless the run is over before.

        Args:
            job: Says what to do.
            requests: Takes the stop.
            warn: Told why the run stops.
        """

        def look() -> None:
            while not self.is_gone:
                if requests.wait_for_end(LOOK_S):
                    return
            if job.when_alone == "go_on" or requests.is_detached:
                _log("What started this run is gone; the run goes on.")
                return
            warn(Warn(sentence="The program that started this run is gone: it saves what it has and stops."))
            requests.add(Command(command="stop"))

        threading.Thread(target=look, name="parent", daemon=True).start()


def _started_s(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0  # Gone already, or of another user, whose processes count as alive.


def _log(line: str) -> None:
    with contextlib.suppress(OSError):  # The log may lie on a full disk.
        sys.stderr.write(f"{line}\n")
