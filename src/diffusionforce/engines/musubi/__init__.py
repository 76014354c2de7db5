"""The engine for the real models: Musubi Tuner by kohya-ss, unmodified, at a pinned commit.

It is brought into the user's data folder, verified file by file, and run under the hooks with the files that each model
needs.
"""

from diffusionforce.engines.musubi.access import open_engine
from diffusionforce.engines.musubi.engine import MusubiEngine
from diffusionforce.engines.musubi.installation import Installation, install
from diffusionforce.engines.musubi.manifest import Manifest, ManifestFile, read_manifest
from diffusionforce.engines.musubi.pin import Pin, Terms, engine_dir, read_pin
from diffusionforce.engines.musubi.verification import Differences, compare, verify

__all__ = [
    "Differences",
    "Installation",
    "Manifest",
    "ManifestFile",
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
