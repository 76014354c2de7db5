"""Linears whose frozen weights are kept in eight bits, to measure a forecast for them without a quantised file.

As training engines do it: the weights are float8 with one scale for each output, and every call makes a copy of them in
the format of the activations. The copy is a temporary of the forward, and is kept for the backward of the input: how
much memory eight bits really save is decided by these copies.

Legend: I numbers in, O numbers out, R rank.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from diffusionforce.pipeline.bench.model import LoraLinear

_FORMAT = torch.float8_e4m3fn
_LARGEST = 448.0
"""The largest number of the format."""


class EightBitLoraLinear(nn.Module):
    """A frozen linear in eight bits, and a trained low-rank addition.

    Args:
        linear: What it replaces; its LoRA is taken over as it is.
    """

    def __init__(self, linear: LoraLinear) -> None:
        super().__init__()
        weight = linear.weight.detach()
        scale = weight.abs().amax(1, keepdim=True).clamp(min=1e-12) / _LARGEST
        self.weight = nn.Parameter((weight / scale).to(_FORMAT), requires_grad=False)
        """(O, I) float8"""
        self.scale = nn.Parameter(scale, requires_grad=False)
        """(O, 1) in the format of the activations."""
        self.lora_down, self.lora_up = linear.lora_down, linear.lora_up

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., I) -> (..., O)"""
        weight = self.weight.to(self.scale.dtype) * self.scale
        return F.linear(x, weight) + F.linear(F.linear(x, self.lora_down), self.lora_up)


def in_eight_bits(module: nn.Module) -> None:
    """Replace every linear with a LoRA inside a module, each on its own device."""
    for part in list(module.modules()):
        for name, child in list(part.named_children()):
            if isinstance(child, LoraLinear):
                setattr(part, name, EightBitLoraLinear(child))
