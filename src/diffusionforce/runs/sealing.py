"""How a checkpoint gets onto the disk: whole, read back, and under its name in one move.

A folder of several files has many moments in which it is half written, and a disk can lose what it said it kept. So
the files are written into a neighbour and forced to the disk, each is read back, a manifest with its size and checksum
is added last, and the neighbour takes its name in one move.
"""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Generator, Mapping
from pathlib import Path

from diffusionforce.errors import RunFolderError
from diffusionforce.job import neighbour_of
from diffusionforce.job.held_files import move_over, patiently
from diffusionforce.runs.checkpoints import (
    MANIFEST,
    CheckpointFile,
    CheckpointManifest,
    digest_of,
    manifest_file,
    read_manifest,
    require_whole,
)
from diffusionforce.runs.state import utc_now
from diffusionforce.runs.storage import storage_error


def write_checkpoint(target: Path, manifest: CheckpointManifest, files: Mapping[str, bytes]) -> None:
    """Write a checkpoint; afterwards it has been read back, or there is none.

    Args:
        target: Its folder, which is made.
        manifest: What it says about itself; the files are added.
        files: Contents by name.

    Raises:
        UserError: The disk is full, refuses, or gives back something else.
    """
    with new_checkpoint(target, manifest, expected=files) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)


@contextlib.contextmanager
def new_checkpoint(
    target: Path, manifest: CheckpointManifest, *, expected: Mapping[str, bytes] | None = None
) -> Generator[Path]:
    """Fill the folder that is given, and it becomes a checkpoint when the block ends; nothing is left if it fails.

    Args:
        target: Its folder in the end; one of another step that is there already is replaced.
        manifest: What it says about itself; the files are added.
        expected: What files have to hold when they are read back.

    Raises:
        UserError: The disk is full, refuses, or gives back something else.
    """
    folder = neighbour_of(target)
    try:
        target.parent.mkdir(exist_ok=True)
        folder.mkdir()
        yield folder
        _seal(folder, manifest, expected or {})
        _move(folder, target)
    except OSError as error:
        raise storage_error(error, target) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_checkpoint(folder: Path) -> None:
    """Remove a checkpoint, in one move as far as anybody can see; a disk that refuses keeps it."""
    gone = neighbour_of(folder)
    with contextlib.suppress(OSError):
        move_over(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)


def _seal(folder: Path, manifest: CheckpointManifest, expected: Mapping[str, bytes]) -> None:
    """Force everything to the disk, read it back, and add the manifest."""
    found: dict[str, CheckpointFile] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        _sync_file(path)
        digest, size_bytes, _ = patiently(lambda path=path: digest_of(path, keep=False))
        if name in expected and digest != hashlib.sha256(expected[name]).hexdigest():
            raise RunFolderError(
                f"The disk does not give back what was written to {path.name} in {folder.parent}.",
                hint="Check the disk, or choose a folder on another one; what was saved before is still there.",
            )
        found[name] = CheckpointFile(size_bytes=size_bytes, sha256=digest)
    content = manifest_file(manifest.model_copy(update={"files": found, "saved_at": utc_now()}))
    with (folder / MANIFEST).open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    read_manifest(folder)
    _sync_folder(folder)


def _move(folder: Path, target: Path) -> None:
    """Give a whole folder its name, unless one of the same step that is whole bears it already."""
    if target.exists():
        try:
            if require_whole(target).step == read_manifest(folder).step:
                return
        except RunFolderError:
            pass
        remove_checkpoint(target)
    move_over(folder, target)
    _sync_folder(target.parent)


def _sync_file(path: Path) -> None:
    """Force what was written to a file to the disk."""
    with patiently(lambda: path.open("r+b")) as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system lets folders be opened for it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
