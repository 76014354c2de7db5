"""A diffusion transformer of the Wan 2.1 14B shape with random weights, to measure schedules without downloading 28 GB.

What the numbers of a pipeline depend on is there: the size and mix of the blocks' kernels, LoRA on every linear,
activation checkpointing inside the blocks, a modulation and a text that all blocks share, and a prologue and a tail
outside the blocks. What they do not depend on (rotary tables, query norms, a sensible output) is left out.

Shapes: B batch, T picture tokens, S text tokens, D width, C channels of a patch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.checkpoint import checkpoint


@dataclass(frozen=True, kw_only=True)
class BenchmarkShape:
    """Sizes of the model; the defaults are Wan 2.1 14B's."""

    num_blocks: int = 40
    width: int = 5120
    feed_forward_width: int = 13824
    num_heads: int = 40
    num_text_tokens: int = 512
    patch_channels: int = 64
    lora_rank: int = 32
    dtype: torch.dtype = torch.bfloat16


@dataclass(frozen=True)
class BenchmarkBatch:
    """Random inputs of one micro-batch."""

    patches: torch.Tensor
    """(B, T, C)"""
    timestep: torch.Tensor
    """(B,) in 0..1"""
    text: torch.Tensor
    """(B, S, D)"""
    target: torch.Tensor
    """(B, T, C)"""


class LoraLinear(nn.Module):
    """A frozen linear without bias, and a trained low-rank addition."""

    def __init__(self, num_in: int, num_out: int, shape: BenchmarkShape, device: torch.device) -> None:
        super().__init__()
        options = {"device": device, "dtype": shape.dtype}
        scale = num_in**-0.5
        self.weight = nn.Parameter(torch.empty(num_out, num_in, **options).normal_(0, scale), requires_grad=False)
        self.lora_down = nn.Parameter(torch.empty(shape.lora_rank, num_in, **options).normal_(0, scale))
        self.lora_up = nn.Parameter(torch.empty(num_out, shape.lora_rank, **options).normal_(0, 0.02))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight) + F.linear(F.linear(x, self.lora_down), self.lora_up)


class WanShapedBlock(nn.Module):
    """Self-attention, cross-attention to the text, feed-forward, modulated by the timestep."""

    def __init__(self, shape: BenchmarkShape, device: torch.device, *, checkpointing: bool = True) -> None:
        super().__init__()
        self.width, self.num_heads, self.checkpointing = shape.width, shape.num_heads, checkpointing
        width, wide = shape.width, shape.feed_forward_width
        (
            self.query,
            self.key,
            self.value,
            self.out,
            self.cross_query,
            self.cross_key,
            self.cross_value,
            self.cross_out,
        ) = (LoraLinear(width, width, shape, device) for _ in range(8))
        self.up, self.down = LoraLinear(width, wide, shape, device), LoraLinear(wide, width, shape, device)
        self.modulation = nn.Parameter(torch.zeros(6, width, device=device, dtype=shape.dtype), requires_grad=False)

    def forward(self, x: torch.Tensor, modulation: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        """(B, T, D), (B, 6, D), (B, S, D) -> (B, T, D)"""
        if self.checkpointing and torch.is_grad_enabled():
            # Nothing here is random, so there is no generator state to keep and to bring back.
            return checkpoint(self._body, x, modulation, text, use_reentrant=False, preserve_rng_state=False)
        return self._body(x, modulation, text)

    def _body(self, x: torch.Tensor, modulation: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        parts = [part[:, None] for part in (self.modulation + modulation).unbind(1)]
        y = self._normed(x) * (1 + parts[1]) + parts[0]
        x = x + self.out(self._attended(self.query(y), self.key(y), self.value(y))) * parts[2]
        y = self._normed(x)
        x = x + self.cross_out(self._attended(self.cross_query(y), self.cross_key(text), self.cross_value(text)))
        y = self._normed(x) * (1 + parts[4]) + parts[3]
        return x + self.down(F.gelu(self.up(y), approximate="tanh")) * parts[5]

    def _normed(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (self.width,))

    def _attended(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        query, key, value = (t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for t in (query, key, value))
        return F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)


class BenchmarkModel(nn.Module):
    """The whole model, its outer parts on `home` and each block made where it belongs.

    Args:
        shape: Sizes.
        device_of_block: The device of each block; all on `home` if left out.
        home: The device of the prologue and the head.
        checkpointing: Recompute the blocks' activations in the backward.
    """

    def __init__(
        self,
        shape: BenchmarkShape,
        *,
        home: torch.device,
        device_of_block: Sequence[torch.device] | None = None,
        checkpointing: bool = True,
    ) -> None:
        super().__init__()
        self.shape = shape
        devices = device_of_block or [home] * shape.num_blocks
        options = {"device": home, "dtype": shape.dtype}
        self.patch = nn.Linear(shape.patch_channels, shape.width, **options).requires_grad_(False)
        self.time = nn.Linear(256, 6 * shape.width, **options).requires_grad_(False)
        self.text = nn.Linear(shape.width, shape.width, **options).requires_grad_(False)
        self.blocks = nn.ModuleList(WanShapedBlock(shape, device, checkpointing=checkpointing) for device in devices)
        self.head = nn.Linear(shape.width, shape.patch_channels, **options).requires_grad_(False)

    def forward(self, patches: torch.Tensor, timestep: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        """(B, T, C), (B,), (B, S, D) -> (B, T, C)"""
        phase = timestep[:, None] * torch.arange(1, 129, device=timestep.device)
        time = torch.cat([phase.sin(), phase.cos()], -1).to(self.shape.dtype)
        modulation = 0.02 * self.time(time).unflatten(-1, (6, self.shape.width))
        x, text = self.patch(patches), self.text(text)
        for block in self.blocks:
            x = block(x, modulation, text)
        return self.head(F.layer_norm(x, (self.shape.width,)))

    def loss(self, batch: BenchmarkBatch) -> torch.Tensor:
        """Mean squared error in fp32, a scalar."""
        prediction = self(batch.patches, batch.timestep, batch.text)
        return F.mse_loss(prediction.float(), batch.target.float())


def random_batch(
    shape: BenchmarkShape, *, num_tokens: int, device: torch.device, batch_size: int = 1, seed: int = 0
) -> BenchmarkBatch:
    """A micro-batch of random numbers, the same for the same seed on the same kind of device."""
    generator = torch.Generator(device=device).manual_seed(seed)

    def normal(*size: int) -> torch.Tensor:
        return torch.randn(*size, device=device, generator=generator).to(shape.dtype)

    return BenchmarkBatch(
        patches=normal(batch_size, num_tokens, shape.patch_channels),
        timestep=torch.rand(batch_size, device=device, generator=generator),
        text=normal(batch_size, shape.num_text_tokens, shape.width),
        target=normal(batch_size, num_tokens, shape.patch_channels),
    )


def trained_parameters(model: nn.Module) -> list[nn.Parameter]:
    """The LoRA parameters."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
