"""The engine for the real models: Musubi Tuner by kohya-ss, unmodified, at a pinned commit.

This version knows which Musubi Tuner it wants, where it would be and which files each model needs; it cannot drive
it yet, and says so.
"""

from diffusionforce.engines.musubi.engine import MusubiEngine
from diffusionforce.engines.musubi.models import MODELS, Model, ModelFile
from diffusionforce.engines.musubi.pin import Pin, engine_dir, installed, read_pin

__all__ = ["MODELS", "Model", "ModelFile", "MusubiEngine", "Pin", "engine_dir", "installed", "read_pin"]
