"""Folders of captioned pictures: what is in them, what is wrong with them, and how a picture becomes plain RGB."""

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
