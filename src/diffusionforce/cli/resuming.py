"""The job of a run that goes on where another ended, or does the same again: that one's, in a folder of its own."""

import argparse
from collections.abc import Callable
from pathlib import Path

from diffusionforce.cli import words
from diffusionforce.cli.arguments import named_run, user_path, with_devices, with_settings, with_steps
from diffusionforce.errors import ProfileError, RunFolderError
from diffusionforce.job import Job, read_job
from diffusionforce.runs import RunFolder, list_states, new_run_dir, newest_good

_DECIDED = {"profile": "PROFILE", "dataset": "--dataset", "trigger": "--trigger"}
"""What the run that is gone on with decides."""
_FREE = {"--resume": "--from, ", "--again": ""}


def resumed_job(options: argparse.Namespace, *, tell: Callable[[str], None] | None = None) -> Job:
    """Return the job that goes on with a run.

    Args:
        options: The arguments; `resume` is a run folder, or the name of one in the data folder.
        tell: Told which checkpoint is taken where that is not the newest, one line each.

    Raises:
        ProfileError: An argument is one that the run decides.
        RunFolderError: There is no such run, it still runs, or it has no checkpoint that can be gone on from.
    """
    _refuse_decided(options, "--resume")
    folder = _ended_run(options.resume, option="--resume")
    job = read_job(folder.job_path)
    state = _newest(folder, job, tell) if options.from_step is None else _of_step(folder, options.from_step)
    changed_job = _with_options(job, options)
    if changed_job.profile.lora != job.profile.lora:
        raise ProfileError(
            "A run that goes on keeps its LoRA as it is.",
            hint=f"Begin anew with other settings of the LoRA: diffusionforce run --again {options.resume} ...",
        )
    return changed_job.model_copy(update={"resume": state})


def _newest(folder: RunFolder, job: Job, tell: Callable[[str], None] | None) -> Path:
    """The newest checkpoint that is whole; that which the run itself went on from, if it came to none of its own."""
    state, passed_over = newest_good(folder.checkpoints_dir)
    if state is not None:
        if passed_over and tell is not None:
            for damaged in passed_over:
                tell(damaged.problem)
            tell(f"The last good checkpoint is taken: {state.path.name}, of step {state.step}.")
        return state.path
    if job.resume is not None and not passed_over and job.resume.is_dir():
        return job.resume
    anew = f"Begin anew: diffusionforce run --again {words.named_run(folder.root)}"
    if passed_over:
        raise RunFolderError(passed_over[0].problem, hint=f"There is no other one to go on from. {anew}")
    raise RunFolderError(
        f"{folder.root} holds no checkpoint to go on from.",
        hint="A run saves one with every LoRA file (checkpoints.every_steps), when it is stopped, and at its end. "
        + anew,
    )


def _of_step(folder: RunFolder, text: str) -> Path:
    """The checkpoint of a step."""
    states = list_states(folder.checkpoints_dir)
    found = next((state for state in states if str(state.step) == text.strip()), None)
    if found is None:
        known = ", ".join(str(state.step) for state in reversed(states) if state.is_whole) or "none"
        raise RunFolderError(
            f"{folder.root} holds no checkpoint of step {text}.", hint=f"Checkpoints that it holds: {known}."
        )
    if not found.is_whole:
        good = next((state.step for state in states if state.is_whole), None)
        hint = f"The last good one: --from {good}." if good is not None else "There is no other one."
        raise RunFolderError(found.problem, hint=hint)
    return found.path


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
                hint=f"With {option}, you may give {_FREE[option]}--set, --way, --steps, --devices, --out and --json.",
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
