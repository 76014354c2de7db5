"""Runs that train outside of the window: in a terminal, or left behind by an earlier window."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.errors import UserError
from diffusionforce.gui.model.run_title import run_title
from diffusionforce.job import Job, read_job
from diffusionforce.runs import list_runs


@dataclass(frozen=True, kw_only=True)
class RunElsewhere:
    """A run that goes on without this window: its folder and its name."""

    root: Path
    title: str


def run_elsewhere(root: Path) -> RunElsewhere | None:
    """Return a run in a folder of runs whose process lives, the newest; None where all have ended."""
    for folder in list_runs(root):
        with contextlib.suppress(UserError):
            if folder.reconciled_state().state != "running":
                continue
            job: Job | None = None
            with contextlib.suppress(UserError):
                job = read_job(folder.job_path)
            return RunElsewhere(root=folder.root, title=run_title(folder.root, job))
    return None
