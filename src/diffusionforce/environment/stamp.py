"""The stamp of an environment: what it was made of, written once all of it is there."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from diffusionforce.environment.plan import Plan
from diffusionforce.job import write_whole
from diffusionforce.wire.interpreter import STAMP_NAME, ingredients

UNFINISHED_NAME = "diffusionforce-unfinished.json"
"""Lies in an environment that is being built: what it is built of, so that a later attempt knows whether to go on."""


class Ingredients(BaseModel):
    """What an environment is made of."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    backend: str
    fingerprint: str
    python_version: str
    base: str
    code: str
    """See `wire.interpreter.ingredients` for the last four."""


class Stamp(Ingredients):
    """What an environment is made of, and what is in it."""

    torch_version: str
    packages: dict[str, str]
    """Names and versions of all that is installed."""


def ingredients_of(plan: Plan) -> Ingredients:
    """Return what the environment of a plan is made of."""
    return Ingredients(backend=plan.backend, **ingredients())


def is_same(one: Ingredients | None, other: Ingredients) -> bool:
    """Return whether an environment that is made of one thing is as good as made of the other."""
    fields = Ingredients.model_fields
    return one is not None and all(getattr(one, name) == getattr(other, name) for name in fields)


def read_stamp(folder: Path) -> Stamp | None:
    """Return the stamp of an environment; None where it is not whole."""
    try:
        return Stamp.model_validate_json((folder / STAMP_NAME).read_bytes())
    except (OSError, ValidationError):
        return None


def write_stamp(folder: Path, stamp: Stamp) -> None:
    """Declare an environment whole.

    Raises:
        OSError: The disk refuses.
    """
    write_whole(folder / STAMP_NAME, stamp.model_dump_json(indent=1).encode())
    (folder / UNFINISHED_NAME).unlink(missing_ok=True)


def forget_stamp(folder: Path) -> None:
    """Declare an environment not whole, before anything of it goes.

    Raises:
        OSError: The disk refuses.
    """
    (folder / STAMP_NAME).unlink(missing_ok=True)


def read_unfinished(folder: Path) -> Ingredients | None:
    """Return what an environment that was not finished was going to be made of; None where nothing is known."""
    try:
        return Ingredients.model_validate_json((folder / UNFINISHED_NAME).read_bytes())
    except (OSError, ValidationError):
        return None


def write_unfinished(folder: Path, ingredients: Ingredients) -> None:
    """Say that an environment is being built, and that it is not whole.

    Raises:
        OSError: The disk refuses.
    """
    forget_stamp(folder)
    write_whole(folder / UNFINISHED_NAME, ingredients.model_dump_json(indent=1).encode())
