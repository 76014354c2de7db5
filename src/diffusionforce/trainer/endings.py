"""Exceptions turned into the last record of a run, in words that help the person who reads them."""

import os
import re
import sys
import traceback
from pathlib import Path

from diffusionforce.errors import UserError
from diffusionforce.runs import is_disk_full, shortened, storage_error
from diffusionforce.trainer.card_loss import card_loss
from diffusionforce.wire import Failed, JobChange

EXIT_OK, EXIT_FAILED, EXIT_BUG = 0, 1, 2
_LESS_MEMORY = (
    "Close other programs, choose smaller pictures or a smaller training.batch_size, "
    "or switch training.gradient_checkpointing on."
)


def failure(error: BaseException, *, place: Path, step: int | None) -> tuple[Failed, int]:
    """Return the last record for an exception that ended a run, and the exit code of the process.

    Args:
        place: The run folder. A file in it that cannot be written is no bug of ours.
        step: Last finished step, None when the training had not begun.
    """
    is_in_run = isinstance(error, OSError) and _is_inside(error.filename, place)
    if isinstance(error, Exception) and not isinstance(error, UserError) and (is_in_run or is_disk_full(error)):
        error = storage_error(error, place)
    elif isinstance(error, OSError) and _names_file(error) and _is_of_the_system(error):
        error = _refused(error, Path(error.filename))
    if isinstance(error, UserError):
        changes = tuple(JobChange(words=one.words, settings=dict(one.settings)) for one in error.changes)
        failed = Failed(sentence=error.sentence, hint=error.hint, detail=error.detail, step=step, changes=changes)
        return failed, EXIT_FAILED
    detail = "".join(traceback.format_exception(error))
    out_of_memory = _out_of_memory(error)
    if out_of_memory:
        return Failed(sentence=out_of_memory, hint=_LESS_MEMORY, detail=detail, step=step), EXIT_FAILED
    lost = card_loss(str(error)) if isinstance(error, RuntimeError) else None
    if lost is not None:
        return Failed(sentence=lost[0], hint=lost[1], detail=detail, step=step), EXIT_FAILED
    words = (str(error).strip().splitlines() or ["no message"])[0][:200]
    sentence = f"This is a bug in DiffusionForce ({type(error).__name__}: {words})."
    return Failed(sentence=sentence, hint="Please report it, with the detail.", detail=detail, step=step), EXIT_BUG


def _refused(error: OSError, path: Path) -> UserError:
    """The error for a file or folder outside the run, such as a picture, that the system does not let us use."""
    return UserError(
        f"{shortened(path)} cannot be used: {error.strerror or error}.",
        hint="Check that its folder was not moved, that its drive is connected, and that you may read it.",
        detail="".join(traceback.format_exception(error)),
    )


def _is_of_the_system(error: OSError) -> bool:
    """Whether the system refuses; a file that is missing from a folder that is there was ours to look after."""
    return not isinstance(error, FileNotFoundError) or not Path(error.filename).parent.exists()


def _names_file(error: OSError) -> bool:
    return isinstance(error.filename, str | os.PathLike)


def _is_inside(filename: object, place: Path) -> bool:
    return isinstance(filename, str | os.PathLike) and Path(filename).is_relative_to(place)


def _out_of_memory(error: BaseException) -> str:
    """Return the sentence for an exception that means too little memory, or an empty string.

    torch is asked only if an engine has loaded it.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(error, torch.OutOfMemoryError):
        card = re.search(r"GPU \d+", str(error))
        size = re.search(r"allocate ([\d.]+ \w+)", str(error))
        more = f": {size[1]} more did not fit" if size else ""
        return f"{card[0] if card else 'The graphics card'} ran out of memory{more}."
    on_cpu = isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    return "The computer ran out of memory." if on_cpu or isinstance(error, MemoryError) else ""
