"""Language models as text encoders: what loading and asking one holds, for those that the engine takes from a library.

The library takes six seconds to load before the first of its models can be made, so their layers are written down here:
of the decoders that models of the last years are, and of the encoders of CLIP and SigLIP. What matters is which numbers
there are and which of them live at the same time: every layer's result is kept, because the transformer reads one that
is not the last, and so are the scores of all words, which nobody reads.

Letters: B captions, T tokens, W width, H heads.
"""

from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


@dataclass(frozen=True, kw_only=True)
class DecoderSizes:
    """A decoder with gated feed-forward layers and heads that share keys."""

    num_words: int
    width: int
    num_layers: int
    feed_forward_width: int
    num_heads: int = 32
    num_shared: int = 8
    """Heads of keys and values."""
    head_width: int = 128
    has_head_norms: bool = False
    has_bias: bool = False
    """Of queries, keys and values."""
    scores_words: bool = True
    """Whether it scores all words in the end."""
    keeps_keys: bool = True
    """Whether keys and values of all layers are kept, as they are for writing on."""
    is_tied: bool = False
    """Whether one matrix reads and scores words."""
    other_numbers: int = 0
    """Of what is loaded with it and not used: an image encoder."""


class Decoder(nn.Module):
    """Reads captions."""

    def __init__(self, sizes: DecoderSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.words = nn.Embedding(sizes.num_words, sizes.width)
        self.layers = nn.ModuleList(_DecoderLayer(sizes) for _ in range(sizes.num_layers))
        self.norm = _Norm(sizes.width)
        if sizes.scores_words:
            self.head = nn.Linear(sizes.width, sizes.num_words, bias=False)
            if sizes.is_tied:
                self.head.weight = self.words.weight
        self.other = nn.Parameter(torch.empty(sizes.other_numbers))

    def forward(self, ids: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor | None]:
        """(B, T) -> the results of all layers, each (B, T, W), and the scores of all words"""
        hidden, _kept = self._read(ids)
        return hidden, self.head(hidden[-1]) if self.sizes.scores_words else None

    def _read(self, ids: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """The results of all layers, and what is kept of keys and values."""
        hidden, kept = [self.words(ids)], list[torch.Tensor]()
        mask = torch.empty(ids.shape[0], 1, ids.shape[1], ids.shape[1], dtype=torch.bool)
        angles = torch.empty(2, *ids.shape, self.sizes.head_width, dtype=hidden[0].dtype)
        for layer in self.layers:
            result, used = cast(_DecoderLayer, layer)(hidden[-1], mask, angles)
            hidden.append(result)
            kept += used if self.sizes.keeps_keys else []
        hidden.append(self.norm(hidden.pop()))
        return hidden, kept


class _DecoderLayer(nn.Module):
    def __init__(self, sizes: DecoderSizes) -> None:
        super().__init__()
        self.sizes = sizes
        width, inner, shared = sizes.width, sizes.num_heads * sizes.head_width, sizes.num_shared * sizes.head_width
        self.before_attention, self.before_feed_forward = _Norm(width), _Norm(width)
        self.query = nn.Linear(width, inner, bias=sizes.has_bias)
        self.key, self.value = (nn.Linear(width, shared, bias=sizes.has_bias) for _ in range(2))
        self.out = nn.Linear(inner, width, bias=False)
        self.gate, self.up = (nn.Linear(width, sizes.feed_forward_width, bias=False) for _ in range(2))
        self.down = nn.Linear(sizes.feed_forward_width, width, bias=False)
        if sizes.has_head_norms:
            self.query_norm, self.key_norm = (_Norm(sizes.head_width) for _ in range(2))

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor, angles: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """(B, T, W) -> the same, and keys and values"""
        normed = self.before_attention(x)
        query, key, value = (self._heads(layer(normed)) for layer in (self.query, self.key, self.value))
        if self.sizes.has_head_norms:
            query, key = self.query_norm(query), self.key_norm(key)
        query, key = _turned(query, angles), _turned(key, angles)
        # With a mask every head gets keys and values of its own.
        each = self.sizes.num_heads // self.sizes.num_shared
        keys, values = (part.repeat_interleave(each, dim=1) for part in (key, value))
        found = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        x = x + self.out(found.transpose(1, 2).flatten(2))
        normed = self.before_feed_forward(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed)), [key, value]

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, H * head) -> (B, H, T, head)"""
        return x.unflatten(2, (-1, self.sizes.head_width)).transpose(1, 2)


class _Norm(nn.Module):
    """Root mean square, worked out in full precision."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Any shape whose last size is the width -> the same"""
        full = x.to(torch.float32)
        full = full * torch.rsqrt(full.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * full.to(x.dtype)


def _turned(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """(B, H, T, head) -> the same, turned by its place"""
    cos, sin = angles.unsqueeze(2)
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin


@dataclass(frozen=True, kw_only=True)
class EncoderSizes:
    """A plain encoder of words or of squares of a picture."""

    width: int
    num_layers: int
    feed_forward_width: int
    num_heads: int
    num_tokens: int
    num_words: int = 0
    """0 reads a picture."""
    patch: int = 14
    pooled: bool = False
    """Whether it sums a picture up in the end, with a layer of its own."""

    @property
    def side(self) -> int:
        """Of the picture that it reads, in pixels."""
        return int(self.num_tokens**0.5) * self.patch


class Encoder(nn.Module):
    """Reads captions, or a picture."""

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.read = (
            nn.Embedding(sizes.num_words, sizes.width)
            if sizes.num_words
            else nn.Conv2d(3, sizes.width, sizes.patch, sizes.patch)
        )
        self.places = nn.Embedding(sizes.num_tokens, sizes.width)
        self.layers = nn.ModuleList(_EncoderLayer(sizes) for _ in range(sizes.num_layers))
        self.norm = nn.LayerNorm(sizes.width)
        if sizes.pooled:
            self.pool = _EncoderLayer(sizes)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """(B, T), or (B, 3, side, side) -> (B, T, W)"""
        x = self.read(given)
        x = x if self.sizes.num_words else x.flatten(2).transpose(1, 2)
        x = x + self.places.weight
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class _EncoderLayer(nn.Module):
    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.num_heads, width = sizes.num_heads, sizes.width
        self.before_attention, self.before_feed_forward = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, sizes.feed_forward_width), nn.Linear(sizes.feed_forward_width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, W) -> the same"""
        normed = self.before_attention(x)
        parts = (layer(normed).unflatten(2, (self.num_heads, -1)) for layer in (self.query, self.key, self.value))
        found = F.scaled_dot_product_attention(*(part.transpose(1, 2) for part in parts))
        x = x + self.out(found.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.before_feed_forward(x))))
