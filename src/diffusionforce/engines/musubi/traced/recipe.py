"""What the traces of most models have in common: how a model is made, fed and asked, in training and in sampling."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from diffusionforce.engines.musubi.traced.parts import FlowBatch, Use, flow_loss, with_lora
from diffusionforce.pipeline.tracer.hollow import contents_kept
from diffusionforce.pipeline.tracer.trace import Subject

LEARNING_RATE = 1e-4


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One model."""

    network: str
    """The engine's module for its LoRA."""
    make: Callable[[], nn.Module]
    """Makes it in its number format, without a LoRA, with a few of its blocks."""
    blocks_of: Callable[[nn.Module], Sequence[nn.Module]]
    num_alike: Sequence[int]
    """For each block that is made, how many of the model it stands for."""
    make_batch: Callable[[torch.device], FlowBatch]
    predict: Callable[[nn.Module, FlowBatch, torch.Tensor], torch.Tensor]
    """Calls the model as the engine's trainer does; gives what the loss compares, in fp32 and in the latent's shape."""

    def training(self, use: Use, *, source: Path) -> Subject:
        """One micro-batch of training."""

        def make_model() -> nn.Module:
            model = with_lora(self.make(), self.network, use, source=source)
            if use.recompute:
                cast(Any, model).enable_gradient_checkpointing(False)
                return model.train()
            return model.eval()

        return Subject(
            make_model=make_model,
            blocks_of=self.blocks_of,
            make_batch=self.make_batch,
            run=lambda model, batch: flow_loss(self.predict(model, batch, batch.noisy()), batch),
            make_optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=LEARNING_RATE),
            num_alike=lambda _model: self.num_alike,
        )

    def sampling(self, use: Use, *, source: Path) -> Subject:
        """One evaluation of the model for a sample; guidance evaluates it twice, one after the other."""
        return Subject(
            make_model=lambda: with_lora(self.make(), self.network, use, source=source).eval(),
            blocks_of=self.blocks_of,
            make_batch=self.make_batch,
            run=lambda model, batch: self.predict(model, batch, batch.latents),
            num_alike=lambda _model: self.num_alike,
        )


def flow_batch(use: Use, latent: Sequence[int], text: Sequence[Sequence[int]], device: torch.device) -> FlowBatch:
    """Inputs of a forward, without contents.

    Args:
        use: How many pictures.
        latent: Sizes of one picture's latent.
        text: Sizes of everything that one caption gives.
        device: Where they are.
    """
    size = (use.batch_size, *latent)
    return FlowBatch(
        latents=torch.empty(size, device=device),
        noise=torch.empty(size, device=device),
        timesteps=torch.empty(use.batch_size, device=device),
        text=tuple(torch.empty(use.batch_size, *one, device=device) for one in text),
    )


def whole_captions(text: torch.Tensor) -> torch.Tensor:
    """A mask for captions that all have the full length; its contents are real, for some models count with them."""
    with contents_kept():
        return torch.ones(text.shape[:2], dtype=torch.bool)


def packed(latents: torch.Tensor) -> torch.Tensor:
    """(B, C, H, W) -> (B, H/2 * W/2, C * 4): squares of four numbers become tokens."""
    batch, channels, height, width = latents.shape
    squares = latents.view(batch, channels, height // 2, 2, width // 2, 2).permute(0, 2, 4, 1, 3, 5)
    return squares.reshape(batch, height * width // 4, channels * 4)


def unpacked(tokens: torch.Tensor, *, height: int, width: int) -> torch.Tensor:
    """(B, H/2 * W/2, C * 4) -> (B, C, H, W)"""
    batch, _, numbers = tokens.shape
    squares = tokens.view(batch, height // 2, width // 2, numbers // 4, 2, 2).permute(0, 3, 1, 4, 2, 5)
    return squares.reshape(batch, numbers // 4, height, width)
