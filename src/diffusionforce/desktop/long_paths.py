"""Paths of more than 260 characters, which Windows takes only if it has been told to.

Python and our launcher ask for them in their manifests; the switch in the registry decides. Without it a run in a deep
folder would end at its first save, whose path is the longest.
"""

import sys
from pathlib import Path

from diffusionforce.desktop.registry import windows_settings

MOST_CHARACTERS = 259
LONGEST_INSIDE = 120
"""Of the paths of files in a run folder, the names of those that are being written included."""


def too_long(folder: Path, *, inside: int = LONGEST_INSIDE, is_windows: bool | None = None) -> int:
    """Return by how many characters the files of a folder would have paths that this system does not take; 0 if none.

    Args:
        folder: The folder.
        inside: Characters of the longest path in it.
        is_windows: For tests; this system if None.
    """
    on_windows = sys.platform == "win32" if is_windows is None else is_windows
    surplus = len(str(folder)) + 1 + inside - MOST_CHARACTERS
    return surplus if on_windows and surplus > 0 and not takes_long_paths() else 0


def takes_long_paths() -> bool:
    """Tell whether this system takes paths of any length that file systems do."""
    settings = windows_settings()
    return settings is None or settings.long_paths is True
