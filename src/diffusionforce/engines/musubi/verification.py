"""Whether the installed engine is the pinned one, file by file.

It is asked before every run. Hashing all files each time costs seconds where a virus scanner looks at every one of
them, so a stamp beside the folder remembers size and time of each file as they were when their hashes were right; only
files that look different since then are hashed again. Bytecode that Python leaves behind counts for nothing: runs keep
theirs elsewhere and never read it here.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from diffusionforce.engines.musubi.manifest import Manifest, read_manifest
from diffusionforce.engines.musubi.pin import Pin, engine_dir, read_pin
from diffusionforce.errors import EngineError
from diffusionforce.job import write_whole

INSTALL = "diffusionforce engine install"
_MOST_NAMES = 4


@dataclass(frozen=True, kw_only=True)
class Differences:
    """How a folder differs from the manifest, as file names; all empty if it does not."""

    missing: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    line_ends: tuple[str, ...] = ()
    """Those that differ by the line ends of Windows alone."""
    extra: tuple[str, ...] = ()
    """Files, and links of any kind, that are not the engine's."""

    def __bool__(self) -> bool:
        return bool(self.missing or self.modified or self.line_ends or self.extra)

    def words(self) -> str:
        """Return what differs, for a sentence; many names are cut short."""
        parts = [
            (self.modified, "modified"),
            (self.line_ends, "with the line ends of Windows"),
            (self.missing, "missing"),
            (self.extra, "not the engine's"),
        ]
        return "; ".join(f"{how}: {_listed(names)}" for names, how in parts if names)

    def lines(self) -> str:
        """Return all of it, a file a line."""
        parts = [(self.modified, "modified"), (self.line_ends, "line ends"), (self.missing, "missing")]
        return "\n".join(f"{how}: {name}" for names, how in [*parts, (self.extra, "extra")] for name in names)


class Stamp(BaseModel):
    """What the files looked like when they were last found right.

    Attributes:
        manifest: Digest of the manifest they were compared with.
        files: Size in bytes and time of last change in nanoseconds, by name.
    """

    manifest: str
    files: dict[str, tuple[int, int]]


def stamp_path(folder: Path) -> Path:
    """Return where the stamp of an engine's folder lies: beside it."""
    return folder.with_name(f"{folder.name}.verified.json")


def compare(folder: Path, manifest: Manifest, *, stamp: Stamp | None = None) -> tuple[Differences, Stamp]:
    """Compare a folder with the manifest.

    Args:
        folder: The engine's folder; if it does not exist, everything is missing.
        manifest: What should be there.
        stamp: Files that look as in this stamp are taken to be right; None hashes every file.

    Returns:
        The differences, and the stamp of what was found.
    """
    known: Mapping[str, tuple[int, int]] = {}
    if stamp is not None and stamp.manifest == manifest.digest:
        known = stamp.files
    looks = dict(_walk(folder, ""))
    modified, line_ends = [], []
    for name, file in manifest.files.items():
        look = looks.get(name)
        if look is None or known.get(name) == look:
            continue
        content = (folder / name).read_bytes()
        if not file.matches(content):
            (line_ends if file.matches_but_for_line_ends(content) else modified).append(name)
    differences = Differences(
        missing=tuple(name for name in manifest.files if looks.get(name) is None and name not in looks),
        modified=tuple(modified),
        line_ends=tuple(line_ends),
        extra=tuple(name for name, look in looks.items() if look is None or name not in manifest.files),
    )
    found = {name: look for name, look in looks.items() if look is not None}
    return differences, Stamp(manifest=manifest.digest, files=found)


def verify(
    pin: Pin | None = None,
    *,
    folder: Path | None = None,
    manifest: Manifest | None = None,
    every_byte: bool = False,
) -> Path:
    """Return the engine's folder if what is installed there is the pinned engine.

    Args:
        pin: The pinned engine; the one that ships with the product when None.
        folder: Where to look; the user's data folder when None.
        manifest: What should be there; the one that ships with the product when None.
        every_byte: Hash every file, even if it looks as when it was last found right.

    Raises:
        EngineError: It is not installed, or files are missing, modified or too many; the sentence names them.
    """
    pin = pin or read_pin()
    folder = folder or engine_dir(pin)
    manifest = manifest or read_manifest()
    if not folder.is_dir():
        raise EngineError(
            f"Musubi Tuner {pin.version} is not installed.",
            hint=f"Install it: {INSTALL}",
            detail=f"Looked for in {folder}.",
        )
    stamp = None if every_byte else read_stamp(folder)
    try:
        differences, found = compare(folder, manifest, stamp=stamp)
    except OSError as error:
        raise EngineError(
            f"The engine in {folder} cannot be read: {error.strerror or error}.",
            hint=f"Check the rights of {error.filename or folder}, or install it again: {INSTALL}",
            detail=repr(error),
        ) from error
    if differences:
        with contextlib.suppress(OSError):  # Where files changed and look as before, it would go on saying all is well.
            stamp_path(folder).unlink(missing_ok=True)
        raise damage(differences, folder, pin)
    if found != stamp:
        write_stamp(folder, found)
    return folder


def damage(differences: Differences, folder: Path, pin: Pin) -> EngineError:
    """Return the user error for an installed engine that is not the pinned one."""
    return EngineError(
        f"The engine in {folder} is not Musubi Tuner {pin.version} as it was pinned ({differences.words()}).",
        hint=f"Repair it: {INSTALL}",
        detail=differences.lines(),
    )


def read_stamp(folder: Path) -> Stamp | None:
    """Return the stamp of an engine's folder, or None if there is no readable one."""
    try:
        return Stamp.model_validate_json(stamp_path(folder).read_bytes())
    except (OSError, ValidationError):
        return None


def write_stamp(folder: Path, stamp: Stamp) -> None:
    """Write the stamp; where that is not possible, the next check takes a little longer."""
    with contextlib.suppress(OSError):
        write_whole(stamp_path(folder), stamp.model_dump_json().encode())


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, tuple[int, int] | None]]:
    """Yield every file by name with its size and time; None instead of these for a link or another oddity."""
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name == "__pycache__":
                    continue
                yield from _walk(Path(entry.path), f"{name}/")
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                yield name, (status.st_size, status.st_mtime_ns)
            else:
                yield name, None


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
