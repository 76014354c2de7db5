"""The job of a run that goes on where another ended: that one's, in a folder of its own."""

import argparse
from pathlib import Path

from diffusionforce.cli.arguments import user_path, with_devices, with_steps
from diffusionforce.errors import ProfileError, RunFolderError
from diffusionforce.job import Job, read_job
from diffusionforce.runs import RunFolder, new_run_dir, runs_root

_DECIDED = {"profile": "PROFILE", "dataset": "--dataset", "trigger": "--trigger"}
"""What the run that is gone on with decides."""


def resumed_job(options: argparse.Namespace) -> Job:
    """Return the job that goes on with a run.

    Args:
        options: The arguments; `resume` is a run folder, or the name of one in the data folder.

    Raises:
        ProfileError: An argument is one that the run decides.
        RunFolderError: There is no such run, it still runs, or it saved no state.
    """
    for name, shown in _DECIDED.items():
        if getattr(options, name) is not None:
            raise ProfileError(
                f"{shown} and --resume exclude each other: a run goes on with its own profile and pictures.",
                hint="With --resume, you may give --steps, --devices, --out and --json.",
            )
    folder = _run(options.resume)
    if folder.reconciled_state().state == "running":
        raise RunFolderError(f"{folder.root} still runs.", hint="Stop it first; what it has is kept.")
    state = folder.newest_state()
    if state is None:
        raise RunFolderError(
            f"{folder.root} holds no saved state to go on from.",
            hint="Runs of the real models save one with every LoRA file (checkpoints.every_steps), when they are "
            "stopped, and at their end. The pocket model saves none: train it from the start.",
        )
    job = read_job(folder.job_path)
    profile = with_devices(with_steps(job.profile, options.steps), options.devices)
    out = new_run_dir(job.profile_name) if options.out is None else user_path(options.out, option="--out")
    return job.model_copy(update={"profile": profile, "resume": state, "run_dir": out})


def _run(text: str) -> RunFolder:
    """Return the run that the user names."""
    named = runs_root() / text
    if text.strip() and Path(text).name == text and named.is_dir() and not Path(text).is_dir():
        return RunFolder.open(named)
    return RunFolder.open(user_path(text, option="--resume"))
