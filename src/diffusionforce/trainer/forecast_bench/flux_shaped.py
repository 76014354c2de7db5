"""A model of the FLUX.2 Klein 9B shape with random weights: two kinds of blocks, the first with two results.

Eight double blocks treat picture and text apart but for one attention over both; 24 single blocks then run over text
and picture as one sequence, with one large linear before the attention and one behind it. That is a harder subject for
a forecast than forty equal blocks: kinds differ in size, a boundary may be one tensor or two, and the tables of the
rotary embedding are shared by all. LoRA lies on every linear of the blocks. A sensible output is left out.

Legend: B batch, T picture tokens, S text tokens, N = S + T, D width, H heads, E = D / H, C channels of a patch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from diffusionforce.pipeline.bench.model import BenchmarkBatch, BenchmarkShape, LoraLinear

Modulation = tuple[torch.Tensor, ...]
Rope = tuple[torch.Tensor, torch.Tensor]
"""Cosine and sine of every token, each (N, E / 2) float32."""


@dataclass(frozen=True, kw_only=True)
class FluxShape:
    """Sizes of the model; the defaults are FLUX.2 Klein 9B's."""

    num_double: int = 8
    num_single: int = 24
    width: int = 4096
    feed_forward_width: int = 12288
    num_heads: int = 32
    num_text_tokens: int = 512
    text_width: int = 12288
    patch_channels: int = 128
    lora_rank: int = 32
    dtype: torch.dtype = torch.bfloat16

    @property
    def linears(self) -> BenchmarkShape:
        """What a linear with a LoRA asks for."""
        return BenchmarkShape(lora_rank=self.lora_rank, dtype=self.dtype)


class _Stream(nn.Module):
    """The weights of one of a double block's two streams."""

    def __init__(self, shape: FluxShape, device: torch.device) -> None:
        super().__init__()
        width, wide = shape.width, shape.feed_forward_width
        self.qkv = LoraLinear(width, 3 * width, shape.linears, device)
        self.out = LoraLinear(width, width, shape.linears, device)
        self.up = LoraLinear(width, 2 * wide, shape.linears, device)
        self.down = LoraLinear(wide, width, shape.linears, device)

    def finished(self, x: torch.Tensor, attended: torch.Tensor, modulation: Modulation) -> torch.Tensor:
        """Add attention and feed-forward to (B, ., D)."""
        x = x + modulation[2] * self.out(attended)
        return x + modulation[5] * self.down(gated(self.up(modulated(x, modulation[3], modulation[4]))))


class DoubleBlock(nn.Module):
    """Picture and text in streams of their own, with one attention over both."""

    def __init__(self, shape: FluxShape, device: torch.device) -> None:
        super().__init__()
        self.num_heads = shape.num_heads
        self.picture, self.text = _Stream(shape, device), _Stream(shape, device)

    def forward(
        self, picture: torch.Tensor, text: torch.Tensor, rope: Rope, of_picture: Modulation, of_text: Modulation
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, T, D), (B, S, D) -> the same"""
        num_text_tokens = text.shape[1]
        of_both = [
            stream.qkv(modulated(x, modulation[0], modulation[1]))
            for stream, x, modulation in ((self.text, text, of_text), (self.picture, picture, of_picture))
        ]
        attended = attention(torch.cat(of_both, 1), self.num_heads, rope)
        picture = self.picture.finished(picture, attended[:, num_text_tokens:], of_picture)
        return picture, self.text.finished(text, attended[:, :num_text_tokens], of_text)


class SingleBlock(nn.Module):
    """Text and picture as one sequence; attention and feed-forward side by side."""

    def __init__(self, shape: FluxShape, device: torch.device) -> None:
        super().__init__()
        self.width, self.num_heads, self.wide = shape.width, shape.num_heads, shape.feed_forward_width
        self.enter = LoraLinear(self.width, 3 * self.width + 2 * self.wide, shape.linears, device)
        self.leave = LoraLinear(self.width + self.wide, self.width, shape.linears, device)

    def forward(self, x: torch.Tensor, rope: Rope, modulation: Modulation) -> torch.Tensor:
        """(B, N, D) -> (B, N, D)"""
        entered = self.enter(modulated(x, modulation[0], modulation[1]))
        qkv, wide = entered.split([3 * self.width, 2 * self.wide], -1)
        attended = attention(qkv, self.num_heads, rope)
        return x + modulation[2] * self.leave(torch.cat([attended, gated(wide)], -1))


class FluxShapedModel(nn.Module):
    """The whole model, its outer parts on `home` and each block made where it belongs.

    Args:
        shape: Sizes.
        home: The device of everything outside the blocks.
        device_of_block: The device of each block, the double ones first; all on `home` if left out.
    """

    def __init__(
        self, shape: FluxShape, *, home: torch.device, device_of_block: Sequence[torch.device] | None = None
    ) -> None:
        super().__init__()
        self.shape = shape
        num_blocks = shape.num_double + shape.num_single
        devices = device_of_block or [home] * num_blocks

        def linear(num_in: int, num_out: int) -> nn.Linear:
            made = nn.Linear(num_in, num_out, bias=False, device=home, dtype=shape.dtype)
            return made.requires_grad_(False)

        self.patch, self.text_in = linear(shape.patch_channels, shape.width), linear(shape.text_width, shape.width)
        self.time = linear(256, 15 * shape.width)
        self.head = linear(shape.width, shape.patch_channels)
        self.blocks = nn.ModuleList(
            (DoubleBlock if index < shape.num_double else SingleBlock)(shape, device)
            for index, device in enumerate(devices)
        )

    def forward(self, patches: torch.Tensor, timestep: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        """(B, T, C), (B,), (B, S, text width) -> (B, T, C)"""
        shape = self.shape
        phase = timestep[:, None] * torch.arange(1, 129, device=timestep.device)
        time = self.time(torch.cat([phase.sin(), phase.cos()], -1).to(shape.dtype))
        parts = (0.02 * time).unflatten(-1, (15, shape.width))[:, :, None].unbind(1)
        picture, words = self.patch(patches), self.text_in(text)
        rope = rope_tables(words.shape[1] + picture.shape[1], shape.width // shape.num_heads, picture.device)
        for block in self.blocks[: shape.num_double]:
            picture, words = block(picture, words, rope, parts[:6], parts[6:12])
        num_text_tokens = words.shape[1]
        x = torch.cat([words, picture], 1)
        del words, picture
        for block in self.blocks[shape.num_double :]:
            x = block(x, rope, parts[12:])
        return self.head(F.layer_norm(x[:, num_text_tokens:], (shape.width,)))

    def loss(self, batch: BenchmarkBatch) -> torch.Tensor:
        """Mean squared error in fp32, a scalar."""
        prediction = self(batch.patches, batch.timestep, batch.text)
        return F.mse_loss(prediction.float(), batch.target.float())


def modulated(x: torch.Tensor, shift: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Normalise (B, ., D) without weights, then scale and shift."""
    return F.layer_norm(x, (x.shape[-1],)) * (1 + scale) + shift


def gated(x: torch.Tensor) -> torch.Tensor:
    """(B, ., 2 W) -> (B, ., W)"""
    gate, value = x.chunk(2, -1)
    return F.silu(gate) * value


def attention(qkv: torch.Tensor, num_heads: int, rope: Rope) -> torch.Tensor:
    """(B, N, 3 D) -> (B, N, D), with normalised and turned queries and keys."""
    query, key, value = qkv.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
    head_width = (query.shape[-1],)
    query, key = turned(F.rms_norm(query, head_width), rope), turned(F.rms_norm(key, head_width), rope)
    return F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)


def turned(x: torch.Tensor, rope: Rope) -> torch.Tensor:
    """Turn pairs of numbers of (B, H, N, E) by the angles of their token's place, in float32."""
    cosine, sine = rope
    first, second = x.float().chunk(2, -1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1).to(x.dtype)


def rope_tables(num_tokens: int, head_width: int, device: torch.device) -> Rope:
    """Cosine and sine, each (N, E / 2) float32."""
    frequencies = 2000.0 ** (-torch.arange(head_width // 2, device=device) / (head_width // 2))
    angles = torch.arange(num_tokens, device=device)[:, None] * frequencies
    return angles.cos(), angles.sin()
