"""Which Musubi Tuner this product works with, and whether it is here.

Its trainer has no stable interface ("no API stability guarantees", upstream says), so any other commit than the
pinned one is another program to us.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.errors import EngineError
from diffusionforce.job import shipped_dir
from diffusionforce.runs import data_dir


@dataclass(frozen=True, kw_only=True)
class Pin:
    """The pinned engine.

    Attributes:
        upstream: Owner and name of its repository.
        version: Version it calls itself.
        commit: Commit that is used, 40 hexadecimal digits.
        licence: Its licence, as an SPDX identifier.
        other_licences: Folders under other terms, folder to licence.
    """

    upstream: str
    version: str
    commit: str
    licence: str
    other_licences: dict[str, str]


def read_pin(path: Path | None = None) -> Pin:
    """Return the pinned engine.

    Args:
        path: The pin file; the one that ships with the product when None.

    Raises:
        EngineError: The file is damaged or not there, so this installation is.
    """
    path = path or shipped_dir("vendor") / "musubi-tuner" / "PIN.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return Pin(
            upstream=table["upstream"],
            version=table["version"],
            commit=table["commit"],
            licence=table["licence"],
            other_licences={entry["folder"]: entry["licence"] for entry in table.get("exceptions", [])},
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise EngineError(
            f"{path} cannot be read, so the engine's version is not known.",
            hint="Install DiffusionForce again.",
            detail=repr(error),
        ) from error


def engine_dir(pin: Pin) -> Path:
    """Return the folder in the user's data where the pinned engine is looked for."""
    return data_dir() / "engines" / "musubi-tuner" / pin.commit


def installed(pin: Pin, *, folder: Path | None = None) -> bool:
    """Return whether a Musubi Tuner of the pinned version lies in a folder; its files are not verified.

    Args:
        pin: The pinned engine.
        folder: Where to look; the user's data folder when None.
    """
    folder = folder or engine_dir(pin)
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        found = (str(project["name"]), str(project["version"]))
    except (OSError, tomllib.TOMLDecodeError, KeyError):
        return False
    return found == ("musubi-tuner", pin.version) and (folder / "src" / "musubi_tuner" / "__init__.py").is_file()
