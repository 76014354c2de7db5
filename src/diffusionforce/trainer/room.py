"""Room on the disk for what a run is about to write, looked at before it writes.

A disk that fills up overnight would end the run in the middle of a save. So before each step that ends in a save or in
samples, the run looks whether they fit, and waits until they do, or until somebody tells it to go on all the same. The
same for a folder that is not there any more, because somebody moved it or its drive went away, or that has become
read-only: what comes next would be lost.
"""

import errno
import os
import shutil
from pathlib import Path
from typing import Literal, TypeAlias

from diffusionforce.engines.contract import Lack
from diffusionforce.job import Job
from diffusionforce.trainer.patience import is_due
from diffusionforce.trainer.preflight import MIB, pass_bytes, save_bytes, shown_size
from diffusionforce.wire import Checkpoint, Message, Sample, Step

Asked: TypeAlias = Literal["step", "save", "sample"]
STATE_NAME = "run.json"
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
NOTES_BYTES = 4 * MIB
"""For the log, the telemetry and the state."""


class Room:
    """Looks at the disk of one run.

    Args:
        job: Says what is written when.
        step: The last step that was taken.
    """

    def __init__(self, job: Job, *, step: int = 0) -> None:
        self._root, self._profile, self._step = job.run_dir, job.profile, step
        self._is_made = _is_there(self._root)
        self._save_bytes, self._pass_bytes = save_bytes(job.profile), pass_bytes(job.profile)

    def note(self, message: Message) -> None:
        """Take in a record; what was saved tells how large the next save is, if that is more than was thought."""
        match message:
            case Step():
                self._step = message.step
            case Checkpoint():
                self._save_bytes = max(self._save_bytes, message.size_bytes)
            case Sample():
                size_bytes = _size_bytes(self._root / message.path) * message.num_prompts
                self._pass_bytes = max(self._pass_bytes, size_bytes)
            case _:
                pass

    def lack(self, asked: Asked) -> Lack | None:
        """Return what is lacking for what comes next; None if nothing is.

        Args:
            asked: A `step`, with what is due after it, or what was asked for out of turn.
        """
        if self._is_made and not _is_there(self._root):
            return _gone(self._root)
        needed_bytes = self._needed_bytes(asked)
        if needed_bytes and self._is_made and not _takes_files(self._root):
            return _read_only(self._root)
        free_bytes = _free_bytes(self._root) if needed_bytes else None
        if free_bytes is None or free_bytes >= needed_bytes:
            return None
        return Lack(
            sentence=f"The disk is nearly full: {shown_size(free_bytes)} free, {shown_size(needed_bytes)} needed for "
            "what is saved next.",
            hint=f"Free {shown_size(needed_bytes - free_bytes)} on the disk with {self._root}: the run goes on by "
            "itself then. Resume goes on at once; if there really is no room, the run ends at the next save.",
        )

    def _needed_bytes(self, asked: Asked) -> int:
        step, num_steps = self._step + 1, self._profile.training.steps
        saves, samples = self._profile.checkpoints.every_steps, self._profile.samples.every_steps
        has_save, has_pass = asked == "save", asked == "sample"
        if asked == "step":
            # Once all steps are taken, only the samples of the last one may be left.
            has_save = step == num_steps or (step < num_steps and is_due(step, saves))
            has_pass = step >= num_steps or is_due(step, samples)
        writes_bytes = self._save_bytes * has_save + self._pass_bytes * has_pass
        return writes_bytes + NOTES_BYTES if has_save or has_pass else 0


def _gone(root: Path) -> Lack:
    return Lack(
        sentence=f"The run's folder {root} is gone: it was moved or removed, or its drive is not connected any more.",
        hint="Bring it back to where it was: the run goes on by itself then. Nothing is lost as long as it waits.",
    )


def _read_only(root: Path) -> Lack:
    return Lack(
        sentence=f"The run's folder {root} takes no files any more: it, or its disk, is read-only.",
        hint="Let it be written to again: the run goes on by itself then. Resume tries at once.",
    )


def _takes_files(root: Path) -> bool:
    """Whether files in a folder may be written. The state is always there; it is opened and left as it is."""
    try:
        os.close(os.open(root / STATE_NAME, os.O_WRONLY))
    except OSError as error:
        return error.errno not in _READ_ONLY
    return os.access(root, os.W_OK)


def _is_there(root: Path) -> bool:
    """Whether a folder is there; a drive that does not answer has none."""
    try:
        return root.is_dir()
    except OSError:
        return False


def _free_bytes(root: Path) -> int | None:
    """Return the free bytes of a folder's disk; None where nobody can say, and the write itself will tell."""
    try:
        return shutil.disk_usage(root).free
    except OSError:
        return None


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
