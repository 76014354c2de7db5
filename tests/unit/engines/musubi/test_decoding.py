"""Where samples are decoded: where the forecast found room, or where most is to be expected."""

import torch

from diffusionforce.engines.musubi.decoding import decoding_of
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.pipeline.placement import even_placement

PLACEMENT = even_placement(20, [torch.device("cuda", index) for index in range(2)], chunks_per_stage=1)


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
        decoding = decoding_of(PLACEMENT, plan(decoding=device, captions="cuda:1"))
        assert (str(decoding.device), decoding.num_aside) == (device, (2, 0))


def test_without_a_forecast_the_last_device_decodes() -> None:
    assert str(decoding_of(PLACEMENT, None).device) == "cuda:1"
    assert decoding_of(PLACEMENT, plan()).num_aside == (2, 0)
