"""Kandinsky 5: the engine's class, called as its trainer calls it: once for every picture or clip of a batch.

The caption is repeated for every frame of the latent. The few blocks that read it run beside the others.
"""

from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from diffusionforce.engines.musubi.families import find_family
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
from diffusionforce.engines.musubi.traced.recipe import Recipe, flow_batch
from diffusionforce.pipeline.tracer.hollow import contents_kept
from diffusionforce.pipeline.tracer.standins import autocast_for_cards
from diffusionforce.pipeline.tracer.trace import Subject

CHANNELS, PIXELS, FRAMES = 16, 8, 4
TEXT_TOKENS = 256
SIZES: dict[str, Any] = {}
"""Other sizes than the published ones, for tests."""
_ENCODERS = {"musubi_tuner.kandinsky5.models.text_embedders": {}}
_EIGHT_BITS = ("visual_transformer_blocks", "text_transformer_blocks", "out_layer")
_NO_EIGHT_BITS = ("norm",)


def training_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One micro-batch of training; see `Recipe`."""
    return _recipe(family, use, source=source).training(use, source=source)


def sampling_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One evaluation for a sample; see `Recipe`."""
    return _recipe(family, use, source=source).sampling(use, source=source)


def _recipe(family: str, use: Use, *, source: Path) -> Recipe:
    tasks: Any = import_light("musubi_tuner.kandinsky5.configs", source=source)
    version = find_family(family).version
    assert version is not None
    sizes = {**vars(tasks.TASK_CONFIGS[version[1]].dit_params), **SIZES}
    latent = (CHANNELS, (use.num_frames - 1) // FRAMES + 1, use.height // PIXELS, use.width // PIXELS)
    return Recipe(
        network="lora_kandinsky",
        make=lambda: _model(sizes, use, source=source),
        blocks_of=lambda model: list(cast(Any, model).visual_transformer_blocks),
        num_alike=num_alike(sizes["num_visual_blocks"]),
        make_batch=lambda device: flow_batch(
            use, latent, [(TEXT_TOKENS, sizes["in_text_dim"]), (sizes["in_text_dim2"],)], device
        ),
        predict=_prediction,
    )


def _model(sizes: dict[str, Any], use: Use, *, source: Path) -> nn.Module:
    # Its functions choose their autocast when they are read: it has to be the tracer's, and nobody else's afterwards.
    with autocast_for_cards():
        engine: Any = import_light("musubi_tuner.kandinsky5.models.dit", source=source, without=_ENCODERS)
    made = {**sizes, "num_visual_blocks": min(sizes["num_visual_blocks"], MADE_BLOCKS), "attention_engine": "sdpa"}
    model = engine.get_dit(made).to(torch.bfloat16)
    if use.weights == "fp8":
        with_8_bits(model, targets=_EIGHT_BITS, exclusions=_NO_EIGHT_BITS, source=source)
    return model


def _prediction(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
    """(B, 16, F, H, W) -> the same"""
    captions, pooled = batch.text
    given = zip(noisy.unbind(), captions.unbind(), pooled.unbind(), batch.timesteps.unbind(), strict=True)
    return torch.stack([_one(model, *one) for one in given])


def _one(
    model: Any, noisy: torch.Tensor, caption: torch.Tensor, pooled: torch.Tensor, timestep: torch.Tensor
) -> torch.Tensor:
    """(16, F, H, W) -> the same"""
    num_frames, height, width = noisy.shape[1:]
    x = noisy.permute(1, 2, 3, 0)
    if model.visual_cond:
        x = torch.cat([x, torch.empty_like(x), torch.empty(*x.shape[:-1], 1)], dim=-1)
    _, down, right = model.patch_size
    text = caption.unsqueeze(0).repeat(num_frames, 1, 1).flatten(0, 1)
    lengths = (num_frames, height // down, width // right, text.shape[0])
    with contents_kept():
        *places, words = (torch.arange(length) for length in lengths)
    with mixed_precision():
        answer = in_real_numbers(model)(
            x,
            text,
            pooled.unsqueeze(0).repeat(num_frames, 1),
            timestep.unsqueeze(0),
            places,
            words,
        )
    return answer.float().permute(3, 0, 1, 2)
