"""The layers that the pocket transformer and its text encoder are made of.

Legend: B pictures in the batch, N tokens, D numbers in a token, H heads, E = D / H numbers in a head.
"""

from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  (the name that every PyTorch reader knows)

EPSILON = 1e-6

Rope: TypeAlias = tuple[Tensor, Tensor]
"""Cosine and sine of every token's angles, each (N, E / 2)."""


def normalise(x: Tensor) -> Tensor:
    """Scale the last axis to a root mean square of 1; without weights, which the modulation stands in for."""
    return F.rms_norm(x, (x.shape[-1],), eps=EPSILON)


def rotate(x: Tensor, rope: Rope) -> Tensor:
    """Turn pairs of numbers of each head by the angles of their token's place.

    Args:
        x: Queries or keys, (B, H, N, E).
        rope: Cosine and sine, each (N, E / 2).

    Returns:
        The same shape and type as `x`.
    """
    cosine, sine = rope
    first, second = x.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1).to(x.dtype)


class Attention(nn.Module):
    """Self-attention of all tokens with all tokens, with normalised queries and keys."""

    def __init__(self, width: int, *, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width, bias=False)
        self.query_scale = nn.Parameter(torch.ones(width // num_heads))
        self.key_scale = nn.Parameter(torch.ones(width // num_heads))

    def forward(self, x: Tensor, rope: Rope | None = None) -> Tensor:
        """Mix the tokens: (B, N, D) to (B, N, D); `rope` says where each token is, None that it does not matter."""
        batch, tokens, width = x.shape
        head_width = width // self.num_heads
        parts = self.qkv(x).view(batch, tokens, 3, self.num_heads, head_width).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        query = F.rms_norm(query, (head_width,), self.query_scale.to(query.dtype), EPSILON)
        key = F.rms_norm(key, (head_width,), self.key_scale.to(key.dtype), EPSILON)
        if rope is not None:
            query, key = rotate(query, rope), rotate(key, rope)
        mixed = F.scaled_dot_product_attention(query, key, value)
        return self.proj(mixed.transpose(1, 2).reshape(batch, tokens, width))


class FeedForward(nn.Module):
    """Each token by itself through a gated hidden layer (SwiGLU)."""

    def __init__(self, width: int, *, hidden: int) -> None:
        super().__init__()
        self.gate_up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, D) to (B, N, D)."""
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)


class Block(nn.Module):
    """One layer of the transformer. It touches nothing but its arguments, so it can live on any device."""

    def __init__(self, width: int, *, num_heads: int, hidden: int) -> None:
        super().__init__()
        self.attn = Attention(width, num_heads=num_heads)
        self.mlp = FeedForward(width, hidden=hidden)
        self.modulation_table = nn.Parameter(torch.zeros(6, width))

    def forward(self, tokens: Tensor, modulation: Tensor, rope: Rope) -> Tensor:
        """Run the layer.

        Args:
            tokens: Text tokens, then picture tokens, (B, N, D).
            modulation: What noise level and prompt ask of every layer, (B, 6, D) float32: scale, shift and gate
                before attention, then before the feed-forward. Each layer adds a table of its own.
            rope: Where each token is.

        Returns:
            (B, N, D), in the type of `tokens`.
        """
        own = (modulation + self.modulation_table).to(tokens.dtype).unsqueeze(2)
        attn_scale, attn_shift, attn_gate, mlp_scale, mlp_shift, mlp_gate = own.unbind(1)
        tokens = tokens + attn_gate * self.attn(normalise(tokens) * (1 + attn_scale) + attn_shift, rope)
        return tokens + mlp_gate * self.mlp(normalise(tokens) * (1 + mlp_scale) + mlp_shift)
