"""The pocket transformer: a small diffusion transformer (DiT) with the parts and habits of the large ones.

It works on pixels. A picture is cut into patches, each patch becomes a token, the words of the prompt are tokens in
front of them, and ten identical blocks let all of them attend to each other; noise level and prompt modulate every
block. There is no VAE to load and no cross-attention, so that the whole thing fits a 19 MB file and trains on
a laptop's processor, and still everything that DiffusionForce does to a large model (split its blocks over devices,
put a LoRA on its linears, forecast its memory) can be done to it.

Legend: B pictures, H and W height and width in pixels, h and w in patches, N = 24 + h * w tokens, D numbers a token.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from diffusionforce.engines.pocket.config import CHANNELS, MAX_WORDS, PocketConfig
from diffusionforce.engines.pocket.layers import Block, Rope, normalise
from diffusionforce.engines.pocket.text import TextFeatures

_TIME_FREQUENCIES = 128
_ROPE_BASE = 100.0
_POSITION_BASE = 10_000.0
_SMALLEST_SIGMA = 0.05
"""Noise levels below this count as this where the velocity divides by them."""


@dataclass(frozen=True, kw_only=True)
class _Embedded:
    """A noisy batch, ready for the blocks."""

    tokens: Tensor
    """(B, N, D)"""
    modulation: Tensor
    """(B, 6, D), for the blocks."""
    head_modulation: Tensor
    """(B, 2 * D), for the output head."""
    rope: Rope


class PocketTransformer(nn.Module):
    """Predicts where a noisy picture should move to become a clean one that fits the prompt."""

    def __init__(self, config: PocketConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.patch_in = nn.Linear(config.patch_values, config.bottleneck, bias=False)
        self.patch_out = nn.Linear(config.bottleneck, width)
        self.time_in = nn.Linear(2 * _TIME_FREQUENCIES, width)
        self.time_out = nn.Linear(width, width)
        self.block_modulation = nn.Linear(width, 6 * width)
        self.head_modulation = nn.Linear(width, 2 * width)
        self.blocks = nn.ModuleList(
            Block(width, num_heads=config.num_heads, hidden=config.hidden) for _ in range(config.num_blocks)
        )
        self.head_in = nn.Linear(width, config.head_hidden)
        self.head_out = nn.Linear(config.head_hidden, config.patch_values)
        # A fresh model changes nothing and predicts grey: training starts from a calm place.
        for layer in (self.block_modulation, self.head_modulation, self.head_out):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, noisy: Tensor, sigma: Tensor, context: Tensor, pooled: Tensor) -> Tensor:
        """Predict the velocity, noise minus clean picture.

        Args:
            noisy: (1 - sigma) * picture + sigma * noise, (B, 3, H, W) from -1 to 1; H and W multiples of the patch.
            sigma: Noise level of each picture, (B,) from 0 (clean) to 1 (noise).
            context: Text tokens, (B, 24, D).
            pooled: Text vectors, (B, D).

        Returns:
            (B, 3, H, W) float32.
        """
        clean = self.predict_clean(noisy, sigma, context, pooled)
        divisor = sigma.float().clamp(min=_SMALLEST_SIGMA)[:, None, None, None]
        return (noisy.float() - clean.float()) / divisor

    def predict_clean(self, noisy: Tensor, sigma: Tensor, context: Tensor, pooled: Tensor) -> Tensor:
        """Predict the clean picture itself, (B, 3, H, W); the network's own output. Arguments as in `forward`."""
        embedded = self._embed(noisy, sigma, context, pooled)
        tokens = embedded.tokens
        for block in self.blocks:
            tokens = block(tokens, embedded.modulation, embedded.rope)
        return self._unembed(tokens, embedded.head_modulation, noisy.shape[2], noisy.shape[3])

    def velocity(self, noisy: Tensor, sigma: Tensor, text: TextFeatures) -> Tensor:
        """`forward`, with the prompts as one object."""
        return self(noisy, sigma, text.context, text.pooled)

    def _embed(self, noisy: Tensor, sigma: Tensor, context: Tensor, pooled: Tensor) -> _Embedded:
        patch = self.config.patch_px
        batch, _, height, width = noisy.shape
        rows, columns = height // patch, width // patch
        patches = noisy.view(batch, CHANNELS, rows, patch, columns, patch).permute(0, 2, 4, 3, 5, 1)
        picture = self.patch_out(self.patch_in(patches.reshape(batch, rows * columns, self.config.patch_values)))
        # Made anew at every call: a table kept from an earlier one would lie on that call's device.
        y, x = _centred_grid(rows, columns, noisy.device)
        picture = picture + _position_codes(y, x, self.config.width)
        time = self.time_out(F.silu(self.time_in(_time_codes(sigma))))
        asked = F.silu(time + pooled)
        cosine, sine = _rope_tables(y, x, self.config.head_width)
        return _Embedded(
            tokens=torch.cat([context.to(picture.dtype), picture], 1),
            modulation=self.block_modulation(asked).view(batch, 6, -1),
            head_modulation=self.head_modulation(asked),
            rope=(cosine.to(picture.dtype), sine.to(picture.dtype)),
        )

    def _unembed(self, tokens: Tensor, modulation: Tensor, height: int, width: int) -> Tensor:
        patch = self.config.patch_px
        rows, columns = height // patch, width // patch
        picture = normalise(tokens[:, MAX_WORDS:])
        shift, scale = modulation.to(picture.dtype).unsqueeze(1).chunk(2, -1)
        patches = self.head_out(F.silu(self.head_in(picture * (1 + scale) + shift)))
        grid = patches.view(-1, rows, columns, patch, patch, CHANNELS).permute(0, 5, 1, 3, 2, 4)
        return grid.reshape(-1, CHANNELS, height, width)


def _centred_grid(rows: int, columns: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Row and column of every patch, each (h * w,) float32, counted from the middle of the picture.

    From the middle, so that a picture of another size looks like a crop or an extension of the native one.
    """
    y, x = torch.meshgrid(
        torch.arange(rows, device=device) - (rows - 1) / 2,
        torch.arange(columns, device=device) - (columns - 1) / 2,
        indexing="ij",
    )
    return y.reshape(-1), x.reshape(-1)


def _rope_tables(y: Tensor, x: Tensor, head_width: int) -> Rope:
    """Cosine and sine for all tokens, each (N, head_width / 2); words have no place and are not turned."""
    quarter = head_width // 4
    frequencies = _ROPE_BASE ** (-torch.arange(quarter, device=y.device) / quarter)
    angles = torch.cat([y[:, None] * frequencies, x[:, None] * frequencies], 1)
    words = torch.zeros(MAX_WORDS, head_width // 2, device=y.device)
    angles = torch.cat([words, angles])
    return angles.cos(), angles.sin()


def _position_codes(y: Tensor, x: Tensor, width: int) -> Tensor:
    """Sine and cosine codes that are added to the picture tokens, (h * w, D)."""
    quarter = width // 4
    frequencies = _POSITION_BASE ** (-torch.arange(quarter, device=y.device) / quarter)
    rows, columns = y[:, None] * frequencies, x[:, None] * frequencies
    return torch.cat([rows.sin(), rows.cos(), columns.sin(), columns.cos()], 1)


def _time_codes(sigma: Tensor) -> Tensor:
    """Cosine and sine codes of the noise level, (B, 256) float32."""
    steps = torch.arange(_TIME_FREQUENCIES, device=sigma.device)
    frequencies = torch.exp(-math.log(10_000) * steps / _TIME_FREQUENCIES)
    angles = sigma.float()[:, None] * 1000 * frequencies
    return torch.cat([angles.cos(), angles.sin()], 1)
