"""What can be said of a folder of a dataset: sizes to choose from, read as people write them."""

import re

from pydantic import ValidationError

from diffusionforce.datasets.sets import MIN_SIZE_PX, SIZE_STEP_PX, SetFolder

SIZES = ((512, 512), (768, 768), (1024, 1024), (832, 480), (480, 832), (1280, 720))
_SIZE = re.compile(r"\s*(\d{2,4})\s*[x×*]\s*(\d{2,4})\s*")
SIZE_RULE = f"Write it like 768 × 512: sides of {MIN_SIZE_PX} or more that are multiples of {SIZE_STEP_PX}."


def read_size(text: str) -> tuple[int, int] | None:
    """Return width and height in pixels of what was typed; None for what is no size that can be trained at."""
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    width, height = int(found[1]), int(found[2])
    try:
        SetFolder(path="folder", width=width, height=height)
    except ValidationError:
        return None
    return (width, height) if width else None


def with_changes(folder: SetFolder, **changes: object) -> SetFolder:
    """Return a folder with other settings.

    Raises:
        ValidationError: They are out of their ranges.
    """
    return SetFolder.model_validate(folder.model_dump() | changes)
