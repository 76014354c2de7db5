"""Small models as the tracer takes them and as `CountedStep` runs them: one code, traced on nothing and run on data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from tests.support.counted_cards import CutModel
from torch import nn
from torch.utils.checkpoint import checkpoint

from diffusionforce.engines.pocket.config import PocketConfig
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.pipeline.bench.model import BenchmarkBatch, BenchmarkModel, BenchmarkShape, random_batch
from diffusionforce.pipeline.tracer.trace import Subject

CPU = torch.device("cpu")
SMALL_WAN = BenchmarkShape(
    num_blocks=6, width=64, feed_forward_width=176, num_heads=4, num_text_tokens=24, patch_channels=16, lora_rank=4
)
SMALL_POCKET = PocketConfig(
    width=64, num_blocks=6, num_heads=2, hidden=128, bottleneck=32, head_hidden=64, native_size_px=160
)


def adamw(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """The optimiser of all examples, in the implementation that is the default on cards."""
    return torch.optim.AdamW(parameters, lr=1e-4, foreach=True)


@dataclass(frozen=True, kw_only=True)
class Example:
    """One model in all the forms that a test needs."""

    make_model: Callable[[torch.device], nn.Module]
    make_batch: Callable[[torch.device], Any]
    loss: Callable[[nn.Module, Any], torch.Tensor]
    cut: Callable[[nn.Module], CutModel]

    def subject(self) -> Subject:
        """For the tracer."""
        return Subject(
            make_model=lambda: self.make_model(torch.device("meta")),
            blocks_of=lambda model: list(model.blocks),  # pyright: ignore[reportArgumentType]
            make_batch=self.make_batch,
            run=self.loss,
            make_optimizer=adamw,
        )


def wan_example(*, checkpointing: bool, shape: BenchmarkShape = SMALL_WAN, num_tokens: int = 200) -> Example:
    """The benchmark model."""

    def loss(model: nn.Module, batch: BenchmarkBatch) -> torch.Tensor:
        assert isinstance(model, BenchmarkModel)
        return model.loss(batch)

    def cut(model: nn.Module) -> CutModel:
        assert isinstance(model, BenchmarkModel)

        def prologue(batch: BenchmarkBatch) -> tuple[torch.Tensor, tuple[Any, ...]]:
            phase = batch.timestep[:, None] * torch.arange(1, 129)
            time = torch.cat([phase.sin(), phase.cos()], -1).to(shape.dtype)
            modulation = 0.02 * model.time(time).unflatten(-1, (6, shape.width))
            return model.patch(batch.patches), (modulation, model.text(batch.text))

        def tail(x: torch.Tensor, _shared: tuple[Any, ...], batch: BenchmarkBatch) -> torch.Tensor:
            prediction = model.head(F.layer_norm(x, (shape.width,)))
            return F.mse_loss(prediction.float(), batch.target.float())

        return CutModel(model=model, blocks=list(model.blocks), prologue=prologue, tail=tail)

    return Example(
        make_model=lambda device: BenchmarkModel(shape, home=device, checkpointing=checkpointing),
        make_batch=lambda device: random_batch(shape, num_tokens=num_tokens, device=device),
        loss=loss,
        cut=cut,
    )


def pocket_example() -> Example:
    """The pocket transformer with trained attention outputs, in float32, without checkpointing."""
    side, width = SMALL_POCKET.native_size_px, SMALL_POCKET.width

    def make_model(device: torch.device) -> nn.Module:
        with device:
            model = PocketTransformer(SMALL_POCKET).requires_grad_(False)
        for block in model.blocks:
            block.attn.proj.requires_grad_(True)  # pyright: ignore
        return model

    def make_batch(device: torch.device) -> tuple[torch.Tensor, ...]:
        picture = torch.randn(2, 3, side, side, device=device)
        return picture, torch.rand(2, device=device), torch.randn(2, 24, width), torch.randn(2, width)

    def loss(model: nn.Module, batch: Any) -> torch.Tensor:
        assert isinstance(model, PocketTransformer)
        noisy, sigma, context, pooled = batch
        return (model.predict_clean(noisy, sigma, context, pooled) - noisy).square().mean()

    def cut(model: nn.Module) -> CutModel:
        assert isinstance(model, PocketTransformer)

        def prologue(batch: Any) -> tuple[torch.Tensor, tuple[Any, ...]]:
            embedded = model._embed(*batch)
            return embedded.tokens, (embedded.modulation, embedded.rope, embedded.head_modulation)

        def tail(x: torch.Tensor, shared: tuple[Any, ...], batch: Any) -> torch.Tensor:
            return (model._unembed(x, shared[2], side, side) - batch[0]).square().mean()

        blocks = [_WithoutHead(block) for block in model.blocks]
        return CutModel(model=model, blocks=blocks, prologue=prologue, tail=tail)

    return Example(make_model=make_model, make_batch=make_batch, loss=loss, cut=cut)


def mixed_example(*, checkpointing: bool) -> Example:
    """A model as Musubi's trainer runs them: bfloat16 weights, float32 LoRA with dropout, autocast around it all."""

    def loss(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        assert isinstance(model, _MixedModel)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            x = model.patch(batch)
            for block in model.blocks:
                x = block(x)
            return F.mse_loss(model.head(x), batch)

    def cut(model: nn.Module) -> CutModel:
        assert isinstance(model, _MixedModel)

        def prologue(batch: torch.Tensor) -> tuple[torch.Tensor, tuple[Any, ...]]:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return model.patch(batch), ()

        def tail(x: torch.Tensor, _shared: tuple[Any, ...], batch: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return F.mse_loss(model.head(x), batch)

        return CutModel(model=model, blocks=[_InAutocast(b) for b in model.blocks], prologue=prologue, tail=tail)

    return Example(
        make_model=lambda device: _MixedModel(device, checkpointing=checkpointing),
        make_batch=lambda device: torch.randn(1, 300, 16, device=device),
        loss=loss,
        cut=cut,
    )


class _WithoutHead(nn.Module):
    """A pocket block that does not mind being handed the head's modulation too."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, tokens: torch.Tensor, modulation: torch.Tensor, rope: Any, _head: torch.Tensor) -> torch.Tensor:
        return self.block(tokens, modulation, rope)


class _InAutocast(nn.Module):
    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.block(x)


class _MixedBlock(nn.Module):
    def __init__(self, width: int, device: torch.device, *, checkpointing: bool) -> None:
        super().__init__()
        half = {"device": device, "dtype": torch.bfloat16}
        self.width, self.checkpointing = width, checkpointing
        self.up = nn.Linear(width, 3 * width, **half).requires_grad_(False)
        self.down = nn.Linear(3 * width, width, **half).requires_grad_(False)
        self.lora_down = nn.Linear(width, 4, bias=False, device=device)
        self.lora_up = nn.Linear(4, 3 * width, bias=False, device=device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.checkpointing and torch.is_grad_enabled():
            return checkpoint(self.body, x, use_reentrant=False)
        return self.body(x)

    def body(self, x: torch.Tensor) -> torch.Tensor:
        y = F.layer_norm(x, (self.width,))
        hidden = self.up(y) + self.lora_up(F.dropout(self.lora_down(y), 0.1, self.training))
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in (y, y, y))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return x + y + self.down(F.gelu(hidden))


class _MixedModel(nn.Module):
    def __init__(self, device: torch.device, *, checkpointing: bool) -> None:
        super().__init__()
        self.patch = nn.Linear(16, 64, device=device, dtype=torch.bfloat16).requires_grad_(False)
        self.blocks = nn.ModuleList(_MixedBlock(64, device, checkpointing=checkpointing) for _ in range(6))
        self.head = nn.Linear(64, 16, device=device, dtype=torch.bfloat16).requires_grad_(False)
