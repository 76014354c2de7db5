"""One window for one data folder: who comes second learns that there is a first.

The claim is a lock on a file, which the system gives up with the process, whatever ends that. On Windows the first one
holds a mutex as well, by whose name the installer and the launcher know that the program runs.
"""

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

MUTEX_NAME = "Local\\DiffusionForce.App"
LOCK_NAME = "window.lock"


class FileClaim:
    """A claim to be the only process that works on something.

    Args:
        path: The file that is locked; made, with its folder, if it is not there, and left there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def take(self) -> bool:
        """Take the claim; tells whether we are the only one. Where files cannot be locked, everybody is."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return True
        if not _is_locked(self._file):
            self.give_up()
            return False
        return True

    def give_up(self) -> None:
        """Let another one be the first."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Claim:
    """A claim to be the only window.

    Args:
        folder: What there is to be one for; made if it is not there.
        kernel32: Windows' library, or a stand-in with the same functions; None takes it where there is one.
    """

    def __init__(self, folder: Path, *, kernel32: Any = None) -> None:
        self._claim = FileClaim(folder / LOCK_NAME)
        self._kernel32 = kernel32 or _kernel32()
        self._mutex: int | None = None

    def take(self) -> bool:
        """Take the claim; tells whether we are the only one. Where files cannot be locked, everybody is."""
        if not self._claim.take():
            return False
        if self._kernel32 is not None:
            self._kernel32.CreateMutexW.restype = ctypes.c_void_p
            self._mutex = self._kernel32.CreateMutexW(None, False, MUTEX_NAME)
        return True

    def give_up(self) -> None:
        """Let another one be the first."""
        self._claim.give_up()
        if self._mutex and self._kernel32 is not None:
            self._kernel32.CloseHandle(ctypes.c_void_p(self._mutex))
            self._mutex = None


def let_others_come_to_front() -> None:
    """Let the window that is there come to the front: Windows allows that to whoever the user has just started."""
    if sys.platform == "win32":
        ctypes.WinDLL("user32").AllowSetForegroundWindow(ctypes.c_uint32(0xFFFFFFFF))


def _kernel32() -> Any:
    return ctypes.WinDLL("kernel32") if sys.platform == "win32" else None


def _is_locked(file: int) -> bool:
    """Lock an open file; tells whether that worked."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - other systems have no such module

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - Windows has no such module

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return sys.platform != "win32"  # Elsewhere a file system that has no locks.
    return True
