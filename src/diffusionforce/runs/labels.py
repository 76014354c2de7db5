"""A name and notes that the user gave to a run, in a file beside its state: the trainer neither reads nor writes it."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from diffusionforce.job import KeptFile
from diffusionforce.runs.storage import storage_error

LABEL_NAME = "label.json"
MAX_NAME, MAX_NOTES = 80, 4000


class RunLabel(BaseModel):
    """What a run is called, and what its owner wants to remember of it; both may be empty."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    name: str = Field(default="", max_length=MAX_NAME)
    notes: str = Field(default="", max_length=MAX_NOTES)


NO_LABEL = RunLabel()
"""That of a run which nobody gave one."""


def read_label(root: Path) -> RunLabel:
    """Return the label of a run; an empty one where there is none, or none that can be read."""
    try:
        return _file(root).read()
    except OSError:
        return NO_LABEL


def write_label(root: Path, label: RunLabel) -> None:
    """Keep the label of a run, whole or not at all; an empty one takes the file away.

    Raises:
        RunFolderError: The folder may not be written to.
        DiskError: The disk is full.
    """
    file = _file(root)
    try:
        if label != NO_LABEL:
            file.write(label.model_dump_json(indent=1).encode())
        elif file.read() != NO_LABEL:
            file.path.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(error, root) from error


def _file(root: Path) -> KeptFile[RunLabel]:
    return KeptFile(root / LABEL_NAME, RunLabel.model_validate_json, empty=NO_LABEL)
