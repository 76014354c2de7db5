"""Which engine trains which job. An engine is imported only when it is needed: torch takes seconds to load."""

import importlib
from typing import cast

from diffusionforce.engines.contract import Engine
from diffusionforce.job import Profile
from diffusionforce.wire.interpreter import require_torch

_ENGINES = {
    "pocket": ("diffusionforce.engines.pocket.training", "PocketEngine"),
    "musubi": ("diffusionforce.engines.musubi", "MusubiEngine"),
}


def load_engine(profile: Profile) -> Engine:
    """Return the engine that a profile names.

    Raises:
        SetupError: There is no PyTorch here, which every engine needs.
    """
    require_torch()
    module, name = _ENGINES[profile.model.engine]
    return cast(Engine, getattr(importlib.import_module(module), name)())
