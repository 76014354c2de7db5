"""Folders of captioned pictures: what is in them, what is wrong with them, and how a picture becomes plain RGB."""

from diffusionforce.datasets.folder import Dataset, Finding, Item, read_folder
from diffusionforce.datasets.pictures import load_rgb

__all__ = ["Dataset", "Finding", "Item", "load_rgb", "read_folder"]
