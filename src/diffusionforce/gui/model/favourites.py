"""Samples that somebody marked, kept in a file of the run's folder, so that they go where the run goes."""

import contextlib
import json
from pathlib import Path

from diffusionforce.job import KeptFile
from diffusionforce.job.kept_files import listed
from diffusionforce.runs import storage_error

FILE_NAME = "favourites.json"


class Favourites:
    """The marked samples of one run.

    Args:
        root: The run folder.
    """

    def __init__(self, root: Path) -> None:
        self._file = KeptFile[list[str]](root / FILE_NAME, lambda content: listed(content, "samples", str), empty=[])
        self._marked: dict[str, None] = {}
        with contextlib.suppress(OSError):  # Marking refuses, as long as what was marked cannot be read.
            self._marked = dict.fromkeys(self._file.read())

    @property
    def paths(self) -> tuple[str, ...]:
        """The samples, relative to the run folder, in the order in which they were marked."""
        return tuple(self._marked)

    def __contains__(self, path: str) -> bool:
        return path in self._marked

    def __len__(self) -> int:
        return len(self._marked)

    def toggle(self, path: str) -> bool:
        """Mark a sample, or take the mark away; tells whether it is marked now.

        Raises:
            RunFolderError: The folder may not be written to; nothing has changed.
            DiskError: The disk is full; nothing has changed.
        """
        is_marked = path not in self._marked
        try:
            changed = dict.fromkeys(self._file.read())
            changed.pop(path, None)
            changed |= {path: None} if is_marked else {}
            content = json.dumps({"format": 1, "samples": list(changed)}, ensure_ascii=False, indent=1)
            self._file.write(content.encode())
        except OSError as error:
            raise storage_error(error, self._file.path) from error
        self._marked = changed
        return is_marked
