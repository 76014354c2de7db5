"""Bringing the engine into the user's data folder: all of it, verified, or nothing.

The files are written to a folder of their own beside the final one, compared with the manifest there, made read-only
and then moved into place in one step. Whoever pulls the plug in between leaves the final folder as it was; what is left
of such an attempt is swept away by the next. Two installations at once work in two folders, and the second to finish
finds the engine already there.
"""

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from diffusionforce.engines.musubi.manifest import Manifest, read_manifest
from diffusionforce.engines.musubi.pin import ENGINE_VARIABLE, Pin, engine_dir
from diffusionforce.engines.musubi.sources import Source, SourceError, download, open_source
from diffusionforce.engines.musubi.verification import Differences, Stamp, compare, write_stamp
from diffusionforce.errors import EngineError
from diffusionforce.runs import storage_error

Stage = Literal["download", "files"]
Report = Callable[[Stage, int, int], None]
"""Takes the stage, what is done of it and how much it is: bytes (0 if not known), or files."""

_STAGING, _ASIDE = ".new-", ".old-"


@dataclass(frozen=True, kw_only=True)
class Installation:
    """What an installation came to.

    Attributes:
        folder: Where the engine is.
        outcome: It was there already, took the place of a damaged one, or is new.
        left_out: Files of the source's package that are not the engine's; they were not installed.
    """

    folder: Path
    outcome: Literal["was there", "repaired", "installed"]
    left_out: tuple[str, ...] = ()


def install(pin: Pin, *, place: Path | None = None, manifest: Manifest | None = None, report: Report) -> Installation:
    """Install the pinned engine, or repair it.

    Args:
        pin: The pinned engine.
        place: Zip, folder or git directory to take it from; None downloads it from upstream.
        manifest: What the engine consists of; the one that ships with the product when None.
        report: Told how far it is.

    Raises:
        EngineError: The source is not the pinned engine; the sentence names the files that differ.
        UserError: The disk is full or may not be written to.
    """
    folder, manifest = engine_dir(pin), manifest or read_manifest()
    try:
        if _is_intact(folder, manifest):
            return Installation(folder=folder, outcome="was there")
        _require_ours(folder)
        source = _opened(pin, place, report)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder.parent)
        with _staging(folder.parent) as staging:
            _copy(source, staging, manifest, title=str(place or pin.upstream), pin=pin, report=report)
            stamp = _verified(staging, manifest)
            _protect(staging)
            is_repair = _put_in_place(staging, folder, manifest)
        write_stamp(folder, stamp)
    except OSError as error:
        raise storage_error(error, Path(error.filename or folder)) from error
    left_out = tuple(name for name in source.names() if name.startswith("src/") and name not in manifest.files)
    return Installation(folder=folder, outcome="repaired" if is_repair else "installed", left_out=left_out)


def _require_ours(folder: Path) -> None:
    """Refuse to replace a folder that the user has named: it may be a checkout with other things in it."""
    if os.environ.get(ENGINE_VARIABLE) and folder.is_dir() and any(folder.iterdir()):
        raise EngineError(
            f"{folder}, named by {ENGINE_VARIABLE}, is not the engine as it was pinned, and is not replaced.",
            hint="Name a folder that is not there, or remove the variable to install it into the data folder.",
        )


def _opened(pin: Pin, place: Path | None, report: Report) -> Source:
    if place is None:
        return download(pin, report=lambda done, total: report("download", done, total))
    return open_source(place, pin)


def _copy(source: Source, staging: Path, manifest: Manifest, *, title: str, pin: Pin, report: Report) -> None:
    """Write those files of the source that are right; if any is not, refuse the source and name them."""
    missing, modified, line_ends = [], [], []
    for number, (name, file) in enumerate(manifest.files.items(), start=1):
        content = source.read(name)
        if content is None:
            missing.append(name)
        elif not file.matches(content):
            (line_ends if file.matches_but_for_line_ends(content) else modified).append(name)
        else:
            target = staging / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        report("files", number, len(manifest.files))
    differences = Differences(missing=tuple(missing), modified=tuple(modified), line_ends=tuple(line_ends))
    if not differences:
        return
    hint = f"It has to be commit {pin.commit}; install without --from to download it."
    if line_ends and not missing and not modified:
        hint = (
            "Git changed the files as it checked them out (core.autocrlf). Give the folder that holds .git, or a zip."
        )
    raise SourceError(
        f"{title} is not Musubi Tuner {pin.version} as it was pinned ({differences.words()}).",
        hint=hint,
        detail=differences.lines(),
    )


def _verified(staging: Path, manifest: Manifest) -> Stamp:
    """Read everything back: a disk that lies is found out here."""
    differences, stamp = compare(staging, manifest)
    if differences:
        raise EngineError(
            f"What was written to {staging.parent} is not what was read from it ({differences.words()}).",
            hint="Check the disk, and what else writes to that folder.",
            detail=differences.lines(),
        )
    return stamp


def _put_in_place(staging: Path, folder: Path, manifest: Manifest) -> bool:
    """Move the staging folder into place, whatever is there.

    Returns:
        Whether something damaged was there.
    """
    aside = staging.with_name(staging.name.replace(_STAGING, _ASIDE))
    is_repair = False
    if os.path.lexists(folder):
        with contextlib.suppress(FileNotFoundError):  # Another installation moved it first.
            folder.rename(aside)
            is_repair = True
    try:
        staging.rename(folder)
    except OSError:
        if not _is_intact(folder, manifest):  # Not another installation that was faster: then the disk refuses.
            if is_repair:
                aside.rename(folder)
            raise
    _remove(aside)
    return is_repair


def _is_intact(folder: Path, manifest: Manifest) -> bool:
    try:
        return folder.is_dir() and not folder.is_symlink() and not compare(folder, manifest)[0]
    except OSError:
        return False


@contextlib.contextmanager
def _staging(parent: Path) -> Iterator[Path]:
    staging = Path(tempfile.mkdtemp(prefix=f"{_STAGING}{os.getpid()}-", dir=parent))
    try:
        yield staging
    finally:
        _remove(staging)


def _sweep(parent: Path) -> None:
    """Remove what installations left behind that were ended before they could."""
    for path in [*parent.glob(f"{_STAGING}*"), *parent.glob(f"{_ASIDE}*")]:
        pid = path.name.split("-")[1]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            _remove(path)


def _protect(folder: Path) -> None:
    """Take the right to write away from files, and from folders where that means something."""
    for root, _, names in os.walk(folder):
        for name in names:
            Path(root, name).chmod(stat.S_IREAD | stat.S_IRGRP | stat.S_IROTH)
        if sys.platform != "win32":
            Path(root).chmod(0o555)


def _remove(path: Path) -> None:
    """Remove what was protected, as far as the system allows."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
        return
    for root, _, names in os.walk(path):
        with contextlib.suppress(OSError):
            Path(root).chmod(0o755)
            for name in names:
                if not Path(root, name).is_symlink():
                    Path(root, name).chmod(stat.S_IREAD | stat.S_IWRITE)
    shutil.rmtree(path, ignore_errors=True)
