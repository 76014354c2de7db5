"""What the pinned engine consists of: every file with its size and SHA-256.

A version number in a file says what somebody typed; only the bytes say what runs. So the engine is whatever has these
hashes, from whichever zip, folder or git directory it came.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from diffusionforce.errors import EngineError
from diffusionforce.job import shipped_dir

_LINE = re.compile(r"([0-9a-f]{64}) (\d+) (\S.*)")


@dataclass(frozen=True, kw_only=True)
class ManifestFile:
    """One file of the engine.

    Attributes:
        name: Path inside the engine's folder, with slashes.
        size_bytes: Its size.
        sha256: Its hash, 64 hexadecimal digits.
    """

    name: str
    size_bytes: int
    sha256: str

    def matches(self, content: bytes) -> bool:
        """Return whether these are the file's bytes."""
        return len(content) == self.size_bytes and hashlib.sha256(content).hexdigest() == self.sha256

    def matches_but_for_line_ends(self, content: bytes) -> bool:
        """Return whether these are the file's bytes after a tool has given them the line ends of Windows."""
        return b"\r\n" in content and self.matches(content.replace(b"\r\n", b"\n"))


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All files of the engine, by name.

    Attributes:
        files: The files in the order of the manifest.
        digest: SHA-256 of the manifest itself; another manifest has another one.
    """

    files: dict[str, ManifestFile]
    digest: str

    @cached_property
    def size_bytes(self) -> int:
        """What all files take together."""
        return sum(file.size_bytes for file in self.files.values())


def read_manifest(path: Path | None = None) -> Manifest:
    """Return the manifest of the pinned engine.

    Args:
        path: The manifest file; the one that ships with the product when None.

    Raises:
        EngineError: The file is damaged or not there, so this installation of DiffusionForce is.
    """
    path = path or shipped_dir("vendor") / "musubi-tuner" / "MANIFEST.txt"
    try:
        text = path.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        files = [_parsed(line) for line in lines]
        if not files:
            raise ValueError("it lists no file")
    except (OSError, ValueError) as error:
        raise EngineError(
            f"{path} cannot be read, so the engine's files cannot be checked.",
            hint="Install DiffusionForce again.",
            detail=repr(error),
        ) from error
    return Manifest(files={file.name: file for file in files}, digest=hashlib.sha256(text.encode()).hexdigest())


def _parsed(line: str) -> ManifestFile:
    match = _LINE.fullmatch(line)
    name = match[3] if match else ""
    # A name that leads out of the folder would write there; ours never do, a forged manifest might.
    if match is None or name.startswith("/") or re.search(r"[\\:]", name) or {"", ".", ".."} & set(name.split("/")):
        raise ValueError(f"line {line!r}")
    return ManifestFile(name=name, size_bytes=int(match[2]), sha256=match[1])
