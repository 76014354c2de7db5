"""HunyuanVideo 1.5, text or picture to video: the engine's class, called as its trainer calls it.

Beside the noise it is given a latent of the picture that it continues, or zeros, with a mask.
"""

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
from diffusionforce.engines.musubi.traced.recipe import Recipe, flow_batch, whole_captions
from diffusionforce.pipeline.tracer.trace import Subject

CHANNELS, PIXELS, FRAMES = 32, 16, 4
TEXT, GLYPHS, IMAGE = (512, 3584), (128, 1472), (729, 1152)
NUM_BLOCKS = 54
TASKS = {"hunyuan-video-1.5": "t2v", "hunyuan-video-1.5-i2v": "i2v"}


def training_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One micro-batch of training; see `Recipe`."""
    return _recipe(TASKS[family], use, source=source).training(use, source=source)


def sampling_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One evaluation for a sample; see `Recipe`."""
    return _recipe(TASKS[family], use, source=source).sampling(use, source=source)


def _recipe(task: str, use: Use, *, source: Path) -> Recipe:
    place = ((use.num_frames - 1) // FRAMES + 1, use.height // PIXELS, use.width // PIXELS)
    images = [IMAGE] if task == "i2v" else []
    return Recipe(
        network="lora_hv_1_5",
        make=lambda: _model(task, use, source=source),
        blocks_of=lambda model: list(cast(Any, model).double_blocks),
        num_alike=num_alike(NUM_BLOCKS),
        make_batch=lambda device: flow_batch(
            use, (CHANNELS, *place), [(CHANNELS + 1, *place), TEXT, GLYPHS, *images], device
        ),
        predict=_prediction,
    )


def _model(task: str, use: Use, *, source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.hunyuan_video_1_5.hunyuan_video_1_5_models", source=source)
    model = engine.HunyuanVideo_1_5_DiffusionTransformer(task, attn_mode="torch")
    # Its sizes are not to be chosen, the number of its blocks included.
    model.double_blocks = model.double_blocks[:MADE_BLOCKS]
    model = model.to(torch.bfloat16)
    with_weights_of(engine, model, use, source=source)
    for block in model.double_blocks:
        block._forward = in_real_numbers(block._forward)
    return model


def _prediction(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
    """(B, 32, F, H, W) -> the same"""
    condition, *others = batch.text
    text, glyphs, *images = (one.detach().requires_grad_(noisy.requires_grad) for one in others)
    given = torch.cat((noisy, condition), dim=1).detach().requires_grad_(noisy.requires_grad)
    with mixed_precision():
        return in_real_numbers(model)(
            hidden_states=given,
            timestep=batch.timesteps,
            text_states=text,
            encoder_attention_mask=whole_captions(text),
            vision_states=images[0] if images else None,
            byt5_text_states=glyphs,
            byt5_text_mask=whole_captions(glyphs),
        )
