"""A place for a new run, and the runs there are."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from diffusionforce.errors import RunFolderError
from diffusionforce.runs.folder import RunFolder
from diffusionforce.runs.home import runs_root


def new_run_dir(profile_name: str) -> Path:
    """Return a free place for a run of a profile, named by the local time; it is not made.

    Args:
        profile_name: Name of the profile; what a file name cannot hold is replaced.
    """
    safe = re.sub(r"[^\w.-]+", "-", profile_name).strip(".-")[:60] or "run"
    first = runs_root() / f"{datetime.now():%Y-%m-%d-%H%M%S}-{safe}"
    path, number = first, 2
    while path.exists():
        path, number = first.with_name(f"{first.name}-{number}"), number + 1
    return path


def list_runs(root: Path) -> list[RunFolder]:
    """Return the runs in a folder, the newest first. Folders that hold no readable run are left out."""
    dated = [(folder.read_state().started_at, folder.root.name, folder) for folder in _readable_runs(root)]
    return [folder for _, _, folder in sorted(dated, key=lambda run: run[:2], reverse=True)]


def _readable_runs(root: Path) -> Iterator[RunFolder]:
    try:
        paths = [path for path in root.iterdir() if path.is_dir()]
    except OSError:
        return
    for path in paths:
        try:
            folder = RunFolder.open(path)
            folder.read_state()
        except RunFolderError:
            continue
        yield folder
