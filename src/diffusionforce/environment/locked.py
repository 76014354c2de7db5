"""What is installed: the pins of the lock files, without what only the window needs.

The files are those that a source checkout is set up from (`tools/lock.py` makes them); only the order differs. PyTorch
comes first, with the libraries it needs held to their pins, then all else with hashes.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.errors import SetupError

FILES = ("runtime.txt", "musubi.txt")
BUILT = ("torch", "torchvision")
"""Packages that have to be built for the cards, with a file each for the version."""
WINDOW_ONLY = frozenset({"pyside6-essentials", "shiboken6", "uv"})
"""Packages that the application has for its window and for setting up; training needs none of them."""


@dataclass(frozen=True, kw_only=True)
class Locked:
    """What is installed.

    Attributes:
        built: Requirements of what is built for the cards, for example `torch==2.13.0`.
        requirements: All else, in the format of requirement files, with hashes.
        imports: Modules that have to load once all is there.
    """

    built: tuple[str, ...]
    requirements: str
    imports: tuple[str, ...]

    @property
    def torch_version(self) -> str:
        """The version of PyTorch."""
        return self.built[0].partition("==")[2]

    @property
    def constraints(self) -> str:
        """The pins alone, for whoever resolves something beside them."""
        return "".join(f"{pin}\n" for pin in blocks_of(self.requirements))


def read_locks(folder: Path) -> Locked:
    """Read the lock files.

    Raises:
        SetupError: One is missing, or is none.
    """
    try:
        built = tuple(_pin((folder / f"{name}.txt").read_text(encoding="utf-8"), name) for name in BUILT)
        texts = [(folder / name).read_text(encoding="utf-8") for name in FILES]
        imports = (folder / "imports.txt").read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SetupError(
            f"The list of what is to be installed cannot be read in {folder}.",
            hint="Run the setup of DiffusionForce again; it puts it back.",
            detail=str(error),
        ) from error
    blocks = [block for text in texts for pin, block in blocks_of(text).items() if _name(pin) not in WINDOW_ONLY]
    names = tuple(line for line in imports.split("\n") if line.strip() and not line.startswith("#"))
    return Locked(built=built, requirements="".join(blocks), imports=names)


def blocks_of(text: str) -> dict[str, str]:
    """Return the requirements of a lock file with their hashes, keyed by pin and marker."""
    blocks = re.findall(r"^[^\s#].*\n(?:[ \t].*\n)*", text, re.M)
    return {block.partition("\\")[0].strip(): block for block in blocks}


def _pin(text: str, name: str) -> str:
    """Return the pin of a file that is kept by hand."""
    found = re.search(rf"^{name}==\S+$", text, re.M)
    if found is None:
        raise ValueError(f"{name}.txt has no pin")
    return found.group()


def _name(pin: str) -> str:
    return pin.partition("==")[0].strip()
