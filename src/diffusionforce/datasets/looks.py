"""What was seen in pictures at the last check, kept so that the next one decodes only what has changed.

A repair is followed by a check; without this, each click in a folder of ten thousand would cost minutes.
"""

import base64
import contextlib
import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from diffusionforce.datasets.looking import Look
from diffusionforce.job import write_whole

VERSION = 2
"""Changes with what is seen in a picture, so that older files are not believed."""
MAX_FOLDERS = 64


class _Kept(BaseModel):
    """A look at a file of this name, size and date."""

    model_config = ConfigDict(frozen=True)

    version: int = VERSION
    name: str
    size_bytes: int
    modified_ns: int
    problem: str
    detail: str
    width: int
    height: int
    format: str
    marks: tuple[str, ...]
    num_frames: int
    digest: str
    outline: str
    colours: str


class Looks:
    """Looks at the files of one folder, in a file of the data folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        """Open what is kept of a folder.

        Args:
            root: Where the looks at all folders are kept.
            folder: The folder with the pictures.
        """
        name = hashlib.blake2b(str(folder).encode(errors="surrogateescape"), digest_size=12).hexdigest()
        self._path = root / f"{name}.jsonl"
        self._kept: dict[str, _Kept] = {}
        self._now: dict[str, _Kept] = {}
        with contextlib.suppress(OSError, ValueError):
            for line in self._path.read_bytes().splitlines():
                kept = _Kept.model_validate_json(line)
                if kept.version == VERSION:
                    self._kept[kept.name] = kept

    def get(self, path: Path) -> Look | None:
        """Return the look at a file that has not changed since; None for any other."""
        kept = self._kept.get(path.name)
        if kept is None or (kept.size_bytes, kept.modified_ns) != _stamp(path):
            return None
        self._now[kept.name] = kept
        return Look(
            problem=kept.problem,
            detail=kept.detail,
            width=kept.width,
            height=kept.height,
            format=kept.format,
            marks=kept.marks,
            num_frames=kept.num_frames,
            digest=bytes.fromhex(kept.digest),
            outline=_bits(kept.outline),
            colours=np.frombuffer(base64.b64decode(kept.colours), dtype=np.uint8) if kept.colours else None,
        )

    def put(self, path: Path, look: Look) -> None:
        """Keep a look at a file as it is now."""
        size_bytes, modified_ns = _stamp(path)
        self._now[path.name] = _Kept(
            name=path.name,
            size_bytes=size_bytes,
            modified_ns=modified_ns,
            problem=look.problem,
            detail=look.detail,
            width=look.width,
            height=look.height,
            format=look.format,
            marks=look.marks,
            num_frames=look.num_frames,
            digest=look.digest.hex(),
            outline=base64.b64encode(np.packbits(look.outline).tobytes()).decode() if look.outline is not None else "",
            colours=base64.b64encode(look.colours.tobytes()).decode() if look.colours is not None else "",
        )

    def save(self) -> None:
        """Write what was seen. A disk that refuses costs only time at the next check."""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lines = (kept.model_dump_json() for kept in self._now.values())
            write_whole(self._path, "".join(f"{line}\n" for line in lines).encode())
            oldest_first = sorted(self._path.parent.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
            for path in oldest_first[:-MAX_FOLDERS]:
                path.unlink()


def _stamp(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return -1, -1
    return stat.st_size, stat.st_mtime_ns


def _bits(text: str) -> NDArray[np.bool_] | None:
    return np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8)).astype(np.bool_) if text else None
