"""What the user chose about the files of models: further folders, files of other names, terms that were accepted."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from diffusionforce.errors import WeightsError
from diffusionforce.job import loaded_toml
from diffusionforce.job.files import write_toml
from diffusionforce.runs import data_dir, storage_error

Texts = Annotated[tuple[str, ...], Field(strict=False)]


class WeightsSettings(BaseModel):
    """The settings, as they stand in `models.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    schema_version: Literal[1] = 1
    folders: Texts = ()
    """Folders that are looked into, with all below them."""
    files: dict[str, str] = {}
    """Chosen files by `FAMILY.ROLE`."""
    accepted_terms: Texts = ()
    """Folders of the engine whose terms the user accepted."""


def models_dir() -> Path:
    """Return the folder for downloaded files."""
    return data_dir() / "models"


def settings_path() -> Path:
    """Return the file with the settings."""
    return data_dir() / "models.toml"


def read_settings() -> WeightsSettings:
    """Read the settings; there need not be any.

    Raises:
        WeightsError: The file is damaged.
    """
    path = settings_path()
    try:
        return WeightsSettings.model_validate(loaded_toml(path))
    except FileNotFoundError:
        return WeightsSettings()
    except OSError as error:
        raise WeightsError(
            f"{path} cannot be read: {error.strerror or error}.",
            hint="Check DIFFUSIONFORCE_HOME, and who may read it.",
            detail=str(error),
        ) from error
    except ValueError as error:
        raise WeightsError(
            f"{path} cannot be read: {_first_problem(error)}.",
            hint="Fix it, or remove it and choose again.",
            detail=str(error),
        ) from error


def _first_problem(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        problem = error.errors()[0]
        return f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg'][0].lower()}{problem['msg'][1:]}"
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


def write_settings(settings: WeightsSettings) -> None:
    """Write the settings, whole or not at all.

    Raises:
        UserError: The disk refuses.
    """
    path = settings_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_toml(path, settings.model_dump(mode="json"))
    except OSError as error:
        raise storage_error(error, path) from error
