"""A place for a new run, and the runs there are."""

import contextlib
import itertools
import re
from collections.abc import Generator, Iterator
from datetime import datetime
from pathlib import Path

from diffusionforce.errors import RunFolderError
from diffusionforce.runs.folder import RunFolder
from diffusionforce.runs.home import runs_root
from diffusionforce.runs.storage import storage_error


def new_run_dir(profile_name: str) -> Path:
    """Return a free place for a run of a profile, named by the local time; it is not made.

    Args:
        profile_name: Name of the profile; what a file name cannot hold is replaced.
    """
    return next(_places(profile_name))


@contextlib.contextmanager
def claimed_run_dir(profile_name: str) -> Generator[Path]:
    """Make an empty folder for a run of a profile, which nobody else gets; it goes again if it stays empty.

    Of two processes that look for a place in the same second, both may find the same one free. Only one can make it.

    Raises:
        RunFolderError: The data folder may not be written to.
        DiskError: The disk is full.
    """
    root = runs_root()
    try:
        made = [folder for folder in (root, *root.parents) if not folder.exists()]
        root.mkdir(parents=True, exist_ok=True)
        path = next(path for path in _places(profile_name) if _is_made(path))
    except OSError as error:
        raise storage_error(error, root) from error
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):  # Not empty: there was a run.
            for folder in (path, *made):
                folder.rmdir()


def _places(profile_name: str) -> Iterator[Path]:
    safe = re.sub(r"[^\w.-]+", "-", profile_name).strip(".-")[:60] or "run"
    first = runs_root() / f"{datetime.now():%Y-%m-%d-%H%M%S}-{safe}"
    numbered = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    return (path for path in itertools.chain([first], numbered) if not path.exists())


def _is_made(path: Path) -> bool:
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True


def list_runs(root: Path) -> list[RunFolder]:
    """Return the runs in a folder, the newest first. Folders that hold no readable run are left out."""
    dated = [(started_at, folder.root.name, folder) for started_at, folder in _readable_runs(root)]
    return [folder for _, _, folder in sorted(dated, key=lambda run: run[:2], reverse=True)]


def unreadable_runs(root: Path) -> list[RunFolder]:
    """Return the runs in a folder whose state is there but cannot be read, by name, the last first."""
    found: list[RunFolder] = []
    for path in _folders(root):
        folder = RunFolder(path)
        try:
            RunFolder.open(path).read_state()
        except RunFolderError:
            if folder.state_path.is_file():
                found.append(folder)
    return sorted(found, key=lambda folder: folder.root.name, reverse=True)


def _folders(root: Path) -> list[Path]:
    try:
        return [path for path in root.iterdir() if path.is_dir()]
    except OSError:
        return []


def _readable_runs(root: Path) -> Iterator[tuple[str, RunFolder]]:
    for path in _folders(root):
        try:
            folder = RunFolder.open(path)
            started_at = folder.read_state().started_at
        except RunFolderError:
            continue
        yield started_at, folder
