"""Qwen-Image and the Edit models: the engine's class, called as its trainer calls it.

The Edit models are given a control picture beside what they learn or make. It is as large as what is learnt, and for
samples as large as the model likes it best.
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
from diffusionforce.engines.musubi.traced.recipe import Recipe, flow_batch, packed, unpacked, whole_captions
from diffusionforce.pipeline.tracer.trace import Subject

NUM_BLOCKS = 60
CHANNELS, PIXELS = 16, 8
TEXT_TOKENS, TEXT_WIDTH = 512, 3584
"""Captions have any length up to more than this; hardly one has more."""
EDIT_TOKENS = 188
"""What the text encoder says to a control picture, which it looks at in 384 x 384."""
SAMPLED_CONTROL_PX = 1024
_WITH_ZERO_CONDITION = "qwen-image-edit-2511"
SIZES: dict[str, Any] = {}
"""Other sizes than the published ones, for tests."""


def training_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One micro-batch of training; see `Recipe`."""
    return _recipe(family, use, control=(use.height, use.width), source=source).training(use, source=source)


def sampling_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One evaluation for a sample; see `Recipe`."""
    control = (SAMPLED_CONTROL_PX, SAMPLED_CONTROL_PX)
    return _recipe(family, use, control=control, source=source).sampling(use, source=source)


def _recipe(family: str, use: Use, *, control: tuple[int, int], source: Path) -> Recipe:
    num_blocks = SIZES.get("num_layers", NUM_BLOCKS)
    is_edit = family != "qwen-image"
    latent, controls = (
        (CHANNELS, height // PIXELS, width // PIXELS) for height, width in ((use.height, use.width), control)
    )
    text = (TEXT_TOKENS + (EDIT_TOKENS if is_edit else 0), SIZES.get("joint_attention_dim", TEXT_WIDTH))
    return Recipe(
        network="lora_qwen_image",
        make=lambda: _model(family, num_blocks, use, source=source),
        blocks_of=lambda model: list(cast(Any, model).transformer_blocks),
        num_alike=num_alike(num_blocks),
        make_batch=lambda device: flow_batch(use, latent, [text, *([controls] if is_edit else [])], device),
        predict=_prediction,
    )


def _model(family: str, num_blocks: int, use: Use, *, source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.qwen_image.qwen_image_model", source=source)
    sizes = {**SIZES, "num_layers": min(num_blocks, MADE_BLOCKS), "zero_cond_t": family == _WITH_ZERO_CONDITION}
    model = engine.QwenImageTransformer2DModel(**sizes, attn_mode="torch").to(torch.bfloat16)
    with_weights_of(engine, model, use, source=source)
    return model


def _prediction(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
    """(B, 16, H, W) -> the same"""
    size, (height, width) = noisy.shape[0], noisy.shape[-2:]
    text, *controls = batch.text
    pictures = [noisy, *controls]
    tokens = torch.cat([packed(picture) for picture in pictures], dim=1)
    text = text.detach().requires_grad_(noisy.requires_grad)
    # With several captions in a batch a mask tells how long each of them is.
    mask = whole_captions(text) if size > 1 else None
    with mixed_precision():
        answer = in_real_numbers(model)(
            hidden_states=tokens.to(torch.bfloat16),
            encoder_hidden_states=text.to(torch.bfloat16),
            encoder_hidden_states_mask=mask,
            timestep=batch.timesteps / 1000,
            img_shapes=[[(1, picture.shape[-2] // 2, picture.shape[-1] // 2) for picture in pictures]],
            txt_seq_lens=[text.shape[1]] * size,
        )
    return unpacked(answer[:, : height * width // 4].float(), height=height, width=width)
