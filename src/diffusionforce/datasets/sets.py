"""Several folders trained on as one dataset, each as many times as it should count.

Such a set is a folder of ours with one small file in it, so that everything that takes the folder of a dataset takes
a set as well.
"""

from pathlib import Path
from typing import Annotated

import tomli_w
from pydantic import AfterValidator, Field, model_validator

from diffusionforce.errors import DatasetError
from diffusionforce.job import loaded_toml, write_whole
from diffusionforce.job.profile import Section

SET_NAME = "dataset-set.toml"
MAX_REPEATS = 1000
MAX_FRAMES = 1000
MIN_SIZE_PX, SIZE_STEP_PX = 64, 16


def _whole_size(size_px: int) -> int:
    if size_px and (size_px < MIN_SIZE_PX or size_px % SIZE_STEP_PX):
        raise ValueError(f"a size is {MIN_SIZE_PX} or more and a multiple of {SIZE_STEP_PX}, or 0 for the usual one")
    return size_px


FolderSize = Annotated[int, Field(ge=0, le=8192), AfterValidator(_whole_size)]


class SetFolder(Section):
    """One folder of a set."""

    path: str = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=MAX_REPEATS)
    """How many times each of its pictures counts in one pass over the data."""
    width: FolderSize = 0
    """Width in pixels that its pictures are trained at; 0 takes that of the profile."""
    height: FolderSize = 0
    """Height in pixels that its pictures are trained at; 0 takes that of the profile."""
    frames: int = Field(default=0, ge=0, le=MAX_FRAMES)
    """Frames of each of its clips that are trained on; 0 takes as many as the previews of the profile have."""
    controls: str = ""
    """Folder with what its pictures are made from; empty takes the folder `control` beside them."""

    @model_validator(mode="after")
    def _sides_come_together(self) -> "SetFolder":
        if bool(self.width) != bool(self.height):
            raise ValueError("width and height are given together, or neither")
        return self

    @property
    def is_plain(self) -> bool:
        """Whether it is used as every folder is, once and at the size of the profile."""
        return self == SetFolder(path=self.path)

    def size(self, usual: tuple[int, int]) -> tuple[int, int]:
        """Return width and height that its pictures are trained at, in pixels.

        Args:
            usual: Those of the profile.
        """
        return (self.width, self.height) if self.width else usual


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
        return DatasetSet.model_validate(loaded_toml(root / SET_NAME))
    except (OSError, ValueError) as error:
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
