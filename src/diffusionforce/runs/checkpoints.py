"""Checkpoints: folders from which a run goes on, whole or not there, and read back before anybody relies on them.

A folder that bears its manifest was whole once (see `sealing`): the manifest names every file with size and checksum.
Sizes are compared whenever checkpoints are listed, checksums before a run goes on from one.

Every engine fills its folders as it likes. What is in common stands here: which checkpoints a run has, how far each
had come, and which of them are whole.
"""

import dataclasses
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from diffusionforce.errors import ProfileError, RunFolderError, UserError
from diffusionforce.job import Job
from diffusionforce.wire import to_json

STATE_SUFFIX = "-state"
"""Ends the names of folders in which a run saves all that it needs to be gone on with."""
MANIFEST = "checkpoint.json"
EARLIER_NOTES = "diffusionforce.json"
"""What earlier versions noted in the engine's folders, which then had no manifest."""
_EARLIER_FILES = ("model.safetensors", "optimizer.bin", EARLIER_NOTES)
_CHUNK_BYTES = 1 << 20
_NOUGHTS = "0" * 64


class CheckpointFile(BaseModel):
    """One file of a checkpoint."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    size_bytes: int = Field(ge=0)
    sha256: str


class CheckpointManifest(BaseModel):
    """What a checkpoint says about itself.

    Attributes:
        engine: Which engine wrote it, and can read it.
        step: Last finished step in it.
        num_steps: Of the run that it was saved in.
        held_out_loss: As of that step; None where it was not measured then.
        profile: The settings of that run.
        files: Every other file of the folder, by its name.
        sha256: Of the manifest itself, with noughts in this place.
    """

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings", defer_build=True)

    schema_version: Literal[1] = 1
    engine: str
    step: int = Field(ge=0)
    num_steps: int = Field(ge=0)
    held_out_loss: float | None = None
    profile: dict[str, Any] = {}
    saved_at: str = ""
    files: dict[str, CheckpointFile] = {}
    sha256: str = _NOUGHTS


_KEPT = (("model", "family"), ("lora", "rank"))
_KEPT_BY_MUSUBI = (("training", "batch_size"), ("training", "gradient_accumulation"))
"""Its place in the data is counted in batches."""


@dataclass(frozen=True, kw_only=True)
class SavedState:
    """One checkpoint of a run, as it lies there.

    Attributes:
        path: Its folder.
        step: Last finished step in it; -1 where that cannot be told.
        held_out_loss: As of that step, None where it is not known.
        problem: Why no run can go on from it; empty for a whole one. Checksums are not compared for it.
    """

    path: Path
    step: int
    held_out_loss: float | None = None
    problem: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether a run can go on from it."""
        return not self.problem


def manifest_of(job: Job, *, step: int, held_out_loss: float | None = None) -> CheckpointManifest:
    """Return what a checkpoint of a job says about itself, before its files are known."""
    return CheckpointManifest(
        engine=job.profile.model.engine,
        step=step,
        num_steps=job.profile.training.steps,
        held_out_loss=held_out_loss,
        profile=job.profile.model_dump(mode="json", exclude_none=True),
    )


def read_manifest(folder: Path) -> CheckpointManifest:
    """Return what a checkpoint says about itself.

    Raises:
        RunFolderError: It is no checkpoint, or its manifest is damaged.
    """
    try:
        content = (folder / MANIFEST).read_bytes()
        manifest = CheckpointManifest.model_validate_json(content)
    except FileNotFoundError:
        if (folder / EARLIER_NOTES).is_file():
            return _earlier(folder)
        raise _refused(folder, f"it lacks {MANIFEST}" if folder.is_dir() else "it is not there") from None
    except OSError as error:
        raise _refused(folder, f"{MANIFEST} cannot be read", detail=str(error)) from error
    except ValidationError as error:
        raise _refused(folder, f"{MANIFEST} is damaged", detail=str(error)) from None
    unsigned = content.replace(manifest.sha256.encode(), _NOUGHTS.encode())
    if hashlib.sha256(unsigned).hexdigest() != manifest.sha256:
        raise _refused(folder, f"{MANIFEST} is damaged", detail="Its checksum is not that of its content.")
    return manifest


def manifest_file(manifest: CheckpointManifest) -> bytes:
    """Return the content of a manifest's file, with its own checksum in it."""
    unsigned = to_json(manifest.model_copy(update={"sha256": _NOUGHTS}), indent=1) + b"\n"
    return unsigned.replace(_NOUGHTS.encode(), hashlib.sha256(unsigned).hexdigest().encode())


def require_whole(folder: Path) -> CheckpointManifest:
    """Return what a checkpoint says about itself, having compared all of it with its checksums.

    Raises:
        RunFolderError: It is no checkpoint, or is damaged; the sentence names the file.
    """
    manifest = read_manifest(folder)
    for name in manifest.files:
        read_checked(folder, name, manifest=manifest, keep=False)
    return manifest


def read_checked(folder: Path, name: str, *, manifest: CheckpointManifest, keep: bool = True) -> bytes:
    """Return a file of a checkpoint, compared with its checksum.

    Args:
        folder: The checkpoint.
        name: The file.
        manifest: What the checkpoint says about itself.
        keep: Whether the content is wanted; without it, files of any size take little memory.

    Raises:
        RunFolderError: It is missing or damaged.
    """
    known = manifest.files.get(name)
    if known is None:
        raise _refused(folder, f"{MANIFEST} does not name {name}")
    try:
        digest, size_bytes, content = digest_of(folder / name, keep=keep)
    except FileNotFoundError:
        raise _refused(folder, f"it lacks {name}") from None
    except OSError as error:
        raise _refused(folder, f"{name} cannot be read", detail=str(error)) from error
    if (digest, size_bytes) != (known.sha256, known.size_bytes):
        raise _refused(folder, f"{name} is damaged", detail=f"{size_bytes} bytes, SHA-256 {digest}; wanted {known}")
    return content


def require_resumable(job: Job) -> CheckpointManifest | None:
    """Return the manifest of the checkpoint that a job goes on from; None for one that begins at its first step.

    Raises:
        RunFolderError: It is damaged, or none at all; the hint names the last good one beside it.
        ProfileError: Another engine or model wrote it, or all steps of the job are done in it.
    """
    if job.resume is None:
        return None
    try:
        manifest = require_whole(job.resume)
    except RunFolderError as error:
        raise _with_last_good(error, job.resume) from None
    engine, num_steps = job.profile.model.engine, job.profile.training.steps
    if manifest.engine != engine:
        raise ProfileError(
            f"{job.resume.name} was saved by the engine {manifest.engine}, and this job is for {engine}.",
            hint="Go on with the profile of the run that saved it.",
        )
    if manifest.step >= num_steps:
        raise ProfileError(
            f"All {num_steps} steps are done in {job.resume.name}, which is of step {manifest.step}.",
            hint=f"Train on with more of them: --steps {2 * manifest.step}",
        )
    _require_same(manifest, job)
    return manifest


def _require_same(manifest: CheckpointManifest, job: Job) -> None:
    """Refuse other settings than those it was saved with where it could not be loaded, or its steps not counted."""
    saved, wanted = manifest.profile, job.profile.model_dump(mode="json")
    for section, key in (*_KEPT, *(_KEPT_BY_MUSUBI if manifest.engine == "musubi" else ())):
        before, now = saved.get(section, {}).get(key), wanted[section][key]
        if before is not None and before != now:
            raise ProfileError(
                f"{section}.{key} is {now!r}, and {job.resume.name if job.resume else ''} was saved with {before!r}.",
                hint="Go on with the settings of the run that saved it, or begin anew.",
            )


def _with_last_good(error: UserError, folder: Path) -> RunFolderError:
    others = (state for state in whole_states(folder.parent) if state.path != folder)
    good = next((state for state in others if _is_whole(state.path)), None)
    hint = error.hint if good is None else f"The last good one is {good.path.name}: go on from step {good.step}."
    return RunFolderError(error.sentence, hint=hint, detail=error.detail)


def _is_whole(folder: Path) -> bool:
    try:
        require_whole(folder)
    except RunFolderError:
        return False
    return True


def newest_good(checkpoints_dir: Path) -> tuple[SavedState | None, list[SavedState]]:
    """Return the checkpoint to go on from, compared with its checksums, and those passed over as damaged."""
    passed_over: list[SavedState] = []
    for state in list_states(checkpoints_dir):
        try:
            require_whole(state.path)
        except RunFolderError as error:
            passed_over.append(dataclasses.replace(state, problem=error.sentence))
            continue
        return state, passed_over
    return None, passed_over


def list_states(checkpoints_dir: Path) -> list[SavedState]:
    """Return the checkpoints in a folder, the one that came farthest first; those that are not whole say why."""
    try:
        folders = [path for path in checkpoints_dir.glob(f"*{STATE_SUFFIX}") if path.is_dir()]
    except OSError:
        return []
    return sorted(map(_looked_at, folders), key=lambda state: (state.step, state.path.name), reverse=True)


def whole_states(checkpoints_dir: Path) -> list[SavedState]:
    """Return the checkpoints from which a run can go on, the one that came farthest first."""
    return [state for state in list_states(checkpoints_dir) if state.is_whole]


def step_of(folder: Path) -> int:
    """Return the last finished step in a checkpoint: by its name, where nothing else tells; -1 where that does not."""
    return _looked_at(folder).step


def _looked_at(folder: Path) -> SavedState:
    """A checkpoint by its manifest and the sizes of its files: quick enough for a list of runs."""
    try:
        manifest = read_manifest(folder)
    except RunFolderError as error:
        return SavedState(path=folder, step=_step_of_name(folder), problem=error.sentence)
    problem = ""
    for name, file in manifest.files.items():
        try:
            size_bytes = (folder / name).stat().st_size
        except OSError:
            problem = problem or _refused(folder, f"it lacks {name}").sentence
            continue
        if size_bytes != file.size_bytes:
            problem = problem or _refused(folder, f"{name} is damaged").sentence
    return SavedState(path=folder, step=manifest.step, held_out_loss=manifest.held_out_loss, problem=problem)


def digest_of(path: Path, *, keep: bool) -> tuple[str, int, bytes]:
    """Return a file's SHA-256, its size in bytes, and its content where that is to be kept.

    Raises:
        OSError: It cannot be read.
    """
    digest, size_bytes, kept = hashlib.sha256(), 0, bytearray()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            size_bytes += len(chunk)
            if keep:
                kept += chunk
    return digest.hexdigest(), size_bytes, bytes(kept)


def _earlier(folder: Path) -> CheckpointManifest:
    """What a folder without a manifest, of an earlier version, says by its files."""
    missing = [name for name in _EARLIER_FILES if not (folder / name).is_file()]
    if missing:
        raise _refused(folder, f"it lacks {', '.join(missing)}")
    try:
        notes = json.loads((folder / EARLIER_NOTES).read_bytes())
        step = len(notes["item_losses"]) // int(notes["accumulation"])
    except (OSError, ValueError, TypeError, KeyError, ZeroDivisionError, RecursionError) as error:
        raise _refused(folder, f"{EARLIER_NOTES} is damaged", detail=repr(error)) from error
    return CheckpointManifest(engine="musubi", step=step, num_steps=step)


def _step_of_name(folder: Path) -> int:
    step = re.search(r"step[_-]?0*(\d+)", folder.name)
    return int(step[1]) if step else -1


def _refused(folder: Path, why: str, *, detail: str = "") -> RunFolderError:
    return RunFolderError(
        f"{folder} is no state that a run can go on from: {why}.",
        hint="Go on from another checkpoint of the run, or start it anew.",
        detail=detail,
    )
