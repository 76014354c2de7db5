"""Wan 2.1 and 2.2, text to video: the engine's class, called as its trainer calls it.

Letters: B batch, F frames of the latent, H and W its height and width, S text tokens.
"""

from collections.abc import Sequence
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
    flow_loss,
    in_real_numbers,
    mixed_precision,
    num_alike,
    with_8_bits,
    with_lora,
)
from diffusionforce.pipeline.tracer.trace import Subject

CHANNELS = 16
PIXELS, FRAMES = 8, 4
"""Of a number of the latent, along a side and in time."""
PATCH = 2
TEXT_TOKENS, TEXT_WIDTH = 512, 4096
LEARNING_RATE = 1e-4


@dataclass(frozen=True, kw_only=True)
class WanShape:
    """One of the published models."""

    version: str = "2.1"
    width: int = 5120
    feed_forward_width: int = 13824
    num_heads: int = 40
    num_blocks: int = 40


SHAPES = {
    "wan2.1-t2v-14b": WanShape(),
    "wan2.1-t2v-1.3b": WanShape(width=1536, feed_forward_width=8960, num_heads=12, num_blocks=30),
    "wan2.2-t2v-a14b": WanShape(version="2.2"),
}


def training_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One micro-batch of training.

    Args:
        family: Which model, out of `SHAPES`.
        use: How it is used.
        source: The engine's folder on the import path.
    """

    def make_model() -> nn.Module:
        model = with_lora(_model(SHAPES[family], use, source=source), "lora_wan", use, source=source)
        if use.recompute:
            cast(Any, model).enable_gradient_checkpointing(False)
            return model.train()
        return model.eval()

    return Subject(
        make_model=make_model,
        blocks_of=_blocks_of,
        make_batch=lambda device: _batch(use, device),
        run=_training_loss,
        make_optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=LEARNING_RATE),
        num_alike=lambda _model: num_alike(SHAPES[family].num_blocks),
    )


def sampling_subject(family: str, use: Use, *, source: Path) -> Subject:
    """One evaluation of the model for a sample; guidance evaluates it twice, one after the other.

    Args:
        family: Which model, out of `SHAPES`.
        use: How it is used; the batch is one sample.
        source: The engine's folder on the import path.
    """
    return Subject(
        make_model=lambda: with_lora(_model(SHAPES[family], use, source=source), "lora_wan", use, source=source).eval(),
        blocks_of=_blocks_of,
        make_batch=lambda device: _batch(use, device),
        run=lambda model, batch: _prediction(model, batch, batch.latents),
        num_alike=lambda _model: num_alike(SHAPES[family].num_blocks),
    )


def _model(shape: WanShape, use: Use, *, source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.wan.modules.model", source=source)
    model = engine.WanModel(
        model_type="t2v",
        model_version=shape.version,
        dim=shape.width,
        ffn_dim=shape.feed_forward_width,
        num_heads=shape.num_heads,
        num_layers=min(shape.num_blocks, MADE_BLOCKS),
        attn_mode="torch",
    ).to(torch.bfloat16)
    model.set_time_embedding_v2_1(shape.version != "2.1")
    if use.weights == "fp8":
        targets, exclusions = engine.FP8_OPTIMIZATION_TARGET_KEYS, engine.FP8_OPTIMIZATION_EXCLUDE_KEYS
        with_8_bits(model, targets=tuple(targets), exclusions=tuple(exclusions), source=source)
    for block in model.blocks:
        block._forward = in_real_numbers(block._forward)
    return model


def _blocks_of(model: nn.Module) -> Sequence[nn.Module]:
    return list(cast(Any, model).blocks)


def _batch(use: Use, device: torch.device) -> FlowBatch:
    num_frames = (use.num_frames - 1) // FRAMES + 1
    size = (use.batch_size, CHANNELS, num_frames, use.height // PIXELS, use.width // PIXELS)
    return FlowBatch(
        latents=torch.empty(size, device=device),
        noise=torch.empty(size, device=device),
        timesteps=torch.empty(use.batch_size, device=device),
        text=tuple(torch.empty(TEXT_TOKENS, TEXT_WIDTH, device=device) for _ in range(use.batch_size)),
    )


def _training_loss(model: nn.Module, batch: FlowBatch) -> torch.Tensor:
    return flow_loss(_prediction(model, batch, batch.noisy()), batch)


def _prediction(model: nn.Module, batch: FlowBatch, noisy: torch.Tensor) -> torch.Tensor:
    frames, height, width = noisy.shape[2:]
    text = [one.detach().requires_grad_(noisy.requires_grad) for one in batch.text]
    with mixed_precision():
        answer = in_real_numbers(model)(
            noisy, t=batch.timesteps, context=text, seq_len=frames * height * width // PATCH**2
        )
    return torch.stack(answer)
