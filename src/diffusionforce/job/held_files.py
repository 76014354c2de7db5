"""Files that another program holds for a moment: on Windows they can be neither moved nor opened meanwhile.

A virus scanner opens every file that has just been written, an indexer those that were renamed, a backup program all of
them. Each lets go within moments, so what they get in the way of is tried again. Other systems refuse for good reasons
only, which no waiting changes.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

WAITS_FOR_HOLDERS = os.name == "nt"
"""Whether a file that another program holds open cannot be moved or opened until that lets go."""
PATIENCE_S = 5.0
"""How long it is tried; a scanner takes a second or two over a large file."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.01, 0.25

_Result = TypeVar("_Result")


def patiently(do: Callable[[], _Result]) -> _Result:
    """Do something with a file, again for some seconds while another program holds it; return what it returns.

    Raises:
        PermissionError: Nobody let go.
        OSError: Whatever else it raises.
    """
    begin_s, wait_s = time.monotonic(), _FIRST_WAIT_S
    while True:
        try:
            return do()
        except PermissionError:
            if not WAITS_FOR_HOLDERS or time.monotonic() - begin_s > PATIENCE_S:
                raise
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)


def move_over(source: Path, target: Path) -> None:
    """Move a file to the place of another, or a folder to a free place.

    Raises:
        OSError: It cannot be moved; both are as they were.
    """
    patiently(lambda: source.replace(target))
