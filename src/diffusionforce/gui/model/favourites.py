"""Samples that somebody marked, kept in a file of the run's folder, so that they go where the run goes."""

import json
from pathlib import Path
from typing import Any, cast

from diffusionforce.job import write_whole
from diffusionforce.runs import storage_error

FILE_NAME = "favourites.json"


class Favourites:
    """The marked samples of one run.

    Args:
        root: The run folder.
    """

    def __init__(self, root: Path) -> None:
        self._path = root / FILE_NAME
        self._marked = dict.fromkeys(_read(self._path))

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
        changed = dict(self._marked)
        is_marked = path not in changed
        if is_marked:
            changed[path] = None
        else:
            del changed[path]
        content = json.dumps({"format": 1, "samples": list(changed)}, ensure_ascii=False, indent=1)
        try:
            write_whole(self._path, content.encode())
        except OSError as error:
            raise storage_error(error, self._path) from error
        self._marked = changed
        return is_marked


def _read(path: Path) -> list[str]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return []
    samples: object = cast(dict[str, Any], content).get("samples") if isinstance(content, dict) else None
    return [path for path in cast(list[object], samples) if isinstance(path, str)] if isinstance(samples, list) else []
