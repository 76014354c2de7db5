"""The models of the benchmark, each in the two forms that a forecast is checked with: to be traced, and to be run.

Both forms are one code: the same class, the same loss, the same batch. A trace gets them on the CPU and without
contents, a run gets random weights that are made on the cards.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import nn

from diffusionforce.engines.pocket.config import CHANNELS, MAX_WORDS, PocketConfig
from diffusionforce.engines.pocket.layers import Block
from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.objective import flow_loss
from diffusionforce.engines.pocket.text import TextFeatures
from diffusionforce.pipeline.bench.model import BenchmarkBatch, BenchmarkModel, BenchmarkShape, random_batch
from diffusionforce.pipeline.tracer.hollow import is_hollow
from diffusionforce.trainer.forecast_bench.eight_bits import in_eight_bits
from diffusionforce.trainer.forecast_bench.flux_shaped import FluxShape, FluxShapedModel

Make = Callable[[torch.device, Sequence[torch.device] | None], nn.Module]
"""(home, device of each block) -> the model; every block on `home` if no devices are given."""
MakeBatch = Callable[[int, torch.device, int], Any]
"""(picture tokens, device, seed) -> one micro-batch."""
Run = Callable[[nn.Module, Any], torch.Tensor]

_LORA_RANK = 16


@dataclass(frozen=True, kw_only=True)
class BenchModel:
    """One model in all the forms that a job needs."""

    name: str
    make: Make
    make_batch: MakeBatch
    loss: Run
    """The training loss of a micro-batch, a scalar."""
    evaluate: Run
    """One evaluation, as a sampler makes them."""
    num_blocks: int
    can_recompute: bool = False
    """Whether its blocks can recompute their activations themselves, by an attribute `checkpointing`."""

    def make_optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        """The optimiser of all jobs, in the implementation that is the default on cards."""
        return torch.optim.AdamW(parameters, lr=1e-5, foreach=True)


def blocks_of(model: nn.Module) -> list[nn.Module]:
    """A model's blocks in calling order."""
    return list(cast(nn.ModuleList, model.blocks))


def bench_models(*, is_small: bool) -> dict[str, BenchModel]:
    """All models by name.

    Args:
        is_small: Tiny ones of the same make, for a dry run without cards.
    """
    wan, flux, pocket = BenchmarkShape(), FluxShape(), PocketConfig()
    if is_small:
        small = {"width": 64, "feed_forward_width": 160, "num_heads": 2, "num_text_tokens": 16, "patch_channels": 16}
        wan = BenchmarkShape(**small, num_blocks=8, lora_rank=4, dtype=torch.float32)  # pyright: ignore[reportArgumentType]
        flux = FluxShape(**small, num_double=3, num_single=5, text_width=96, lora_rank=4, dtype=torch.float32)  # pyright: ignore[reportArgumentType]
        pocket = replace(pocket, width=64, num_heads=2, hidden=128, bottleneck=32, head_hidden=64)
    models = (wan_shaped("wan", wan), wan_shaped("wan fp8", wan, eight_bits=True), _flux(flux), _pocket(pocket))
    return {model.name: model for model in models}


def wan_shaped(name: str, shape: BenchmarkShape, *, eight_bits: bool = False) -> BenchModel:
    """The model of the pipeline's own benchmark.

    Args:
        name: What it is called.
        shape: Its sizes.
        eight_bits: Keep the frozen weights of its linears in eight bits.
    """

    def make(home: torch.device, device_of_block: Sequence[torch.device] | None) -> nn.Module:
        model = BenchmarkModel(shape, home=home, device_of_block=device_of_block)
        if eight_bits:
            in_eight_bits(model.blocks)
        return model

    return BenchModel(
        name=name,
        make=make,
        make_batch=lambda tokens, device, seed: random_batch(shape, num_tokens=tokens, device=device, seed=seed),
        loss=lambda model, batch: cast(BenchmarkModel, model).loss(batch),
        evaluate=_evaluated,
        num_blocks=shape.num_blocks,
        can_recompute=True,
    )


def _flux(shape: FluxShape) -> BenchModel:
    def make_batch(num_tokens: int, device: torch.device, seed: int) -> BenchmarkBatch:
        generator = torch.Generator(device=device).manual_seed(seed)

        def normal(*size: int) -> torch.Tensor:
            return torch.randn(*size, device=device, generator=generator).to(shape.dtype)

        return BenchmarkBatch(
            patches=normal(1, num_tokens, shape.patch_channels),
            timestep=torch.rand(1, device=device, generator=generator),
            text=normal(1, shape.num_text_tokens, shape.text_width),
            target=normal(1, num_tokens, shape.patch_channels),
        )

    return BenchModel(
        name="klein",
        make=lambda home, device_of_block: FluxShapedModel(shape, home=home, device_of_block=device_of_block),
        make_batch=make_batch,
        loss=lambda model, batch: cast(FluxShapedModel, model).loss(batch),
        evaluate=_evaluated,
        num_blocks=shape.num_double + shape.num_single,
    )


def _pocket(config: PocketConfig) -> BenchModel:
    """The pocket transformer under autocast, as its engine trains it; tokens become the nearest square picture."""

    def make(home: torch.device, device_of_block: Sequence[torch.device] | None) -> nn.Module:
        with home:
            model = PocketTransformer(config)
        for index, device in enumerate(device_of_block or ()):
            if device != home:
                with device:
                    model.blocks[index] = Block(config.width, num_heads=config.num_heads, hidden=config.hidden)
        model.requires_grad_(False)
        Lora.attach(model, rank=_LORA_RANK, alpha=_LORA_RANK)
        return model

    def make_batch(num_tokens: int, device: torch.device, seed: int) -> tuple[torch.Tensor, ...]:
        generator = torch.Generator(device=device).manual_seed(seed)
        side = round(num_tokens**0.5) * config.patch_px

        def normal(*size: int) -> torch.Tensor:
            return torch.randn(*size, device=device, generator=generator)

        count = _PICTURES
        pictures, noise = normal(count, CHANNELS, side, side), normal(count, CHANNELS, side, side)
        sigma = torch.rand(count, device=device, generator=generator)
        return pictures, noise, sigma, normal(count, MAX_WORDS, config.width), normal(count, config.width)

    def loss(model: nn.Module, batch: tuple[torch.Tensor, ...]) -> torch.Tensor:
        pictures, noise, sigma, context, pooled = batch
        text = TextFeatures(context=context, pooled=pooled)
        # A trace runs on the CPU as if it were a card; a dry run on the CPU computes in full precision.
        kind = "cuda" if pictures.device.type == "cuda" or is_hollow(pictures) else "cpu"
        with torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
            losses = flow_loss(cast(PocketTransformer, model), pictures, text, sigma=sigma, noise=noise)
        return losses.mean()

    return BenchModel(
        name="pocket", make=make, make_batch=make_batch, loss=loss, evaluate=loss, num_blocks=config.num_blocks
    )


_PICTURES = 8
"""Of a micro-batch of the pocket model: enough for activations, and not workspaces, to fill the cards."""


def _evaluated(model: nn.Module, batch: BenchmarkBatch) -> torch.Tensor:
    return model(batch.patches, batch.timestep, batch.text)
