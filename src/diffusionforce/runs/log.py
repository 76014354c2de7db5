"""The log of a run: one file that is written, and beside it those that were full before.

A library that prints on every step would fill a disk in a night, so a full file makes room for a new one, and of the
full ones the oldest goes.
"""

import contextlib
import re
from pathlib import Path

MAX_LOG_BYTES = 8 << 20
"""Size from which on a log is full."""
NUM_FULL_LOGS = 3
"""How many full logs are kept."""
LAST_WORDS_BYTES = 8192
_HELD_UP = re.compile(rb"^Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\)!\r?$", re.MULTILINE)
"""How `faulthandler.dump_traceback_later` begins."""
_HELD_UP_BYTES = 1 << 18


def full_log(path: Path, number: int) -> Path:
    """Return where a full log lies; the newest has number 1."""
    return path.with_name(f"{path.stem}.{number}{path.suffix}")


def put_aside(path: Path) -> None:
    """Put a full log, which nobody has open, beside the log, and remove the oldest.

    Raises:
        OSError: The disk refuses; the log is where it was.
    """
    for number in range(NUM_FULL_LOGS - 1, 0, -1):
        with contextlib.suppress(FileNotFoundError):
            full_log(path, number).replace(full_log(path, number + 1))
    path.replace(full_log(path, 1))


def size_of(path: Path) -> int:
    """Return the size of a log; 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def was_held_up(path: Path, *, at: int) -> bool:
    """Tell whether the interpreter wrote its stacks into a log because nothing else in the process ran.

    Args:
        path: The log.
        at: Where it ended before; what stands further in front is of other times.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            # A log that was full has been put aside for a new one.
            file.seek(max(0 if size < at else at, size - _HELD_UP_BYTES))
            return _HELD_UP.search(file.read()) is not None
    except OSError:
        return False


def last_words(path: Path) -> str:
    """Return the end of a log, from the start of a line; empty if there is none.

    A process that crashes writes there where it was.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LAST_WORDS_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return (text.partition("\n")[2] if size > LAST_WORDS_BYTES else text).strip()
