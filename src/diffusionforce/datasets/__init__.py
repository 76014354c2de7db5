"""Folders of captioned pictures: what is in them, what is wrong with them, and how a picture becomes plain RGB.

The names below are loaded when they are first asked for: the window knows records and captions of this package from
its start, and Pillow and NumPy would take a third of that.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffusionforce.datasets.folder import Dataset, Finding, Item, read_folder
    from diffusionforce.datasets.pictures import load_rgb
    from diffusionforce.datasets.subject import adapted, find_trigger, is_own_dataset, num_captions_without

__all__ = [
    "Dataset",
    "Finding",
    "Item",
    "adapted",
    "find_trigger",
    "is_own_dataset",
    "load_rgb",
    "num_captions_without",
    "read_folder",
]

_HOMES = {
    "Dataset": "folder",
    "Finding": "folder",
    "Item": "folder",
    "adapted": "subject",
    "find_trigger": "subject",
    "is_own_dataset": "subject",
    "load_rgb": "pictures",
    "num_captions_without": "subject",
    "read_folder": "folder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
