"""Z-Image: the engine's class, called as its trainer calls it. Blocks that refine picture and caption run beside it."""

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
TEXT_TOKENS = 512
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
    return Recipe(
        network="lora_zimage",
        make=lambda: _model(use, source=source),
        blocks_of=lambda model: list(cast(Any, model).layers),
        num_alike=num_alike(sizes["n_layers"]),
        make_batch=lambda device: flow_batch(use, latent, [(TEXT_TOKENS, sizes["cap_feat_dim"])], device),
        predict=_prediction,
    )


def _sizes(source: Path) -> dict[str, Any]:
    published: Any = import_light("musubi_tuner.zimage.zimage_config", source=source)
    return {
        "dim": published.DEFAULT_TRANSFORMER_DIM,
        "n_layers": published.DEFAULT_TRANSFORMER_N_LAYERS,
        "n_refiner_layers": published.DEFAULT_TRANSFORMER_N_REFINER_LAYERS,
        "n_heads": published.DEFAULT_TRANSFORMER_N_HEADS,
        "n_kv_heads": published.DEFAULT_TRANSFORMER_N_KV_HEADS,
        "cap_feat_dim": published.DEFAULT_TRANSFORMER_CAP_FEAT_DIM,
        "axes_dims": published.ROPE_AXES_DIMS,
        "axes_lens": published.ROPE_AXES_LENS,
        **SIZES,
    }


def _model(use: Use, *, source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.zimage.zimage_model", source=source)
    sizes = _sizes(source)
    sizes["n_layers"] = min(sizes["n_layers"], MADE_BLOCKS)
    model = engine.ZImageTransformer2DModel(**sizes, attn_mode="torch").to(torch.bfloat16)
    with_weights_of(engine, model, use, source=source)
    for block in (*model.layers, *model.noise_refiner, *model.context_refiner):
        # It looks at the lengths of captions, also when it is recomputed.
        block.attention._forward = in_real_numbers(block.attention._forward)
    return model


def _prediction(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
    """(B, 16, H, W) -> the same"""
    (text,) = batch.text
    text = text.detach().to(torch.bfloat16).requires_grad_(noisy.requires_grad)
    # With several captions in a batch a mask tells how long each of them is.
    mask = whole_captions(text) if noisy.shape[0] > 1 else None
    with mixed_precision():
        answer = in_real_numbers(model)(
            x=noisy.unsqueeze(2).to(torch.bfloat16),
            t=(1 - batch.timesteps / 1000).to(torch.bfloat16),
            cap_feats=text,
            cap_mask=mask,
        )
    return answer.float().squeeze(2)
