"""The models by the name that a profile calls them; what is known about each is in `families`."""

from diffusionforce.engines.musubi.families import FAMILIES as MODELS
from diffusionforce.engines.musubi.families import Family as Model
from diffusionforce.engines.musubi.families import WeightFile as ModelFile

__all__ = ["MODELS", "Model", "ModelFile"]
