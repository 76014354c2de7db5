"""The model families, one module each: a module beside this one that defines `FAMILIES` is found by itself."""

import difflib
import importlib
import pkgutil
from collections.abc import Iterator, Mapping

from diffusionforce.engines.musubi.families.record import (
    Blocks,
    ComfyLora,
    Family,
    OptionValue,
    Signature,
    Trainer,
    Unavailable,
    Use,
    WeightFile,
)
from diffusionforce.engines.musubi.families.unavailable import UNAVAILABLE
from diffusionforce.errors import ProfileError

__all__ = [
    "FAMILIES",
    "UNAVAILABLE",
    "Blocks",
    "ComfyLora",
    "Family",
    "OptionValue",
    "Signature",
    "Trainer",
    "Unavailable",
    "Use",
    "WeightFile",
    "find_family",
]


def _found() -> Iterator[Family]:
    for module in pkgutil.iter_modules(__path__):
        yield from getattr(importlib.import_module(f"{__name__}.{module.name}"), "FAMILIES", ())


FAMILIES: Mapping[str, Family] = {family.name: family for family in sorted(_found(), key=lambda family: family.name)}
"""All families by the name that a profile calls them."""


def find_family(name: str) -> Family:
    """Return the family of a name.

    Raises:
        ProfileError: There is none; the sentence says why, or which name may be meant.
    """
    if name in FAMILIES:
        return FAMILIES[name]
    for model in UNAVAILABLE:
        if model.name == name:
            instead = f"A model that can be trained: {model.instead}." if model.instead else ""
            raise ProfileError(f"{model.title} cannot be trained: {model.reason}.", hint=instead)
    close = difflib.get_close_matches(name, FAMILIES, n=1)
    meant = f" Did you mean {close[0]}?" if close else ""
    raise ProfileError(
        f"model.family is {name!r}, which the musubi engine does not know.{meant}",
        hint=f"It knows: {', '.join(FAMILIES)}.",
    )
