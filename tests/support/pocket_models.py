"""A pocket model of two tiny blocks, quick enough to train in a test."""

import torch

from diffusionforce.engines.pocket.config import PocketConfig
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.text import TextEncoder

TINY = PocketConfig(
    width=16,
    num_blocks=4,
    num_heads=2,
    hidden=24,
    bottleneck=8,
    head_hidden=16,
    text_width=12,
    text_num_blocks=1,
    text_num_heads=2,
    text_hidden=16,
)


def tiny_transformer(seed: int = 0) -> PocketTransformer:
    """A frozen transformer whose every weight matters; the zeros of a fresh one would hide mistakes."""
    torch.manual_seed(seed)
    transformer = PocketTransformer(TINY)
    for parameter in transformer.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return transformer.eval().requires_grad_(False)


def tiny_text_encoder(seed: int = 0) -> TextEncoder:
    """A frozen text encoder that fits `tiny_transformer`."""
    torch.manual_seed(seed)
    return TextEncoder(TINY).eval().requires_grad_(False)
