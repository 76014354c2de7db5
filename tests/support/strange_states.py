"""Checkpoints of a stranger: a pickle that leaves a mark when it is opened, under checksums that are right."""

import os
import pickle
from pathlib import Path
from typing import Any

from diffusionforce.runs.checkpoints import MANIFEST, CheckpointFile, digest_of, manifest_file, read_manifest


class Evil:
    """Makes a folder when it is unpickled.

    Args:
        marker: The folder.
    """

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._marker),)


def evil_pickle(marker: Path) -> bytes:
    """A pickle that makes a folder when it is opened, as has been tried."""
    content = pickle.dumps(Evil(marker))
    pickle.loads(content)  # noqa: S301 - our own
    marker.rmdir()
    return content


def seal(folder: Path) -> None:
    """Give a checkpoint the checksums of what is in it now, as anybody can."""
    files: dict[str, CheckpointFile] = {}
    for path in folder.iterdir():
        if path.name != MANIFEST:
            digest, size_bytes, _ = digest_of(path, keep=False)
            files[path.name] = CheckpointFile(size_bytes=size_bytes, sha256=digest)
    manifest = read_manifest(folder).model_copy(update={"files": files})
    (folder / MANIFEST).write_bytes(manifest_file(manifest))
