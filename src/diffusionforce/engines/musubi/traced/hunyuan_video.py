"""HunyuanVideo: the engine's class, called as its trainer calls it.

Its attention gets a mask of all tokens by all tokens, which is part of what the blocks share.
"""

from collections.abc import Callable, Sequence
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
)
from diffusionforce.engines.musubi.traced.recipe import Recipe, flow_batch, whole_captions
from diffusionforce.pipeline.tracer.trace import Subject

CHANNELS, PIXELS, FRAMES = 16, 8, 4
TEXT_TOKENS, TEXT_WIDTH, POOLED_WIDTH = 256, 4096, 768
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
    num_frames = (use.num_frames - 1) // FRAMES + 1
    latent = (CHANNELS, num_frames, use.height // PIXELS, use.width // PIXELS)
    text = [(TEXT_TOKENS, sizes["text_states_dim"]), (sizes["text_states_dim_2"],)]
    return Recipe(
        network="lora",
        make=lambda: _model(use, source=source),
        blocks_of=_blocks_of,
        num_alike=[*num_alike(sizes["mm_double_blocks_depth"]), *num_alike(sizes["mm_single_blocks_depth"])],
        make_batch=lambda device: flow_batch(use, latent, text, device),
        predict=_caller(source),
    )


def _engine(source: Path) -> Any:
    return import_light("musubi_tuner.hunyuan_model.models", source=source)


def _sizes(source: Path) -> dict[str, Any]:
    published = _engine(source).HUNYUAN_VIDEO_CONFIG["HYVideo-T/2-cfgdistill"]
    return {"text_states_dim": TEXT_WIDTH, "text_states_dim_2": POOLED_WIDTH, **published, **SIZES}


def _model(use: Use, *, source: Path) -> nn.Module:
    sizes = _sizes(source)
    for name in ("mm_double_blocks_depth", "mm_single_blocks_depth"):
        sizes[name] = min(sizes[name], MADE_BLOCKS)
    model: nn.Module = _engine(source).HYVideoDiffusionTransformer(
        **sizes, in_channels=CHANNELS, out_channels=CHANNELS, attn_mode="torch", split_attn=False
    )
    return model.to(torch.bfloat16)


def _blocks_of(model: nn.Module) -> Sequence[nn.Module]:
    engine_model = cast(Any, model)
    return [*engine_model.double_blocks, *engine_model.single_blocks]


def _lengths(mask: torch.Tensor, _num_tokens: int) -> torch.Tensor:
    return torch.empty(2 * mask.shape[0] + 1, dtype=torch.int32, device=mask.device)


def _caller(source: Path) -> Callable[[nn.Module, FlowBatch, torch.Tensor], torch.Tensor]:
    engine = _engine(source)

    def predict(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
        """(B, 16, F, H, W) -> the same"""
        text, pooled = batch.text
        cos, sin = engine.get_rotary_pos_embed_by_shape(model, noisy.shape[2:])
        # It makes them on a card, whatever there is; this kind of attention does not read them.
        usual, engine.get_cu_seqlens = engine.get_cu_seqlens, _lengths
        try:
            with mixed_precision():
                answer = in_real_numbers(model)(
                    noisy.to(torch.bfloat16),
                    batch.timesteps,
                    text_states=text,
                    text_mask=whole_captions(text),
                    text_states_2=pooled,
                    freqs_cos=cos,
                    freqs_sin=sin,
                    guidance=torch.empty(noisy.shape[0], device=noisy.device).requires_grad_(noisy.requires_grad),
                    return_dict=False,
                )
        finally:
            engine.get_cu_seqlens = usual
        return answer.float()

    return predict
