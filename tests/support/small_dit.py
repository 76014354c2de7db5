"""A small DiT with everything that makes splitting hard: LoRA inside and outside the blocks, a modulation, a text and
rotary tables that all blocks share, dropout, host metadata among the arguments, nested arguments, and (if asked)
in-place work on a boundary tensor and a skip from the prologue to the tail."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.checkpoint import checkpoint

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
"""(x, timestep, text, target)"""


class LoraLinear(nn.Module):
    """A frozen linear with a trained low-rank addition."""

    def __init__(self, num_in: int, num_out: int, *, rank: int = 4, dropout: float = 0.0) -> None:
        super().__init__()
        self.base = nn.Linear(num_in, num_out)
        self.base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, num_in) * num_in**-0.5)
        self.up = nn.Parameter(torch.randn(num_out, rank) * 0.05)
        self.dropout = dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = F.linear(x, self.down)
        if self.dropout:
            hidden = F.dropout(hidden, self.dropout, self.training)
        return self.base(x) + F.linear(hidden, self.up)


@dataclass
class Modulation:
    """Shift and scale of the two halves of a block, as the big models group them."""

    attention: tuple[torch.Tensor, torch.Tensor]
    feed_forward: tuple[torch.Tensor, torch.Tensor]


class Block(nn.Module):
    """Self-attention, cross-attention to the text, feed-forward."""

    gain: torch.Tensor

    def __init__(self, width: int, heads: int, *, dropout: float, in_place: bool) -> None:
        super().__init__()
        self.width, self.heads, self.in_place, self.checkpointing = width, heads, in_place, False
        self.qkv = LoraLinear(width, 3 * width, dropout=dropout)
        self.out = LoraLinear(width, width, dropout=dropout)
        self.cross = LoraLinear(width, width, dropout=dropout)
        self.text = LoraLinear(width, 2 * width, dropout=dropout)
        self.wide = LoraLinear(width, 2 * width, dropout=dropout)
        self.narrow = LoraLinear(2 * width, width, dropout=dropout)
        self.register_buffer("gain", torch.ones(width))

    def forward(
        self,
        x: torch.Tensor,
        modulation: Modulation,
        rotary: list[torch.Tensor],
        *,
        text: torch.Tensor,
        lengths: torch.Tensor,
    ) -> torch.Tensor:
        assert lengths.device.index is None, "host metadata was moved"
        if self.checkpointing:
            return checkpoint(self.body, x, modulation, rotary, text, use_reentrant=False)
        return self.body(x, modulation, rotary, text)

    def body(
        self, x: torch.Tensor, modulation: Modulation, rotary: list[torch.Tensor], text: torch.Tensor
    ) -> torch.Tensor:
        if self.in_place:
            x += 0.01
        shift, scale = (part[:, None] for part in modulation.attention)
        q, k, v = self.qkv(self._normed(x) * (1 + scale) + shift).chunk(3, -1)
        x = x + self.out(self._attended(q * rotary[0], k * rotary[0], v))
        k, v = self.text(text).chunk(2, -1)
        x = x + self.cross(self._attended(self._normed(x), k, v))
        shift, scale = (part[:, None] for part in modulation.feed_forward)
        return x + self.narrow(F.gelu(self.wide(self._normed(x) * (1 + scale) + shift)))

    def _normed(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (self.width,)) * self.gain

    def _attended(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class SmallDit(nn.Module):
    """The whole model; x has 8 channels, the text 12.

    Args:
        skip: Use a tensor of the prologue after the last block.
        skip_between: Use it after every block too. Splits over several devices cannot follow that.
        around: Checkpoint around the blocks, as some models do, instead of inside.
    """

    def __init__(
        self,
        *,
        num_blocks: int = 6,
        width: int = 16,
        heads: int = 2,
        dropout: float = 0.0,
        in_place: bool = False,
        skip: bool = False,
        skip_between: bool = False,
        around: bool = False,
    ) -> None:
        super().__init__()
        self.width, self.skip, self.skip_between, self.around = width, skip, skip_between, around
        self.patch, self.time = LoraLinear(8, width), LoraLinear(16, width)
        self.modulation, self.text = LoraLinear(width, 4 * width), LoraLinear(12, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout=dropout, in_place=in_place) for _ in range(num_blocks))
        self.head, self.head_modulation = LoraLinear(width, 8), LoraLinear(width, width)

    def set_checkpointing(self, enabled: bool) -> None:
        """Checkpoint inside every block."""
        for block in self.blocks:
            assert isinstance(block, Block)
            block.checkpointing = enabled

    def forward(self, x: torch.Tensor, timestep: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        phase = timestep[:, None] * torch.arange(1, 9, device=x.device)
        time = F.silu(self.time(torch.cat([phase.sin(), phase.cos()], -1)))
        parts = self.modulation(time).chunk(4, -1)
        modulation = Modulation((parts[0], parts[1]), (parts[2], parts[3]))
        text, x = self.text(text), self.patch(x)
        rotary = [torch.linspace(0.5, 1.5, x.shape[1], device=x.device)[None, :, None]]
        first, lengths = x, torch.tensor([x.shape[1]])
        for block in self.blocks:
            if self.around:
                x = checkpoint(block, x, modulation, rotary, text=text, lengths=lengths, use_reentrant=False)
            else:
                x = block(x, modulation, rotary, text=text, lengths=lengths)
            if self.skip_between:
                x = x + 0.01 * first
        if self.skip:
            x = x + 0.1 * first
        return self.head(F.layer_norm(x, (self.width,)) * (1 + self.head_modulation(time)[:, None]))


def small_dit(*, seed: int = 0, checkpointing: bool = False, **options: bool | int | float) -> SmallDit:
    """A model in training mode, with the same weights for the same seed."""
    torch.manual_seed(seed)
    model = SmallDit(**options).train()  # pyright: ignore[reportArgumentType]
    model.set_checkpointing(checkpointing)
    return model


def small_batch(size: int, *, seed: int = 5) -> Batch:
    """A batch of random pictures of 6 tokens with texts of 5."""
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(size, 6, 8, generator=generator),
        torch.rand(size, generator=generator),
        torch.randn(size, 5, 12, generator=generator),
        torch.randn(size, 6, 8, generator=generator),
    )


def flow_loss(model: nn.Module, batch: Batch) -> torch.Tensor:
    """Mean squared error of the model's prediction."""
    x, timestep, text, target = batch
    return ((model(x, timestep, text) - target) ** 2).mean()
