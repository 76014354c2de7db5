"""What can be refused before a model is loaded or a byte is written, all problems at once."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from diffusionforce.datasets import Dataset, Finding, read_folder
from diffusionforce.datasets.intakes import intake_of
from diffusionforce.engines.contract import Datasets
from diffusionforce.errors import DiskError, RunFolderError, UserError
from diffusionforce.job import Job, Profile
from diffusionforce.runs import RunFolder

MIB = 1024**2
_LORA_BYTES_PER_RANK = {"pocket": MIB // 10, "musubi": 10 * MIB}
_STATE_LORAS = 6
"""A checkpoint holds the LoRA and two averages of it in float32; the file of a LoRA has half as many bytes a number."""
_MUSUBI_STATES = 3
"""Checkpoints that the engine for the real models lets lie at a time."""
_NOTES_BYTES = 16 * MIB

_Result = TypeVar("_Result")


def check(job: Job) -> Datasets:
    """Return the pictures of a job that could start. Every one has been decoded, and is let go again.

    Raises:
        UserError: The first problem; the hint names the others.
    """
    problems: list[UserError] = []
    intake = intake_of(job.profile)
    training = _tried(problems, lambda: read_folder(job.dataset_dir, intake=intake))
    held_out_dir = job.held_out_dir
    held_out = _tried(problems, lambda: read_folder(held_out_dir, intake=intake)) if held_out_dir is not None else None
    _tried(problems, lambda: RunFolder.check(job.run_dir))
    _tried(problems, lambda: check_free_space(job))
    if training is None or problems:
        raise _all_in_one(problems)
    return Datasets(training=_with_notes(training, job), held_out=held_out)


def _with_notes(dataset: Dataset, job: Job) -> Dataset:
    """Add what the engine makes of the folders; the pocket model has one size."""
    sized = [part.folder for part in dataset.parts if part.folder.width]
    if job.profile.model.engine != "pocket" or not sized:
        return dataset
    note = Finding(
        path=dataset.root,
        sentence=f"The pocket model trains everything at {job.profile.dataset.width} x {job.profile.dataset.height}.",
        hint="The sizes that folders of this dataset name are for other models.",
        left_out=False,
    )
    return replace(dataset, findings=(*dataset.findings, note))


def findings_of(datasets: Datasets) -> tuple[Finding, ...]:
    """Return what is odd about the pictures, those that measure the training included."""
    measuring = datasets.held_out.findings if datasets.held_out is not None else ()
    return (
        *datasets.training.findings,
        *(replace(finding, sentence=f"Held-out pictures: {finding.sentence}") for finding in measuring),
    )


def check_free_space(job: Job) -> None:
    """Refuse a run whose files the disk cannot hold.

    Raises:
        RunFolderError: The folder is on no disk, like `/proc`.
        DiskError: Too little space is free; both numbers are named.
    """
    place = next(path for path in (job.run_dir, *job.run_dir.parents) if path.is_dir())
    usage = shutil.disk_usage(place)
    if usage.total == 0:
        raise RunFolderError(f"{place} is not writable.", hint="Choose a folder on a disk.")
    free_bytes, needed_bytes = usage.free, needed_space_bytes(job.profile)
    if free_bytes < needed_bytes:
        raise DiskError(
            f"The disk with {place} has {shown_size(free_bytes)} free, the run needs about {shown_size(needed_bytes)}.",
            hint=f"Free {shown_size(needed_bytes - free_bytes)}, or choose a folder on another disk.",
        )


def needed_space_bytes(profile: Profile) -> int:
    """Return a cautious estimate of what a run writes: samples as raw pixels, LoRA files and checkpoints by
    rank, notes."""
    samples, saves = profile.samples, profile.checkpoints
    num_passes = 2 + (profile.training.steps // samples.every_steps if samples.every_steps else 0)
    num_saves = 1 + min(_most_kept(profile), profile.training.steps // saves.every_steps if saves.every_steps else 0)
    num_states = min(num_saves, _MUSUBI_STATES) if profile.model.engine == "musubi" else num_saves
    saved_bytes = (num_saves + num_states * _STATE_LORAS) * _lora_bytes(profile)
    return num_passes * pass_bytes(profile) + saved_bytes + _NOTES_BYTES


def save_bytes(profile: Profile) -> int:
    """Return the estimate of one save: the LoRA, and what a run goes on from."""
    return (1 + _STATE_LORAS) * _lora_bytes(profile)


def pass_bytes(profile: Profile) -> int:
    """Return the estimate of the samples of one pass, as raw pixels."""
    samples = profile.samples
    return len(samples.prompts) * samples.width * samples.height * 3 * samples.num_frames


def _lora_bytes(profile: Profile) -> int:
    return _LORA_BYTES_PER_RANK[profile.model.engine] * profile.lora.rank


def _most_kept(profile: Profile) -> int:
    """How many saves lie there at a time: those that a rule keeps, and the new one."""
    saves, steps = profile.checkpoints, profile.training.steps
    num_spaced = steps // saves.keep_every_steps if saves.keep_every_steps else 0
    return saves.keep + saves.keep_best + num_spaced + 1


def _tried(problems: list[UserError], check: Callable[[], _Result]) -> _Result | None:
    try:
        return check()
    except UserError as problem:
        problems.append(problem)
        return None


def _all_in_one(problems: list[UserError]) -> UserError:
    first, *others = problems
    if not others:
        return first
    hints = [first.hint, *(f"Also: {other}" for other in others)]
    return type(first)(first.sentence, hint="\n".join(filter(None, hints)), detail=first.detail)


def shown_size(size_bytes: int) -> str:
    """Return a size for a sentence."""
    return f"{size_bytes / 1024**3:.1f} GB" if size_bytes >= 1024**3 else f"{max(1, size_bytes // MIB)} MB"
