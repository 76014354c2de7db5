"""What a profile makes of a dataset: the size that it trains at, with others to compare, and what its model takes."""

from pathlib import Path

from diffusionforce.datasets.intake import PICTURES, Intake
from diffusionforce.datasets.intakes import intake_of
from diffusionforce.errors import UserError
from diffusionforce.job import Profile, find_profile, read_profile

USUAL = (1024, 1024)
OTHERS = ((512, 512), (768, 768), (1024, 1024), (1280, 720))


def size_of(profile: str) -> tuple[int, int]:
    """Return the training size of a profile by name or path; the usual one where it cannot be read."""
    found = _read(profile)
    return (found.dataset.width, found.dataset.height) if found is not None else USUAL


def intake_of_profile(profile: str) -> Intake:
    """Return what the model of a profile takes of a dataset; what most take where it cannot be read."""
    found = _read(profile)
    return intake_of(found) if found is not None else PICTURES


def _read(profile: str) -> Profile | None:
    try:
        return read_profile(path_of(profile)) if profile else None
    except UserError:
        return None


def path_of(profile: str) -> Path:
    """Return the file of a profile that is given by its name or its path.

    Raises:
        ProfileError: There is no such profile.
    """
    return find_profile(profile) if not Path(profile).suffix else Path(profile)


def choices(size: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the sizes that are offered: the profile's own first."""
    return [size, *(other for other in OTHERS if other != size)]


def words(size: tuple[int, int]) -> str:
    """Return a size in words: `1024 × 1024`."""
    return f"{size[0]} × {size[1]}"
