"""Ideogram 4: the engine's class with the 8-bit weights that it is published in, called as its trainer calls it."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from diffusionforce.engines.musubi.modules import import_light
from diffusionforce.engines.musubi.traced.parts import (
    MADE_BLOCKS,
    WHOLE_ROW,
    FlowBatch,
    Use,
    in_real_numbers,
    mixed_precision,
    num_alike,
    with_8_bits,
)
from diffusionforce.engines.musubi.traced.recipe import Recipe, flow_batch, whole_captions
from diffusionforce.pipeline.tracer.trace import Subject

PIXELS = 16
TEXT_TOKENS = 512
SIZES: dict[str, Any] = {}
"""Other sizes than the published ones, for tests."""
_EIGHT_BITS, _NO_EIGHT_BITS = ("layers.",), ("norm", "adaln")


def training_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One micro-batch of training; see `Recipe`."""
    return _recipe(use, source=source).training(use, source=source)


def sampling_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One evaluation for a sample; see `Recipe`."""
    return _recipe(use, source=source).sampling(use, source=source)


def _recipe(use: Use, *, source: Path) -> Recipe:
    engine: Any = import_light("musubi_tuner.ideogram4.ideogram4_model", source=source)
    config = replace(engine.Ideogram4Config(), **SIZES)
    latent = (config.in_channels, use.height // PIXELS, use.width // PIXELS)
    return Recipe(
        network="lora_ideogram4",
        make=lambda: _model(engine, config, source=source),
        blocks_of=lambda model: list(cast(Any, model).layers),
        num_alike=num_alike(config.num_layers),
        make_batch=lambda device: flow_batch(use, latent, [(TEXT_TOKENS, config.llm_features_dim)], device),
        predict=_prediction,
    )


def _model(engine: Any, config: Any, *, source: Path) -> nn.Module:
    made = replace(config, num_layers=min(config.num_layers, MADE_BLOCKS))
    model = engine.Ideogram4Transformer(made, attn_mode="torch").to(torch.bfloat16)
    with_8_bits(model, targets=_EIGHT_BITS, exclusions=_NO_EIGHT_BITS, source=source, numbers_a_scale=WHOLE_ROW)
    for layer in model.layers:
        # It looks at the lengths of captions, also when it is recomputed.
        layer.forward = in_real_numbers(layer.forward)
    return model


def _prediction(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
    """(B, 128, H, W) -> the same"""
    size, channels, height, width = noisy.shape
    (text,) = batch.text
    text, num_text, num_image = text.detach(), text.shape[1], height * width
    num_tokens = num_image + num_text
    x = torch.cat([noisy.flatten(2).transpose(1, 2), torch.zeros(size, num_text, channels)], dim=1).detach()
    features = torch.cat([torch.zeros(size, num_image, text.shape[2]), text], dim=1)
    with mixed_precision():
        answer = in_real_numbers(model)(
            llm_features=features.requires_grad_(noisy.requires_grad),
            x=x.requires_grad_(noisy.requires_grad),
            t=batch.timesteps / 1000,
            position_ids=torch.empty(size, num_tokens, 3, dtype=torch.long),
            attention_mask=whole_captions(text),
            indicator=torch.empty(size, num_tokens, dtype=torch.long),
        )
    return answer[:, :num_image].transpose(1, 2).unflatten(2, (height, width))
