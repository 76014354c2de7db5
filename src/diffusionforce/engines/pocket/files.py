"""Where the base weights lie, and what their header says; without loading torch.

A forecast that is known already is shown within moments, and needs of the weights nothing but the model's sizes.
"""

import json
from importlib import resources
from pathlib import Path

from diffusionforce.engines.pocket.config import PocketConfig
from diffusionforce.errors import WeightsError
from diffusionforce.job import Job, expanded

FAMILY = "pocket"
FILE_NAME = "pocket_dit.safetensors"

_LENGTH_BYTES = 8
_MOST_HEADER_BYTES = 1 << 20


def shipped_weights() -> Path:
    """Where the weights that come with DiffusionForce lie."""
    return Path(str(resources.files("diffusionforce.engines.pocket") / "weights" / FILE_NAME))


def weights_path(job: Job) -> Path:
    """The weights that a job is trained on.

    Raises:
        ProfileError: The path begins in a home folder that is not there.
    """
    named = job.profile.model.weights
    return expanded(named) if named else shipped_weights()


def quick_config(path: Path) -> PocketConfig | None:
    """The sizes of the model in a weights file; None where the file is not what it should be.

    A safetensors file begins with the length of a JSON header (8 bytes, little-endian) and the header.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            header = file.read(length) if length <= _MOST_HEADER_BYTES else b""
        notes = json.loads(header)["__metadata__"]
        return PocketConfig.from_json(notes["config"]) if notes["family"] == FAMILY else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, WeightsError):
        return None
