"""From prompts to text tokens: word codes, embedded and read by two small layers.

Legend: B prompts, W = `MAX_WORDS` words, D width of the transformer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from diffusionforce.engines.pocket.config import MAX_WORDS, VOCABULARY, PocketConfig
from diffusionforce.engines.pocket.layers import Attention, FeedForward, normalise
from diffusionforce.engines.pocket.words import codes_of


def tokenise(prompts: Sequence[str]) -> Tensor:
    """Number the words of prompts; words beyond `MAX_WORDS` are dropped.

    Args:
        prompts: An empty prompt stands for "anything", the unconditional side of guidance.

    Returns:
        (B, W, 2) int64: two rows of the word table for each word, zeros where a prompt has ended.
    """
    return torch.tensor([codes_of(prompt) for prompt in prompts], dtype=torch.int64)


@dataclass(frozen=True, kw_only=True)
class TextFeatures:
    """Encoded prompts."""

    context: Tensor
    """One token a word, (B, W, D) float32."""
    pooled: Tensor
    """The prompt in one vector, (B, D) float32."""

    def __len__(self) -> int:
        return len(self.context)

    def pick(self, indices: Sequence[int]) -> "TextFeatures":
        """The features of some of the prompts, in the order asked for."""
        chosen = torch.tensor(indices, dtype=torch.int64, device=self.context.device)
        return TextFeatures(context=self.context[chosen], pooled=self.pooled[chosen])

    def to(self, device: torch.device) -> "TextFeatures":
        """The same on another device."""
        return TextFeatures(context=self.context.to(device), pooled=self.pooled.to(device))

    @staticmethod
    def join(parts: "Sequence[TextFeatures]") -> "TextFeatures":
        """Several sets of prompts as one."""
        return TextFeatures(
            context=torch.cat([part.context for part in parts]), pooled=torch.cat([part.pooled for part in parts])
        )


class TextBlock(nn.Module):
    """One layer of the text encoder."""

    def __init__(self, width: int, *, num_heads: int, hidden: int) -> None:
        super().__init__()
        self.attn = Attention(width, num_heads=num_heads)
        self.mlp = FeedForward(width, hidden=hidden)

    def forward(self, x: Tensor) -> Tensor:
        """(B, W, text width) to the same."""
        x = x + self.attn(normalise(x))
        return x + self.mlp(normalise(x))


class TextEncoder(nn.Module):
    """Two small layers over the words, trained together with the transformer."""

    def __init__(self, config: PocketConfig) -> None:
        super().__init__()
        width = config.text_width
        self.words = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Parameter(torch.randn(MAX_WORDS, width) * 0.02)
        self.blocks = nn.ModuleList(
            TextBlock(width, num_heads=config.text_num_heads, hidden=config.text_hidden)
            for _ in range(config.text_num_blocks)
        )
        self.to_context = nn.Linear(width, config.width)
        self.to_pooled = nn.Linear(width, config.width)
        nn.init.normal_(self.words.weight, std=0.5)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Encode numbered words.

        Args:
            ids: (B, W, 2) int64 from `tokenise`.

        Returns:
            Context tokens, (B, W, D), and pooled vectors, (B, D).
        """
        x = self.words(ids).sum(-2) * 0.7 + self.positions
        for block in self.blocks:
            x = block(x)
        x = normalise(x)
        is_word = (ids[..., 0] > 0).unsqueeze(-1).to(x.dtype)
        mean = (x * is_word).sum(1) / is_word.sum(1).clamp(min=1)
        return self.to_context(x), self.to_pooled(mean)

    @torch.no_grad()
    def encode(self, prompts: Sequence[str]) -> TextFeatures:
        """Encode prompts for good: float32, no gradient."""
        context, pooled = self(tokenise(prompts).to(self.words.weight.device))
        return TextFeatures(context=context.float(), pooled=pooled.float())
