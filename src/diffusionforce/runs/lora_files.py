"""LoRA files of a run under names that the user gave them.

What a run told of itself stays as it was told: its telemetry goes on naming a file as it was written. So the names that
came later stand in a file of their own beside the run's state, and whoever looks for a file asks here where it is now.
A run goes on from its checkpoints, which are folders of their own, so no name that is given here can stand in its way.
"""

import re
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict

from diffusionforce.errors import RunFolderError, UserError
from diffusionforce.job import KeptFile
from diffusionforce.runs.folder import RunFolder
from diffusionforce.runs.storage import storage_error

NAMES_NAME = "lora-names.json"
SUFFIX = ".safetensors"
MAX_NAME = 120
_BAD_SIGNS = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
_TAKEN_BY_WINDOWS = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


class LoraNames(BaseModel):
    """Where files are now, by where the run says that they are; both relative to its folder, with forward slashes."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    now: dict[str, str] = {}


_NO_NAMES = LoraNames()


def _names_file(root: Path) -> KeptFile[LoraNames]:
    return KeptFile(root / NAMES_NAME, LoraNames.model_validate_json, empty=_NO_NAMES)


def present_path(root: Path, told: str) -> Path:
    """Return where a LoRA file is now.

    Args:
        root: Folder of the run.
        told: Where the run says that it is, relative to its folder.
    """
    try:
        now = _names_file(root).read().now.get(told, "")
    except OSError:
        now = ""
    renamed = root / "checkpoints" / PurePosixPath(now).name
    return renamed if now and renamed.is_file() else root / told


def checked_name(name: str) -> str:
    """Return the name of a file for what somebody typed, with its ending.

    Raises:
        RunFolderError: No file can be called that, on whichever system.
    """
    stem = name.strip()
    stem = stem[: -len(SUFFIX)].rstrip() if stem.lower().endswith(SUFFIX) else stem
    if not stem:
        raise RunFolderError("A file needs a name.", hint="Type one.")
    if bad := _BAD_SIGNS.search(stem):
        sign = bad.group() if bad.group().isprintable() else "a line break"
        raise RunFolderError(f"A name cannot hold {sign}.", hint="Letters, digits, blanks, hyphens and dots are fine.")
    if stem[0] == "." or stem[-1] == "." or _TAKEN_BY_WINDOWS.fullmatch(stem):
        raise RunFolderError(f"A file cannot be called {stem} on every system.", hint="Choose another name.")
    if len(stem.encode()) > MAX_NAME:
        raise RunFolderError("This name is too long.", hint=f"{MAX_NAME} letters are the most, fewer with accents.")
    return stem + SUFFIX


def rename_lora(root: Path, told: str, name: str) -> Path:
    """Give a LoRA file another name; what is in it stays as it is. Returns where it is now.

    Args:
        root: Folder of the run.
        told: Where the run says that the file is, relative to its folder.
        name: Its new name, with or without its ending.

    Raises:
        RunFolderError: No file can be called that, another one is, the file is gone, or its run goes on.
        DiskError: The disk is full.
    """
    wanted = checked_name(name)
    folder = RunFolder.open(root)
    if _is_going(folder):
        raise RunFolderError(
            "The run goes on, and still looks for this file by its name.", hint="Rename it when the run has ended."
        )
    path = present_path(root, told)
    target = path.with_name(wanted)
    if target == path:
        return path
    if target.exists() and not _is_same(target, path):
        raise RunFolderError(f"There is another file called {wanted}.", hint="Choose another name.")
    names = _names_file(root)
    try:
        before = names.read()
        # First what finds the file afterwards; while it is not there yet, the old place counts.
        now = PurePosixPath("checkpoints", wanted).as_posix()
        names.write(LoraNames(now={**before.now, told: now}).model_dump_json(indent=1).encode())
        try:
            path.rename(target)
        except OSError:
            names.write(before.model_dump_json(indent=1).encode())
            raise
    except FileNotFoundError as error:
        raise RunFolderError(f"{path.name} is not there any more.", detail=str(error)) from error
    except OSError as error:
        raise storage_error(error, path) from error
    _correct_state(folder, path, now)
    return target


def refuse_newest(path: Path) -> None:
    """Let the newest LoRA file of a run stay as long as the run goes on: it is what there is if that breaks off.

    Raises:
        RunFolderError: It is that file.
    """
    folder = RunFolder(path.parent.parent)
    if _is_going(folder) and folder.root / folder.newest_checkpoint() == path:
        raise RunFolderError(
            f"{path.name} is the newest file of a run that goes on.", hint="Delete it when there is a newer one."
        )


def _is_going(folder: RunFolder) -> bool:
    try:
        return folder.reconciled_state().state == "running"
    except UserError:
        return False  # A run whose state cannot be read is not one that is being trained by this version.


def _is_same(one: Path, other: Path) -> bool:
    """Tell whether two names mean one file: letters of another case do, on some systems."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def _correct_state(folder: RunFolder, before: Path, now: str) -> None:
    """Let the state of the run name its newest LoRA file as it is called now."""
    try:
        state = folder.read_state()
        if state.lora and folder.root / state.lora == before:
            folder.write_state(state.model_copy(update={"lora": now}))
    except UserError:
        return  # The file has its name; a state that cannot be written names it as it was, which `present_path` mends.
