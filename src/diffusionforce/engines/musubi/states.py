"""Saved states of the engine's runs: whether one is there to be gone on from, told without loading torch."""

import json
from pathlib import Path

from diffusionforce.errors import ProfileError, RunFolderError
from diffusionforce.job import Job

NOTES = "diffusionforce.json"
"""What we note beside the engine's own files; see `hooks.musubi.notes`."""
_LORA = "model.safetensors"
_OPTIMIZER = "optimizer.bin"


def require_state(job: Job) -> None:
    """Refuse a job that is to go on from a state that is not there, or from which nothing is left to do.

    Raises:
        RunFolderError: The state is incomplete, or none at all.
        ProfileError: All steps of the job are done in it.
    """
    if job.resume is None:
        return
    step = _step_of(job.resume)
    if step >= job.profile.training.steps:
        raise ProfileError(
            f"All {job.profile.training.steps} steps are done in {job.resume.name}, which is of step {step}.",
            hint=f"Train on with more of them: --steps {2 * step}",
        )


def _step_of(folder: Path) -> int:
    """Return the step after which a state was saved."""
    missing = [name for name in (_LORA, _OPTIMIZER, NOTES) if not (folder / name).is_file()]
    if missing:
        raise _no_state(folder, f"it lacks {', '.join(missing)}")
    try:
        notes = json.loads((folder / NOTES).read_bytes())
        return len(notes["item_losses"]) // int(notes["accumulation"])
    except (OSError, ValueError, TypeError, KeyError, ZeroDivisionError) as error:
        raise _no_state(folder, f"{NOTES} is damaged", detail=repr(error)) from error


def _no_state(folder: Path, why: str, *, detail: str = "") -> RunFolderError:
    return RunFolderError(
        f"{folder} is no state that a run can go on from: {why}.",
        hint="Delete that folder, and the state before it is taken, if there is one.",
        detail=detail,
    )
