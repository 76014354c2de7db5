"""Runs, and single LoRA files, deleted into the system's trash, from which they can be brought back."""

from dataclasses import dataclass
from pathlib import Path

from send2trash import send2trash

from diffusionforce.errors import RunFolderError, UserError
from diffusionforce.runs.folder import RunFolder
from diffusionforce.runs.lora_files import refuse_newest
from diffusionforce.runs.storage import shortened

_FOLDER_STAYS = "The folder is as it was. Delete it by hand if you want it gone: there may be no trash on its disk."
_FILE_STAYS = "The file is as it was. Delete it by hand if you want it gone: there may be no trash on its disk."


@dataclass(frozen=True, kw_only=True)
class RunContents:
    """How much a run folder holds.

    Attributes:
        num_files: All of its files.
        size_bytes: Their size together.
        num_loras: LoRA files among them.
        num_states: Checkpoints from which a run could go on.
    """

    num_files: int
    size_bytes: int
    num_loras: int
    num_states: int


def contents_of(root: Path) -> RunContents:
    """Count what a run folder holds; files that vanish meanwhile are not counted."""
    num_files = size_bytes = 0
    for path in root.rglob("*"):
        try:
            if path.is_file() and not path.is_symlink():
                size_bytes += path.stat().st_size
                num_files += 1
        except OSError:
            continue
    folder = RunFolder(root)
    loras = [path for path in folder.checkpoints_dir.glob("*.safetensors") if path.is_file()]
    return RunContents(
        num_files=num_files, size_bytes=size_bytes, num_loras=len(loras), num_states=len(folder.states())
    )


def delete_run(root: Path) -> None:
    """Move a run folder into the system's trash.

    Raises:
        RunFolderError: It is no run folder, its run goes on, or the system refuses.
    """
    folder = RunFolder.open(root)
    try:
        state = folder.reconciled_state().state
    except UserError:
        state = "failed"  # Its state cannot be read, which is a good reason to delete it.
    if state == "running":
        raise RunFolderError(f"{root.name} is still being trained.", hint="Stop it first.")
    _move_to_trash(root, hint=_FOLDER_STAYS)


def delete_lora(path: Path) -> None:
    """Move a LoRA file of a run into the system's trash.

    Raises:
        RunFolderError: It is the newest of a run that goes on, or the system refuses.
    """
    refuse_newest(path)
    _move_to_trash(path, hint=_FILE_STAYS)


def _move_to_trash(path: Path, *, hint: str) -> None:
    try:
        send2trash(str(path))
    except OSError as error:
        raise RunFolderError(
            f"The system does not take {shortened(path)} into its trash.",
            hint=hint,
            detail=str(error),
        ) from error
