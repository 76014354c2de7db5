"""The size that pictures are trained at: that of the profile chosen last, and others to compare with."""

from pathlib import Path

from diffusionforce.errors import UserError
from diffusionforce.job import find_profile, read_profile

USUAL = (1024, 1024)
OTHERS = ((512, 512), (768, 768), (1024, 1024), (1280, 720))


def size_of(profile: str) -> tuple[int, int]:
    """Return the training size of a profile by name or path; the usual one where it cannot be read."""
    if not profile:
        return USUAL
    try:
        path = find_profile(profile) if not Path(profile).suffix else Path(profile)
        dataset = read_profile(path).dataset
    except UserError:
        return USUAL
    return dataset.width, dataset.height


def choices(size: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the sizes that are offered: the profile's own first."""
    return [size, *(other for other in OTHERS if other != size)]


def words(size: tuple[int, int]) -> str:
    """Return a size in words: `1024 × 1024`."""
    return f"{size[0]} × {size[1]}"
