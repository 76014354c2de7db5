"""Files that are whole or not there: a crash, a full disk or a second writer never leaves half of one.

Writing a file in place has a moment in which a reader finds a piece of it, and a crash makes that moment last. So the
content goes to a neighbour, is forced to the disk, and takes the file's place in one move.
"""

import contextlib
import os
import secrets
import time
from pathlib import Path

PART_SUFFIX = ".part"
"""Ends the names of files that are not whole yet; a process that was killed leaves one behind."""
_WAITS_FOR_HOLDERS = os.name == "nt"
"""Whether a file that another program holds open cannot be replaced until that lets go."""
_REPLACE_TRIES = 20
_REPLACE_WAIT_S = 0.01


def neighbour_of(path: Path) -> Path:
    """A name beside a file or folder for what is not whole yet, one of its own for every writer."""
    return path.with_name(f"{path.name}.{secrets.token_hex(4)}{PART_SUFFIX}")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by way of a neighbour that takes its place: readers see the old or the new one, never a piece.

    Raises:
        OSError: The disk refuses; the old file is still there. The error names the file, not its neighbour.
    """
    beside = neighbour_of(path)
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _replace(beside, path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def _replace(source: Path, target: Path) -> None:
    """Move a file over another; where that is refused while a program holds the other, wait a moment for it."""
    for attempt in range(_REPLACE_TRIES):
        try:
            source.replace(target)
            return
        except PermissionError:
            if not _WAITS_FOR_HOLDERS or attempt == _REPLACE_TRIES - 1:
                raise
            time.sleep(_REPLACE_WAIT_S)
