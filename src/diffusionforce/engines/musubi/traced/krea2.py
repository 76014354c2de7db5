"""Krea 2: the engine's class, called as its trainer calls it. What reads the caption runs beside the blocks."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
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
from diffusionforce.pipeline.tracer.hollow import contents_kept
from diffusionforce.pipeline.tracer.trace import Subject

CHANNELS, PIXELS = 16, 8
TEXT_TOKENS = 512
_ENCODER = {"musubi_tuner.krea2.krea2_encoder": {"TextEncoderConfig": SimpleNamespace(max_length=0, select_layers=())}}
"""What the engine's module takes from that of the text encoder, which loads a library of its own."""
SIZES: dict[str, Any] = {}
"""Other sizes than the published ones, for tests."""


def training_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One micro-batch of training; see `Recipe`."""
    return _recipe(use, source=source).training(use, source=source)


def sampling_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One evaluation for a sample; see `Recipe`."""
    return _recipe(use, source=source).sampling(use, source=source)


def _recipe(use: Use, *, source: Path) -> Recipe:
    tools: Any = import_light("musubi_tuner.krea2.krea2_utils", source=source, without=_ENCODER)
    config = replace(tools.single_mmdit_large_wide, **SIZES)
    latent = (CHANNELS, use.height // PIXELS, use.width // PIXELS)
    return Recipe(
        network="lora_krea2",
        make=lambda: _model(config, tools, use, source=source),
        blocks_of=lambda model: list(cast(Any, model).blocks),
        num_alike=num_alike(config.layers),
        make_batch=lambda device: flow_batch(use, latent, [(TEXT_TOKENS, config.txtlayers, config.txtdim)], device),
        predict=_prediction,
    )


def _model(config: Any, tools: Any, use: Use, *, source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.krea2.krea2_mmdit", source=source)
    made = replace(config, layers=min(config.layers, MADE_BLOCKS))
    model = engine.SingleStreamDiT(made, attn_mode="torch").to(torch.bfloat16)
    if use.weights == "fp8":
        targets, exclusions = tools.KREA2_FP8_OPTIMIZATION_TARGET_KEYS, tools.KREA2_FP8_OPTIMIZATION_EXCLUDE_KEYS
        with_8_bits(model, targets=tuple(targets), exclusions=tuple(exclusions), source=source)
    for block in model.blocks:
        # It looks at the lengths of captions, also when it is recomputed.
        block.forward = in_real_numbers(block.forward)
    return model


def _prediction(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
    """(B, 16, H, W) -> the same"""
    height, width = noisy.shape[-2:]
    tokens = packed(noisy)
    (text,) = batch.text
    text = text.detach().requires_grad_(noisy.requires_grad)
    size, num_tokens = noisy.shape[0], tokens.shape[1] + text.shape[1]
    with contents_kept():
        mask = torch.ones(size, num_tokens, dtype=torch.bool)
    with mixed_precision():
        answer = in_real_numbers(model)(
            img=tokens, context=text, t=batch.timesteps / 1000, pos=torch.empty(size, num_tokens, 3), mask=mask
        )
    return unpacked(answer.float(), height=height, width=width)
