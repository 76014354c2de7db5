"""Control pictures: what each picture of a dataset is made from, for models that change pictures.

They lie in a folder `control` beside the pictures, or in one that was chosen, each under its picture's name, in any
format; several for one picture end in `_0`, `_1` and so on.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.datasets.intake import Intake
from diffusionforce.datasets.media_types import PICTURE_SUFFIXES
from diffusionforce.errors import DatasetError

CONTROL_DIR = "control"
_NUMBERED = re.compile(r"(.+?)_(\d+)")


def control_dir(root: Path, chosen: str = "") -> Path:
    """Return the folder with the control pictures of a dataset folder.

    Args:
        root: The dataset folder.
        chosen: The folder that the user named; empty takes the one beside the pictures.
    """
    return Path(chosen) if chosen else root / CONTROL_DIR


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """The control pictures of one folder by the picture that is made from them.

    Attributes:
        folder: Where they lie.
        by_stem: Control pictures by the name of their picture, in the order of their numbers.
        unpaired: Those that belong to no picture, in order of name.
    """

    folder: Path
    by_stem: dict[str, tuple[Path, ...]]
    unpaired: tuple[Path, ...]

    def of(self, picture: Path) -> tuple[Path, ...]:
        """Return what a picture is made from."""
        return self.by_stem.get(picture.stem, ())


def find_pairing(root: Path, *, intake: Intake, chosen: str, stems: Iterable[str]) -> Pairing | None:
    """Find what the pictures of a folder are made from; None where the model does not ask, or there is no such folder.

    Args:
        root: The dataset folder.
        intake: What the model takes.
        chosen: The folder with control pictures that the user named; empty takes the one beside the pictures.
        stems: The names of the pictures, without their endings.

    Raises:
        DatasetError: The folder that the user named is not there, or cannot be read.
    """
    if intake.controls == "ignored":
        return None
    folder = control_dir(root, chosen)
    if chosen and not folder.is_dir():
        raise DatasetError(
            f"The folder with what the pictures of {root.name} are made from is not there: {folder}.",
            hint="Choose it again, or leave it empty.",
        )
    return pair(folder, stems=stems)


def pair(folder: Path, *, stems: Iterable[str]) -> Pairing | None:
    """Find the control picture of each picture; None where the folder is not there.

    A picture may itself be called `fox_1` beside one called `fox`: what is another picture's own is not taken.

    Args:
        folder: The folder with the control pictures.
        stems: The names of the pictures, without their endings.

    Raises:
        DatasetError: The folder cannot be read.
    """
    if not folder.is_dir():
        return None
    try:
        found = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise DatasetError(f"The folder {folder} cannot be read: {error.strerror}.") from error
    known = set(stems)
    numbered: defaultdict[str, list[tuple[int, Path]]] = defaultdict(list)
    unpaired: list[Path] = []
    for path in found:
        if path.suffix.lower() not in PICTURE_SUFFIXES:
            continue
        match = _NUMBERED.fullmatch(path.stem)
        if path.stem in known:
            numbered[path.stem].append((-1, path))
        elif match is not None and match[1] in known:
            numbered[match[1]].append((int(match[2]), path))
        else:
            unpaired.append(path)
    by_stem = {stem: tuple(path for _, path in sorted(pairs)) for stem, pairs in numbered.items()}
    return Pairing(folder=folder, by_stem=by_stem, unpaired=tuple(unpaired))
