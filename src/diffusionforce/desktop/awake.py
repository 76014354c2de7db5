"""Keeps the computer from going to sleep by itself while something works, and lets it again afterwards.

A computer that nobody touches sleeps after half an hour, and a training is nothing that counts as a touch. Screens may
go dark. A lid that is closed, or a battery that is empty, is another matter: the run goes on when it wakes up.
"""

import contextlib
import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self

from diffusionforce.desktop import children

CONTINUOUS, SYSTEM_REQUIRED = 0x80000000, 0x00000001
_END_WAIT_S = 2.0


class Sleep(Protocol):
    """What the system offers to keep it awake."""

    def hold_back(self) -> bool:
        """Keep it awake; tells whether the system agreed."""
        ...

    def allow(self) -> None:
        """Let it sleep again."""
        ...


class WindowsSleep:
    """The execution state of a thread, so all calls have to come from one that lives as long as the work.

    Args:
        kernel32: Windows' library, or a stand-in with the same function.
    """

    def __init__(self, kernel32: Any) -> None:
        self._kernel32 = kernel32

    def hold_back(self) -> bool:
        """Keep the system awake; tells whether it agreed."""
        return bool(self._kernel32.SetThreadExecutionState(ctypes.c_uint32(CONTINUOUS | SYSTEM_REQUIRED)))

    def allow(self) -> None:
        """Let it sleep again."""
        self._kernel32.SetThreadExecutionState(ctypes.c_uint32(CONTINUOUS))


class LinuxSleep:
    """A lock of logind, held by a child that waits for the end of its input: it ends with us in any case.

    Args:
        program: `systemd-inhibit`; None where there is none.
        why: Told to whoever asks what keeps the system awake.
        start: Starts a program, for tests.
    """

    def __init__(
        self,
        program: str | None,
        *,
        why: str = "A LoRA is being trained",
        start: Callable[..., "subprocess.Popen[bytes]"] = children.start,
    ) -> None:
        self._program, self._why, self._start = program, why, start
        self._holder: subprocess.Popen[bytes] | None = None

    def hold_back(self) -> bool:
        """Keep the system awake; tells whether it was asked. One without logind answers nothing."""
        if self._program is None or self._holder is not None:
            return self._holder is not None
        command = [
            self._program,
            "--what=idle:sleep",
            "--who=DiffusionForce",
            f"--why={self._why}",
            "--mode=block",
            "cat",
        ]
        try:
            self._holder = self._start(
                command, stdin=children.PIPE, stdout=children.DEVNULL, stderr=children.DEVNULL, own_session=True
            )
        except OSError:
            return False
        return True

    def allow(self) -> None:
        """Let it sleep again."""
        holder, self._holder = self._holder, None
        if holder is None:
            return
        with contextlib.suppress(OSError):
            if holder.stdin is not None:
                holder.stdin.close()
        try:
            holder.wait(_END_WAIT_S)
        except subprocess.TimeoutExpired:
            holder.kill()
            holder.wait()

    @property
    def is_held(self) -> bool:
        """Whether the lock is held now: where the system refuses, the child has ended."""
        return self._holder is not None and self._holder.poll() is None


class _OtherSleep:
    """A system that is not known: it sleeps when it likes."""

    def hold_back(self) -> bool:
        """Do nothing."""
        return False

    def allow(self) -> None:
        """Do nothing."""


class Awake:
    """Keeps the computer awake while it is entered, except in pauses.

    Args:
        sleep: What the system offers; this one's if None.
    """

    def __init__(self, sleep: Sleep | None = None) -> None:
        self._sleep = sleep or system_sleep()
        self._is_held = False

    def __enter__(self) -> Self:
        self.pause(False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pause(True)

    def pause(self, is_paused: bool) -> None:
        """Let the computer sleep for now, or no longer."""
        if is_paused and self._is_held:
            self._is_held = False
            self._sleep.allow()
        elif not is_paused and not self._is_held:
            self._is_held = self._sleep.hold_back()


def system_sleep() -> Sleep:
    """Return what this system offers."""
    if sys.platform == "win32":
        return WindowsSleep(ctypes.WinDLL("kernel32"))
    if sys.platform == "linux":
        return LinuxSleep(shutil.which("systemd-inhibit"))
    return _OtherSleep()
