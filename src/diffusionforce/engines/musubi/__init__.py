"""The engine for the real models: Musubi Tuner by kohya-ss, unmodified, at a pinned commit.

This version brings it into the user's data folder, verifies it file by file and knows which files each model needs; it
cannot drive it yet, and says so.
"""

from diffusionforce.engines.musubi.access import open_engine
from diffusionforce.engines.musubi.engine import MusubiEngine
from diffusionforce.engines.musubi.installation import Installation, install
from diffusionforce.engines.musubi.manifest import Manifest, ManifestFile, read_manifest
from diffusionforce.engines.musubi.models import MODELS, Model, ModelFile
from diffusionforce.engines.musubi.pin import Pin, Terms, engine_dir, read_pin
from diffusionforce.engines.musubi.verification import Differences, compare, verify

__all__ = [
    "MODELS",
    "Differences",
    "Installation",
    "Manifest",
    "ManifestFile",
    "Model",
    "ModelFile",
    "MusubiEngine",
    "Pin",
    "Terms",
    "compare",
    "engine_dir",
    "install",
    "open_engine",
    "read_manifest",
    "read_pin",
    "verify",
]
