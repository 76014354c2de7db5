"""Wan 2.1 and 2.2, text or picture to video: the engine's class, called as its trainer calls it.

What continues a picture is given, beside the noise, a latent of the picture with a mask, and in 2.1 what an image
encoder says of it.
"""

from dataclasses import dataclass
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
    with_weights_of,
)
from diffusionforce.engines.musubi.traced.recipe import Recipe, flow_batch
from diffusionforce.pipeline.tracer.trace import Subject

CHANNELS = 16
PIXELS, FRAMES = 8, 4
"""Of a number of the latent, along a side and in time."""
PATCH = 2
TEXT = (512, 4096)
MASK_CHANNELS = 4
IMAGE = (257, 1280)


@dataclass(frozen=True, kw_only=True)
class WanShape:
    """One of the published models."""

    version: str = "2.1"
    width: int = 5120
    feed_forward_width: int = 13824
    num_heads: int = 40
    num_blocks: int = 40
    continues_picture: bool = False


SHAPES = {
    "wan2.1-t2v-14b": WanShape(),
    "wan2.1-t2v-1.3b": WanShape(width=1536, feed_forward_width=8960, num_heads=12, num_blocks=30),
    "wan2.1-i2v-14b": WanShape(continues_picture=True),
    "wan2.2-t2v-a14b": WanShape(version="2.2"),
    "wan2.2-i2v-a14b": WanShape(version="2.2", continues_picture=True),
}


def training_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One micro-batch of training; see `Recipe`."""
    return _recipe(SHAPES[family], use, source=source).training(use, source=source)


def sampling_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One evaluation for a sample; see `Recipe`."""
    return _recipe(SHAPES[family], use, source=source).sampling(use, source=source)


def _recipe(shape: WanShape, use: Use, *, source: Path) -> Recipe:
    place = ((use.num_frames - 1) // FRAMES + 1, use.height // PIXELS, use.width // PIXELS)
    others: list[tuple[int, ...]] = []
    if shape.continues_picture:
        others = [(MASK_CHANNELS + CHANNELS, *place), *([IMAGE] if shape.version == "2.1" else [])]
    return Recipe(
        network="lora_wan",
        make=lambda: _model(shape, use, source=source),
        blocks_of=lambda model: list(cast(Any, model).blocks),
        num_alike=num_alike(shape.num_blocks),
        make_batch=lambda device: flow_batch(use, (CHANNELS, *place), [TEXT, *others], device),
        predict=_prediction,
    )


def _model(shape: WanShape, use: Use, *, source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.wan.modules.model", source=source)
    model = engine.WanModel(
        model_type="i2v" if shape.continues_picture else "t2v",
        model_version=shape.version,
        in_dim=CHANNELS + (MASK_CHANNELS + CHANNELS if shape.continues_picture else 0),
        dim=shape.width,
        ffn_dim=shape.feed_forward_width,
        num_heads=shape.num_heads,
        num_layers=min(shape.num_blocks, MADE_BLOCKS),
        attn_mode="torch",
    ).to(torch.bfloat16)
    model.set_time_embedding_v2_1(shape.version != "2.1")
    with_weights_of(engine, model, use, source=source)
    for block in model.blocks:
        block._forward = in_real_numbers(block._forward)
    return model


def _prediction(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
    """(B, 16, F, H, W) -> the same"""
    frames, height, width = noisy.shape[2:]
    captions, *others = batch.text
    given = [one.detach().requires_grad_(noisy.requires_grad) for one in (*captions.unbind(), *others)]
    picture, clip = (*given[len(captions) :], None, None)[:2]
    with mixed_precision():
        answer = in_real_numbers(model)(
            noisy,
            t=batch.timesteps,
            context=given[: len(captions)],
            clip_fea=clip,
            seq_len=frames * height * width // PATCH**2,
            y=picture,
        )
    return torch.stack(answer)
