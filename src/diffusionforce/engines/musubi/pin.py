"""Which Musubi Tuner this product works with, and whether it is here.

Its trainer has no stable interface ("no API stability guarantees", upstream says), so any other commit than the
pinned one is another program to us.
"""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffusionforce.errors import EngineError
from diffusionforce.job import shipped_dir
from diffusionforce.runs import data_dir

ENGINE_VARIABLE = "DIFFUSIONFORCE_ENGINE"
"""Names a folder that has the engine."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Code of the engine that its authors took from elsewhere, under other terms.

    Attributes:
        folder: Folder under `src/musubi_tuner`.
        licence: Name of the licence.
        origin: Owner and name of the repository that it comes from.
        url: Page with the licence.
        words: What a user has to know before using the models, in a sentence or two.
        models: Names of the models that it is about.
        families: Values of `model.family` in a profile that it is about.
    """

    folder: str
    licence: str
    origin: str
    url: str
    words: str
    models: tuple[str, ...]
    families: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Pin:
    """The pinned engine.

    Attributes:
        upstream: Owner and name of its repository.
        version: Version it calls itself.
        commit: Commit that is used, 40 hexadecimal digits.
        licence: Its licence, as an SPDX identifier.
        terms: Folders under other terms.
    """

    upstream: str
    version: str
    commit: str
    licence: str
    terms: tuple[Terms, ...]

    def terms_of(self, family: str) -> tuple[Terms, ...]:
        """Return the terms that a user must have seen before training a model family."""
        return tuple(terms for terms in self.terms if family in terms.families)


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
            terms=tuple(_terms(entry) for entry in table.get("exceptions", [])),
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise EngineError(
            f"{path} cannot be read, so the engine's version is not known.",
            hint="Install DiffusionForce again.",
            detail=repr(error),
        ) from error


def _terms(entry: dict[str, Any]) -> Terms:
    return Terms(
        folder=entry["folder"],
        licence=entry["licence"],
        origin=entry["origin"],
        url=entry["url"],
        words=entry["words"],
        models=tuple(entry["models"]),
        families=tuple(entry["families"]),
    )


def engine_dir(pin: Pin) -> Path:
    """Return the folder of the pinned engine: the one that the user has named, or that in the data folder."""
    place = os.environ.get(ENGINE_VARIABLE)
    if place:
        return Path(place).absolute()
    return data_dir() / "engines" / "musubi-tuner" / pin.commit
