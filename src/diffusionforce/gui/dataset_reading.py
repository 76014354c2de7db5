"""Reading a dataset folder, without the window waiting for the libraries that do it.

Pillow and NumPy take a third of the window's start; they are loaded on the thread that reads the first folder.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from diffusionforce.datasets.intake import PICTURES
from diffusionforce.datasets.intakes import intake_of
from diffusionforce.datasets.sets import is_set, read_set
from diffusionforce.errors import DatasetError
from diffusionforce.job import Profile, dataset_folder, shipped_dir

if TYPE_CHECKING:
    from diffusionforce.datasets import Dataset

# What the characters of the demo datasets are called.
DEMO_NAMES = {"loranne": "LoRAnne", "rolwayne": "Rolwayne"}


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


def demo_choices() -> list[str]:
    """Return the demo datasets to train on as choices; their held-out halves are not offered."""
    root = shipped_dir("demo_datasets")
    if not root.is_dir():
        return []
    folders = (path.name for path in sorted(root.iterdir()) if path.is_dir() and any(path.glob("*.txt")))
    return [f"demo:{name}" for name in folders if "held" not in name]


def title(choice: str) -> str:
    """Return a dataset's name for people: that of the demo, or of the folder."""
    if choice.startswith("demo:"):
        name = choice.removeprefix("demo:")
        return f"{DEMO_NAMES.get(name, name.replace('-', ' '))} demo set"
    root = Path(choice)
    if is_set(root):
        with contextlib.suppress(DatasetError):
            return read_set(root).title
    return root.name or choice


def folder_title(folder: Path) -> str:
    """Return the name of a dataset of which only the folder is known."""
    is_demo = folder.parent.resolve() == shipped_dir("demo_datasets").resolve()
    return title(f"demo:{folder.name}") if is_demo else folder.name
