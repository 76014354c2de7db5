"""Several folders trained on as one dataset, each as many times as it should count.

Such a set is a folder of ours with one small file in it, so that everything that takes the folder of a dataset takes
a set as well.
"""

import tomllib
from pathlib import Path
from typing import Annotated

import tomli_w
from pydantic import Field, ValidationError

from diffusionforce.errors import DatasetError
from diffusionforce.job import write_whole
from diffusionforce.job.profile import Section

SET_NAME = "dataset-set.toml"
MAX_REPEATS = 1000


class SetFolder(Section):
    """One folder of a set."""

    path: str = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=MAX_REPEATS)
    """How many times each of its pictures counts in one pass over the data."""


class DatasetSet(Section):
    """Folders that are trained on as one dataset."""

    title: str = Field(min_length=1, max_length=200)
    folders: Annotated[tuple[SetFolder, ...], Field(strict=False, min_length=1, max_length=64)]


def is_set(root: Path) -> bool:
    """Tell whether a folder stands for a set of folders."""
    return (root / SET_NAME).is_file()


def read_set(root: Path) -> DatasetSet:
    """Read a set.

    Raises:
        DatasetError: The file cannot be read.
    """
    try:
        return DatasetSet.model_validate(tomllib.loads((root / SET_NAME).read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise DatasetError(
            f"The dataset {root.name} cannot be read.", hint="Put its folders together again.", detail=str(error)
        ) from error


def write_set(root: Path, folders: DatasetSet) -> None:
    """Write a set, whole or not at all.

    Raises:
        DatasetError: The disk refuses.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        write_whole(root / SET_NAME, tomli_w.dumps(folders.model_dump()).encode())
    except OSError as error:
        raise DatasetError(f"{root} cannot be written: {error.strerror or error}.") from error
