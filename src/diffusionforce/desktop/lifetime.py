"""Children that end with us, however we end: a window that is killed must leave no forecast and no download behind.

A trainer is no such child: it knows by itself what to do without us, and saves before it ends. All others do something
for somebody who looks at the window. On Windows they are put into a job object that the system closes with our process;
on Linux the kernel sends them a signal, which has to be asked for in the child itself, by `setpriv` of util-linux.
"""

import ctypes
import os
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

_EXTENDED_LIMITS = 9
_KILL_ON_CLOSE = 0x2000
_SET_QUOTA_AND_TERMINATE = 0x0101


def ending_with_us(command: Sequence[str]) -> list[str]:
    """Return a command whose process ends with ours; on Windows it has to be given to `adopt` once it runs.

    Args:
        command: The program and its arguments.
    """
    # A program that is not there is told by the system itself, not by another program.
    setpriv = shutil.which("setpriv") if sys.platform == "linux" and shutil.which(command[0]) else None
    return [setpriv, "--pdeathsig", "TERM", "--", *command] if setpriv else list(command)


def adopt(pid: int) -> bool:
    """Let a process that runs end with ours, on Windows; tells whether it will. Elsewhere its command sees to that."""
    if sys.platform != "win32":
        return True
    return _our_job().take(pid)


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("least_working_set", ctypes.c_size_t),
        ("most_working_set", ctypes.c_size_t),
        ("num_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
    )


class JobLimits(ctypes.Structure):
    """`JOBOBJECT_EXTENDED_LIMIT_INFORMATION`."""

    _fields_ = (
        ("basic", _BasicLimits),
        ("io", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


class JobObject:
    """A job object whose processes Windows ends when its handle closes, which it does with our process at the latest.

    Args:
        kernel32: Windows' library, or a stand-in with the same functions.
    """

    def __init__(self, kernel32: Any) -> None:
        self._kernel32 = kernel32
        for name in ("CreateJobObjectW", "OpenProcess"):
            getattr(kernel32, name).restype = ctypes.c_void_p
        self._handle: int | None = kernel32.CreateJobObjectW(None, None)
        limits = JobLimits()
        limits.basic.flags = _KILL_ON_CLOSE
        if self._handle and not kernel32.SetInformationJobObject(
            ctypes.c_void_p(self._handle), _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
        ):
            # Without its limit it would keep processes together and end none.
            kernel32.CloseHandle(ctypes.c_void_p(self._handle))
            self._handle = None

    def take(self, pid: int) -> bool:
        """Take in a process, with all that it starts; tells whether that worked."""
        if not self._handle:
            return False
        process = self._kernel32.OpenProcess(_SET_QUOTA_AND_TERMINATE, False, pid)
        if not process:
            return False
        try:
            return bool(
                self._kernel32.AssignProcessToJobObject(ctypes.c_void_p(self._handle), ctypes.c_void_p(process))
            )
        finally:
            self._kernel32.CloseHandle(ctypes.c_void_p(process))


@cache
def _our_job() -> JobObject:
    assert os.name == "nt"
    return JobObject(getattr(ctypes, "WinDLL")("kernel32"))  # noqa: B009 - other systems know no such name
