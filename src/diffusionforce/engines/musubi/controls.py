"""Control pictures: what each picture of a dataset is made from, for models that change pictures.

They lie in a folder `control` beside the pictures, each under its picture's name, in any format; several for one
picture end in `_0`, `_1` and so on.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from diffusionforce.datasets import read_folder
from diffusionforce.datasets.folder import PICTURE_SUFFIXES
from diffusionforce.engines.musubi.families import Family
from diffusionforce.errors import DatasetError
from diffusionforce.runs import shortened

CONTROL_DIR = "control"
_ONE_ONLY = frozenset({"flux_kontext"})
"""Architectures that take one control picture for each picture, no more."""


def needs_controls(family: Family) -> bool:
    """Whether every picture of a dataset needs a control picture."""
    return family.trains_on == "pictures with control pictures"


def require_controls(dataset_dir: Path, *, family: Family) -> None:
    """Refuse a dataset in which a picture lacks its control picture, or has more than the model takes.

    A folder that is not there is left to whoever reads the dataset.

    Raises:
        DatasetError: The first such picture is named, and how many there are.
    """
    if not needs_controls(family) or not dataset_dir.is_dir():
        return
    pictures = [item.picture for item in read_folder(dataset_dir, decode=False).items]
    found = {picture: controls_of(picture) for picture in pictures}
    _refuse(
        [picture for picture in pictures if not found[picture]],
        "no control picture",
        hint="Put what it is to be made from into the folder {folder}, under the name of the picture.",
        family=family,
    )
    if family.trainer.architecture in _ONE_ONLY:
        _refuse(
            [picture for picture in pictures if len(found[picture]) > 1],
            "several control pictures",
            hint="Leave one of them in the folder {folder}.",
            family=family,
        )


def controls_of(picture: Path) -> tuple[Path, ...]:
    """Return the control pictures of a picture, in the order of their numbers."""
    folder = picture.parent / CONTROL_DIR
    if not folder.is_dir():
        return ()
    name = re.compile(rf"{re.escape(picture.stem)}(?:_(\d+))?")
    numbered: list[tuple[int, Path]] = []
    for path in sorted(folder.iterdir()):
        match = name.fullmatch(path.stem)
        if match is not None and path.suffix.lower() in PICTURE_SUFFIXES:
            numbered.append((-1 if match[1] is None else int(match[1]), path))
    # A picture may itself be called `fox_1` beside one called `fox`: what is another picture's own is not taken.
    own = {path for number, path in numbered if number < 0}
    others = {
        path.stem for path in picture.parent.iterdir() if path.is_file() and path.suffix.lower() in PICTURE_SUFFIXES
    }
    return tuple(path for _, path in sorted(numbered) if path in own or path.stem not in others)


def _refuse(pictures: Iterable[Path], lack: str, *, hint: str, family: Family) -> None:
    first, *others = [*pictures, None]
    if first is None:
        return
    more = f", like {len(others) - 1} more" if len(others) > 1 else ""
    raise DatasetError(
        f"{family.title} is trained on pictures with control pictures, and {first.name} has {lack}{more}.",
        hint=hint.format(folder=shortened(first.parent / CONTROL_DIR)),
    )
