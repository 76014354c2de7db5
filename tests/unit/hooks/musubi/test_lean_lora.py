"""A LoRA without needless steps gives what the engine's gives, to the last bit."""

from typing import Any

import pytest
import torch
from tests.support.engine import needs_engine
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi.modules import import_light
from diffusionforce.hooks.musubi.lean_lora import leaner

pytestmark = needs_engine


class Multiplications(TorchDispatchMode):
    """Counts them."""

    num = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.num += func is torch.ops.aten.mul.Tensor
        return func(*args, **(kwargs or {}))


def ran(*, is_lean: bool, dtype: torch.dtype = torch.bfloat16, autocast: bool = True, **settings: Any) -> Any:
    """What a layer with a LoRA gives, all gradients, and how often it multiplied."""
    engine: Any = import_light("musubi_tuner.networks.lora", source=open_engine())
    torch.manual_seed(0)
    layer = nn.Linear(24, 40, dtype=dtype).requires_grad_(False)
    lora = engine.LoRAModule("x", layer, **{"lora_dim": 8, "alpha": 8, **settings})
    for parameter in lora.parameters():
        nn.init.normal_(parameter)
    lora.apply_to()
    if is_lean:
        layer.forward = leaner(type(lora).forward).__get__(lora)
    x = torch.randn(3, 24, dtype=dtype, requires_grad=True)
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast), Multiplications() as multiplications:
        y = layer(x)
        y.float().square().sum().backward()
    return [y, x.grad, *(parameter.grad for parameter in lora.parameters())], multiplications.num


@pytest.mark.parametrize(
    ("settings", "num_saved"),
    [
        ({}, 4),
        ({"alpha": 4}, 2),
        ({"multiplier": 0.5}, 2),
        ({"dtype": torch.float32, "autocast": False}, 4),
        ({"autocast": False}, 4),
        ({"dropout": 0.5}, 0),
        ({"rank_dropout": 0.5}, 0),
        ({"module_dropout": 0.0}, 0),
        ({"split_dims": [16, 24]}, 0),
    ],
)
def test_every_bit_is_the_same(settings: dict[str, Any], num_saved: int) -> None:
    (expected, num_before), (found, num_after) = (ran(is_lean=lean, **settings) for lean in (False, True))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and torch.equal(one, other)
    assert num_before - num_after == num_saved
