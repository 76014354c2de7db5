"""Where a window that crashed was, kept for the next one to tell.

A fault in the graphics driver or in Qt ends the process without a word of Python. So every window opens a file of its
own to which the interpreter writes its stack in that moment, and takes it away when it ends as it should.
"""

import contextlib
import faulthandler
import os
from pathlib import Path
from typing import IO

import psutil

from diffusionforce.runs import data_dir, is_process_alive

NUM_KEPT = 5
_OPEN, _CRASHED = "window-", "crashed-"


class CrashNotes:
    """The notes of all windows, and that of this one.

    Args:
        folder: Where they lie; a folder in the data folder if None.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or data_dir() / "crashes"
        self._file: IO[bytes] | None = None
        self._path = Path()

    def begin(self) -> Path | None:
        """Open the note of this window, and return that of the newest one that crashed since the last start."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            crashed = self._gathered()
            started_s = psutil.Process().create_time()
            self._path = self._folder / f"{_OPEN}{os.getpid()}-{int(started_s)}.txt"
            self._file = self._path.open("wb", buffering=0)
        except OSError:
            return None  # A window that cannot note its crash opens all the same.
        faulthandler.enable(self._file)
        return crashed

    def end(self) -> None:
        """Take the note away: this window ended as it should."""
        if self._file is not None:
            faulthandler.disable()
            self._file.close()
            self._file = None
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _gathered(self) -> Path | None:
        """Put the notes of windows that are gone aside, and return the newest with something in it."""
        gone = [path for path in sorted(self._folder.glob(f"{_OPEN}*.txt"), key=_written_s) if not _is_alive(path)]
        found: Path | None = None
        for path in gone:
            if path.stat().st_size:
                found = path.replace(path.with_name(path.name.replace(_OPEN, _CRASHED)))
            else:
                path.unlink()
        for path in sorted(self._folder.glob(f"{_CRASHED}*.txt"), key=_written_s)[:-NUM_KEPT]:
            path.unlink()
        return found


def _written_s(path: Path) -> float:
    return path.stat().st_mtime


def _is_alive(path: Path) -> bool:
    pid, _, started_s = path.stem.removeprefix(_OPEN).partition("-")
    return pid.isdecimal() and started_s.isdecimal() and is_process_alive(int(pid), started_s=float(started_s))
