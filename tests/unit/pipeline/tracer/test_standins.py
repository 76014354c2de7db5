"""Autocast on fake tensors of the CPU does what a card's does, and operations make what a card's make."""

import warnings

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.pipeline.tracer.standins import CardKernels, autocast_for_cards


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


def test_what_is_divided_by_its_norm_in_mixed_precision_comes_out_in_full() -> None:
    # Symptom: a video was given two thirds of the memory that decoding it takes, and ran out of it.
    x = torch.rand(2, 3, 4).to(torch.bfloat16)
    with autocast_for_cards(), CardKernels():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            mixed = torch.nn.functional.normalize(x, dim=1)
        plain = torch.nn.functional.normalize(x, dim=1)
    assert (mixed.dtype, plain.dtype) == (torch.float32, torch.bfloat16)
    assert torch.allclose(mixed, torch.nn.functional.normalize(x.float(), dim=1), atol=0.01)


def test_only_attention_without_heads_holds_its_scores() -> None:
    def peak_bytes(x: torch.Tensor) -> int:
        with torch.no_grad(), StorageCounter() as counter, CardKernels():
            result = torch.nn.functional.scaled_dot_product_attention(x, x, x)
        assert result.shape == x.shape
        return counter.peak

    x, scores_bytes = torch.rand(1, 512, 8), 512 * 512 * 4
    assert peak_bytes(x) >= 2 * scores_bytes > scores_bytes > peak_bytes(x.unsqueeze(1))
    with CardKernels():
        found = torch.nn.functional.scaled_dot_product_attention(x, x, x)
    assert torch.allclose(found, torch.nn.functional.scaled_dot_product_attention(x, x, x), atol=1e-5)
