"""FramePack: the engine's class, called as its trainer calls it.

It makes a video section by section, and is trained on one section at a time: nine frames of the latent, after the first
frame and what came before, which is given in three degrees of coarseness.
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

CHANNELS, PIXELS = 16, 8
SECTION_FRAMES = 9
CLEAN_FRAMES = (2, 2, 16)
"""Of what came before: as it is, and at a half and a quarter of its size."""
TEXT, POOLED, IMAGE = (512, 4096), (768,), (729, 1152)
SIZES: dict[str, Any] = {}
"""Other sizes than the published ones, for tests."""
_PUBLISHED: dict[str, Any] = {"num_layers": 20, "num_single_layers": 40}


def training_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One micro-batch of training; see `Recipe`."""
    return _recipe(use, source=source).training(use, source=source)


def sampling_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One evaluation for a sample; see `Recipe`."""
    return _recipe(use, source=source).sampling(use, source=source)


def _recipe(use: Use, *, source: Path) -> Recipe:
    sizes, side = {**_PUBLISHED, **SIZES}, (use.height // PIXELS, use.width // PIXELS)
    before = [(CHANNELS, frames, *side) for frames in CLEAN_FRAMES]
    text = (TEXT[0], sizes.get("text_embed_dim", TEXT[1]))
    return Recipe(
        network="lora_framepack",
        make=lambda: _model(sizes, use, source=source),
        blocks_of=lambda model: [*cast(Any, model).transformer_blocks, *cast(Any, model).single_transformer_blocks],
        num_alike=[*num_alike(sizes["num_layers"]), *num_alike(sizes["num_single_layers"])],
        make_batch=lambda device: flow_batch(
            use, (CHANNELS, SECTION_FRAMES, *side), [*before, text, POOLED, IMAGE], device
        ),
        predict=_prediction,
    )


def _model(sizes: dict[str, Any], use: Use, *, source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.frame_pack.hunyuan_video_packed", source=source)
    made = {name: min(sizes[name], MADE_BLOCKS) for name in ("num_layers", "num_single_layers")}
    others = {"has_image_proj": True, "has_clean_x_embedder": True, "attn_mode": "torch", "split_attn": True}
    model = engine.HunyuanVideoTransformer3DModelPacked(**{**sizes, **made, **others}).to(torch.bfloat16)
    with_weights_of(engine, model, use, source=source)
    for block in (*model.transformer_blocks, *model.single_transformer_blocks):
        block.forward = in_real_numbers(block.forward)
    return model


def _prediction(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
    """(B, 16, 9, H, W) -> the same"""
    size = noisy.shape[0]
    clean, half, quarter, text, pooled, image = batch.text

    def places(num_frames: int) -> torch.Tensor:
        return torch.empty(size, num_frames, dtype=torch.long)

    with mixed_precision():
        (answer,) = in_real_numbers(model)(
            hidden_states=noisy,
            timestep=batch.timesteps,
            encoder_hidden_states=text,
            encoder_attention_mask=whole_captions(text),
            pooled_projections=pooled,
            guidance=torch.empty(size),
            latent_indices=places(SECTION_FRAMES),
            clean_latents=clean,
            clean_latent_indices=places(clean.shape[2]),
            clean_latents_2x=half,
            clean_latent_2x_indices=places(half.shape[2]),
            clean_latents_4x=quarter,
            clean_latent_4x_indices=places(quarter.shape[2]),
            image_embeddings=image,
            return_dict=False,
        )
    return answer.float()
