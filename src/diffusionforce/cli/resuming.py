"""The job of a run that goes on where another ended, or does the same again: that one's, in a folder of its own."""

import argparse

from diffusionforce.cli.arguments import named_run, user_path, with_devices, with_settings, with_steps
from diffusionforce.errors import ProfileError, RunFolderError
from diffusionforce.job import Job, read_job
from diffusionforce.runs import RunFolder, new_run_dir

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
    _refuse_decided(options, "--resume")
    folder = _ended_run(options.resume, option="--resume")
    state = folder.newest_state()
    if state is None:
        raise RunFolderError(
            f"{folder.root} holds no saved state to go on from.",
            hint="Runs of the real models save one with every LoRA file (checkpoints.every_steps), when they are "
            "stopped, and at their end. The pocket model saves none: train it from the start.",
        )
    job = read_job(folder.job_path)
    changed_job = _with_options(job, options)
    if changed_job.profile.lora != job.profile.lora:
        raise ProfileError(
            "A run that goes on keeps its LoRA as it is.",
            hint=f"Begin anew with other settings of the LoRA: diffusionforce run --again {options.resume} ...",
        )
    return changed_job.model_copy(update={"resume": state})


def repeated_job(options: argparse.Namespace) -> Job:
    """Return the job that does again what a run did, from its beginning.

    Args:
        options: The arguments; `again` is a run folder, or the name of one in the data folder.

    Raises:
        ProfileError: An argument is one that the run decides.
        RunFolderError: There is no such run, or it still runs.
    """
    _refuse_decided(options, "--again")
    return _with_options(read_job(_ended_run(options.again, option="--again").job_path), options)


def _refuse_decided(options: argparse.Namespace, option: str) -> None:
    for name, shown in _DECIDED.items():
        if getattr(options, name) is not None:
            raise ProfileError(
                f"{shown} and {option} exclude each other: a run goes on with its own profile and pictures.",
                hint=f"With {option}, you may give --set, --way, --steps, --devices, --out and --json.",
            )


def _with_options(job: Job, options: argparse.Namespace) -> Job:
    profile = with_settings(with_devices(with_steps(job.profile, options.steps), options.devices), options.settings)
    out = new_run_dir(job.profile_name) if options.out is None else user_path(options.out, option="--out")
    way = job.way if options.way is None else options.way
    return job.model_copy(update={"profile": profile, "run_dir": out, "way": way})


def _ended_run(text: str, *, option: str) -> RunFolder:
    folder = named_run(text, option=option)
    if folder.reconciled_state().state == "running":
        raise RunFolderError(f"{folder.root} still runs.", hint="Stop it first; what it has is kept.")
    return folder
