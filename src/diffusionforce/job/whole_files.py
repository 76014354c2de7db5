"""Files that are whole or not there: a crash, a full disk or a second writer never leaves half of one.

Writing a file in place has a moment in which a reader finds a piece of it, and a crash makes that moment last. So the
content goes to a neighbour, is forced to the disk, and takes the file's place in one move.
"""

import contextlib
import os
import secrets
from pathlib import Path

from diffusionforce.job.held_files import move_over

PART_SUFFIX = ".part"
"""Ends the names of files that are not whole yet; a process that was killed leaves one behind."""


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
        move_over(beside, path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
