"""FLUX.2 and its Klein variants: the engine's class, called as its trainer calls it.

Letters: B batch, H and W height and width of the packed latent, T text tokens, D numbers of a text token.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from diffusionforce.engines.musubi.modules import import_light
from diffusionforce.engines.musubi.traced.parts import (
    MADE_BLOCKS,
    FlowBatch,
    Use,
    mixed_precision,
    num_alike,
    with_8_bits,
)
from diffusionforce.engines.musubi.traced.recipe import Recipe, flow_batch
from diffusionforce.pipeline.tracer.trace import Subject

CHANNELS = 128
PIXELS = 16
"""Of a number of the packed latent, along a side."""
TEXT_TOKENS = 512
NUM_IDS = 4

PARAMETERS = {
    "flux2-dev": "Flux2Params",
    "flux2-klein-9b": "Klein9BParams",
    "flux2-klein-base-9b": "Klein9BParams",
    "flux2-klein-4b": "Klein4BParams",
    "flux2-klein-base-4b": "Klein4BParams",
}
"""Names of the engine's classes that hold the sizes."""
_8_BIT_TARGETS = ("double_blocks", "single_blocks")
_8_BIT_EXCLUSIONS = ("norm", "pe_embedder", "time_in", "_modulation")


def training_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One micro-batch of training; see `Recipe`."""
    return _recipe(family, use, source=source).training(use, source=source)


def sampling_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One evaluation for a sample; see `Recipe`."""
    return _recipe(family, use, source=source).sampling(use, source=source)


def _recipe(family: str, use: Use, *, source: Path) -> Recipe:
    sizes = _sizes(family, source=source)
    latent = (CHANNELS, use.height // PIXELS, use.width // PIXELS)
    return Recipe(
        network="lora_flux_2",
        make=lambda: _model(family, use, source=source),
        blocks_of=_blocks_of,
        num_alike=[*num_alike(sizes.depth), *num_alike(sizes.depth_single_blocks)],
        make_batch=lambda device: flow_batch(use, latent, [(TEXT_TOKENS, sizes.context_in_dim)], device),
        predict=_prediction,
    )


def _engine(source: Path) -> Any:
    return import_light("musubi_tuner.flux_2.flux2_models", source=source)


def _sizes(family: str, *, source: Path) -> Any:
    return getattr(_engine(source), PARAMETERS[family])()


def _model(family: str, use: Use, *, source: Path) -> nn.Module:
    sizes = _sizes(family, source=source)
    sizes.depth = min(sizes.depth, MADE_BLOCKS)
    sizes.depth_single_blocks = min(sizes.depth_single_blocks, MADE_BLOCKS)
    model = _engine(source).Flux2(sizes, attn_mode="torch").to(torch.bfloat16)
    if use.weights == "fp8":
        with_8_bits(model, targets=_8_BIT_TARGETS, exclusions=_8_BIT_EXCLUSIONS, source=source)
    return model


def _blocks_of(model: nn.Module) -> Sequence[nn.Module]:
    engine_model = cast(Any, model)
    return [*engine_model.double_blocks, *engine_model.single_blocks]


def _prediction(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
    """(B, 128, H, W) -> (B, 128, H, W)"""
    tokens = noisy.flatten(2).transpose(1, 2).contiguous()
    (text,) = batch.text
    text = text.detach().requires_grad_(noisy.requires_grad)
    device = noisy.device
    with mixed_precision():
        answer = model(
            x=tokens,
            x_ids=torch.empty(tokens.shape[0], tokens.shape[1], NUM_IDS, dtype=torch.long, device=device),
            timesteps=batch.timesteps / 1000,
            ctx=text,
            ctx_ids=torch.empty(text.shape[0], TEXT_TOKENS, NUM_IDS, dtype=torch.long, device=device),
            guidance=torch.empty(tokens.shape[0], device=device),
        )
    return answer.float().transpose(1, 2).unflatten(2, noisy.shape[2:])
