"""FLUX.1 Kontext: the engine's class, called as its trainer calls it, with one control picture of the same size."""

import dataclasses
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
    in_real_numbers,
    mixed_precision,
    num_alike,
    with_8_bits,
)
from diffusionforce.engines.musubi.traced.recipe import Recipe, flow_batch, packed, unpacked
from diffusionforce.pipeline.tracer.trace import Subject

CHANNELS, PIXELS = 16, 8
TEXT_TOKENS = 512
NUM_IDS = 3
_8_BIT_TARGETS = ("single_blocks", "double_blocks")
_8_BIT_EXCLUSIONS = ("norm", "mod")
SIZES: dict[str, Any] = {}
"""Other sizes than the published ones, for tests."""


def training_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One micro-batch of training; see `Recipe`."""
    return _recipe(use, source=source).training(use, source=source)


def sampling_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One evaluation for a sample; see `Recipe`."""
    return _recipe(use, source=source).sampling(use, source=source)


def _recipe(use: Use, *, source: Path) -> Recipe:
    sizes = _sizes(source)
    latent = (CHANNELS, use.height // PIXELS, use.width // PIXELS)
    text = [(TEXT_TOKENS, sizes.context_in_dim), (sizes.vec_in_dim,), latent]
    return Recipe(
        network="lora_flux",
        make=lambda: _model(use, source=source),
        blocks_of=_blocks_of,
        num_alike=[*num_alike(sizes.depth), *num_alike(sizes.depth_single_blocks)],
        make_batch=lambda device: flow_batch(use, latent, text, device),
        predict=_prediction,
    )


def _engine(source: Path) -> Any:
    return import_light("musubi_tuner.flux.flux_models", source=source)


def _sizes(source: Path) -> Any:
    return dataclasses.replace(_engine(source).configs_flux_dev_context.params, **SIZES)


def _model(use: Use, *, source: Path) -> nn.Module:
    sizes = _sizes(source)
    made = {name: min(getattr(sizes, name), MADE_BLOCKS) for name in ("depth", "depth_single_blocks")}
    model = _engine(source).Flux(dataclasses.replace(sizes, **made), "torch").to(torch.bfloat16)
    if use.weights == "fp8":
        with_8_bits(model, targets=_8_BIT_TARGETS, exclusions=_8_BIT_EXCLUSIONS, source=source)
    return model


def _blocks_of(model: nn.Module) -> Sequence[nn.Module]:
    engine_model = cast(Any, model)
    return [*engine_model.double_blocks, *engine_model.single_blocks]


def _prediction(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
    """(B, 16, H, W) -> the same"""
    size, (height, width) = noisy.shape[0], noisy.shape[-2:]
    text, pooled, control = (one.detach().requires_grad_(noisy.requires_grad) for one in batch.text)
    tokens = packed(noisy)
    both = torch.cat((tokens, packed(control)), dim=1).to(torch.bfloat16)
    with mixed_precision():
        answer = in_real_numbers(model)(
            img=both,
            img_ids=torch.empty(size, both.shape[1], NUM_IDS, device=noisy.device),
            txt=text.to(torch.bfloat16),
            txt_ids=torch.empty(size, text.shape[1], NUM_IDS, device=noisy.device),
            y=pooled.to(torch.bfloat16),
            timesteps=batch.timesteps / 1000,
            guidance=torch.empty(size, device=noisy.device, dtype=torch.bfloat16),
            control_lengths=[tokens.shape[1]] * size,
        )
    return unpacked(answer[:, : tokens.shape[1]].float(), height=height, width=width)
