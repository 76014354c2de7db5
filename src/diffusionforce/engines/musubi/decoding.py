"""Where samples become pictures: where the forecast found room for it, beside what the model holds meanwhile.

On a processor a video of a second takes minutes to decode, and a second on a card, but a card takes gigabytes for it.
While samples are made nothing is kept for a backward pass, so there is more room then than a step leaves.
"""

from dataclasses import dataclass

import torch

from diffusionforce.engines.musubi.families import Family
from diffusionforce.engines.musubi.side_models import PIXELS_OF_A_NUMBER, SIDE_MODELS, TILE_PIXELS
from diffusionforce.engines.plans import RunPlan
from diffusionforce.hooks.musubi.tiles import Tiles
from diffusionforce.pipeline.placement import Placement

_CALL = "decoding"


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """Where samples are decoded."""

    device: torch.device
    num_aside: tuple[int, ...]
    """For each device the blocks that step aside while samples are made."""
    tiles: Tiles | None
    """In which they are; None: whole."""


def decoding_of(placement: Placement, plan: RunPlan | None, *, family: Family) -> Decoding:
    """Say where samples are decoded.

    Args:
        placement: Where the model's blocks are.
        plan: The run's plan. None, or one without samples: nothing is known of room, and the last device has most, for
            home holds more.
        family: The model's.
    """
    num_aside = tuple(one.num_aside for one in plan.devices) if plan is not None else ()
    named = plan.device_of_call.get(_CALL) if plan is not None else None
    in_tiles = plan is not None and _CALL in plan.calls_in_tiles
    return Decoding(
        device=torch.device(named) if named else placement.devices[-1],
        num_aside=num_aside,
        tiles=_tiles_of(family) if in_tiles else None,
    )


def _tiles_of(family: Family) -> Tiles:
    pixels = PIXELS_OF_A_NUMBER[SIDE_MODELS[family.name].autoencoder]
    return Tiles(side=TILE_PIXELS // pixels, pixels=pixels)
