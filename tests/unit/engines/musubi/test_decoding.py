"""Where samples are decoded: where the forecast found room, or where most is to be expected."""

import dataclasses

import torch

from diffusionforce.engines.musubi.decoding import decoding_of
from diffusionforce.engines.musubi.families import FAMILIES, find_family
from diffusionforce.engines.musubi.side_models import PIXELS_OF_A_NUMBER, SIDE_MODELS
from diffusionforce.engines.musubi.traced.autoencoders import AUTOENCODERS
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.hooks.musubi.tiles import Tiles
from diffusionforce.pipeline.placement import even_placement

PLACEMENT = even_placement(20, [torch.device("cuda", index) for index in range(2)], chunks_per_stage=1)


WAN = find_family("wan2.1-t2v-14b")


def plan(**calls: str) -> RunPlan:
    """Two cards with ten blocks each, of which two step aside on the first."""
    return RunPlan(
        devices=tuple(
            DevicePlan(device=f"cuda:{index}", label=f"GPU {index}", num_aside=num) for index, num in enumerate((2, 0))
        ),
        chunk_sizes=(10, 10),
        stage_of_chunk=(0, 1),
        device_of_call=calls,
    )


def test_samples_are_decoded_where_the_forecast_found_room() -> None:
    for device in ("cuda:0", "cpu"):
        decoding = decoding_of(PLACEMENT, plan(decoding=device, captions="cuda:1"), family=WAN)
        assert (str(decoding.device), decoding.num_aside) == (device, (2, 0))


def test_without_a_forecast_the_last_device_decodes() -> None:
    assert str(decoding_of(PLACEMENT, None, family=WAN).device) == "cuda:1"
    assert decoding_of(PLACEMENT, plan(), family=WAN).num_aside == (2, 0)


def test_samples_are_decoded_in_tiles_if_the_forecast_says_so() -> None:
    in_tiles = dataclasses.replace(plan(decoding="cuda:0"), calls_in_tiles=frozenset({"decoding"}))
    assert decoding_of(PLACEMENT, plan(decoding="cuda:0"), family=WAN).tiles is None
    assert decoding_of(PLACEMENT, in_tiles, family=WAN).tiles == Tiles(side=64, pixels=8)
    klein = decoding_of(PLACEMENT, in_tiles, family=FAMILIES["flux2-klein-9b"])
    assert klein.tiles == Tiles(side=32, pixels=16)


def test_latents_are_as_coarse_as_the_autoencoders_make_them() -> None:
    assert {name: AUTOENCODERS[name].pixels for name in PIXELS_OF_A_NUMBER} == PIXELS_OF_A_NUMBER
    assert set(PIXELS_OF_A_NUMBER) <= {models.autoencoder for models in SIDE_MODELS.values()}
