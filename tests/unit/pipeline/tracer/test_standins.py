"""Autocast on fake tensors of the CPU does what a card's does, for the formats that only a card takes, too."""

import warnings

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from diffusionforce.pipeline.tracer.standins import autocast_for_cards


@pytest.mark.parametrize(
    ("dtype", "expected"), [(torch.float32, torch.float32), (torch.bfloat16, torch.bfloat16), (None, torch.bfloat16)]
)
@pytest.mark.parametrize("device_type", ["cuda", "cpu"])
def test_a_linear_layer_runs_in_the_format_asked_for(
    device_type: str, dtype: torch.dtype | None, expected: torch.dtype
) -> None:
    with warnings.catch_warnings(), FakeTensorMode(), autocast_for_cards():
        warnings.simplefilter("error")
        layer = torch.nn.Linear(4, 4, dtype=torch.bfloat16)
        with torch.autocast(device_type, dtype=dtype):
            assert layer(torch.ones(2, 4)).dtype == expected


def test_inside_another_autocast_it_casts_up_and_the_outer_one_goes_on() -> None:
    # Wan computes its time embedding so, in the middle of a forward with 16 bits.
    with FakeTensorMode(), autocast_for_cards(), torch.autocast("cuda", dtype=torch.bfloat16):
        layer = torch.nn.Linear(4, 4, dtype=torch.bfloat16)
        with torch.autocast("cpu", dtype=torch.float32):
            assert layer(torch.ones(2, 4)).dtype == torch.float32
        assert layer(torch.ones(2, 4)).dtype == torch.bfloat16
