"""Reading a dataset folder, without the window waiting for the libraries that do it.

Pillow and NumPy take a third of the window's start; they are loaded on the thread that reads the first folder.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from diffusionforce.datasets.intake import PICTURES
from diffusionforce.datasets.intakes import intake_of
from diffusionforce.job import Profile, dataset_folder

if TYPE_CHECKING:
    from diffusionforce.datasets import Dataset


def read(
    choice: str, *, profile: Profile | None, base: Path | None = None, progress: Callable[[int, int], None]
) -> "Dataset":
    """Read a dataset; call it on a thread.

    Args:
        choice: `demo:NAME` or the path of a folder.
        profile: Whose model is to be trained on it; None stands for a model of pictures.
        base: Where a relative path begins; None stands for the current folder.
        progress: Called with the number of pictures looked at and their total.

    Raises:
        ProfileError: There is no such demo dataset.
        DatasetError: The folder cannot be used.
    """
    from diffusionforce.datasets import read_folder  # noqa: PLC0415 - see above.

    intake = intake_of(profile) if profile is not None else PICTURES
    return read_folder(dataset_folder(choice, base=base), progress=progress, intake=intake)
