"""The pocket model's own training and sampling code, ready to be traced.

What a run allocates on a card is allocated here in the same places: a micro-batch is copied to the card inside its
forward pass, weights stay float32 under autocast, blocks are recomputed if the profile says so.

Legend: B pictures, W words, D width of the transformer.
"""

from typing import cast

import torch
from torch import nn

from diffusionforce.engines.pocket.config import CHANNELS, MAX_WORDS, PocketConfig
from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.precision import Precision
from diffusionforce.engines.pocket.sampler import guided_velocity
from diffusionforce.engines.pocket.stepper import Batch, make_optimiser, mean_loss
from diffusionforce.engines.pocket.text import TextEncoder, TextFeatures
from diffusionforce.job import Profile
from diffusionforce.pipeline.tracer.numbers import CallTrace
from diffusionforce.pipeline.tracer.trace import Subject, trace_call

_CPU = torch.device("cpu")


def training_subject(profile: Profile, config: PocketConfig, *, microbatch_size: int, on_cards: bool) -> Subject:
    """One micro-batch of training.

    Args:
        profile: All settings.
        config: Sizes of the model.
        microbatch_size: Its pictures.
        on_cards: Whether training runs on graphics cards; else on the processor.
    """
    precision = _precision(profile, on_cards=on_cards)
    shape = (microbatch_size, CHANNELS, profile.dataset.height, profile.dataset.width)

    def make_batch(_device: torch.device) -> tuple[torch.Tensor, ...]:
        text = _features(microbatch_size, config)
        return torch.empty(shape), text.context, text.pooled, torch.empty(microbatch_size), torch.empty(shape)

    def run(model: nn.Module, held: tuple[torch.Tensor, ...]) -> torch.Tensor:
        pictures, context, pooled, sigma, noise = held or make_batch(_CPU)
        text = TextFeatures(context=context, pooled=pooled)
        batch = Batch(pictures=pictures, text=text, sigma=sigma, noise=noise)
        return mean_loss(cast(PocketTransformer, model), batch, device=_CPU, precision=precision)

    return Subject(
        make_model=lambda: _model(profile, config).train(),
        blocks_of=_blocks_of,
        # A step holds its batches in RAM. To a card they are copied inside `run`, and go with it.
        make_batch=(lambda _device: ()) if on_cards else make_batch,
        run=run,
        make_optimizer=lambda matrices: make_optimiser(matrices, profile.training),
        recompute=profile.training.gradient_checkpointing,
    )


def sampling_subject(profile: Profile, config: PocketConfig, *, on_cards: bool) -> Subject:
    """One denoising step of a sample.

    Args:
        profile: All settings.
        config: Sizes of the model.
        on_cards: Whether samples are made on graphics cards; else on the processor.
    """
    precision, samples = _precision(profile, on_cards=on_cards), profile.samples
    num_prompts = 1 if samples.guidance == 1 else 2

    def make_batch(device: torch.device) -> tuple[torch.Tensor, ...]:
        text = _features(num_prompts, config)
        return torch.empty(1, CHANNELS, samples.height, samples.width, device=device), text.context, text.pooled

    def run(model: nn.Module, batch: tuple[torch.Tensor, ...]) -> torch.Tensor:
        x, context, pooled = batch
        text = TextFeatures(context=context, pooled=pooled)
        with precision.applied():
            return guided_velocity(cast(PocketTransformer, model), x, 0.5, text, samples.guidance)

    return Subject(
        make_model=lambda: _model(profile, config).eval(), blocks_of=_blocks_of, make_batch=make_batch, run=run
    )


def trace_text_encoder(config: PocketConfig, *, num_captions: int) -> CallTrace:
    """The text encoder with captions.

    Args:
        config: Sizes of the model.
        num_captions: Captions at once.
    """
    return trace_call(
        lambda: TextEncoder(config),
        lambda device: torch.empty(num_captions, MAX_WORDS, 2, dtype=torch.int64, device=device),
        lambda encoder, ids: encoder(ids),
    )


def _model(profile: Profile, config: PocketConfig) -> PocketTransformer:
    transformer = PocketTransformer(config).requires_grad_(False)
    Lora.attach(transformer, rank=profile.lora.rank, alpha=profile.lora.alpha, dropout=profile.lora.dropout)
    return transformer


def _blocks_of(model: nn.Module) -> list[nn.Module]:
    return list(cast(PocketTransformer, model).blocks)


def _features(num_prompts: int, config: PocketConfig) -> TextFeatures:
    """(B, W, D) and (B, D)"""
    return TextFeatures(
        context=torch.empty(num_prompts, MAX_WORDS, config.width), pooled=torch.empty(num_prompts, config.width)
    )


def _precision(profile: Profile, *, on_cards: bool) -> Precision:
    """As `precision.training_precision` decides, for a device that need not be here."""
    wanted = profile.model.precision
    return Precision(
        device_type="cuda" if on_cards else "cpu", bf16=wanted == "bf16" or (wanted == "auto" and on_cards)
    )
