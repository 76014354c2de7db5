"""The log of a run: one file that is written, and beside it those that were full before.

A library that prints on every step would fill a disk in a night, so a full file makes room for a new one, and of the
full ones the oldest goes.
"""

import contextlib
from pathlib import Path

MAX_LOG_BYTES = 8 << 20
"""Size from which on a log is full."""
NUM_FULL_LOGS = 3
"""How many full logs are kept."""
LAST_WORDS_BYTES = 8192


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
