"""The sizes of the pocket model, as they stand in the metadata of its weights."""

import json
from dataclasses import asdict, dataclass

from diffusionforce.errors import WeightsError

VOCABULARY = 2048
"""Rows of the word table. Row 0 is the empty word."""
MAX_WORDS = 24
"""Words of a prompt that the model reads, and so the number of text tokens of every picture."""
CHANNELS = 3
"""Red, green, blue: the model works on pixels, without a VAE."""


@dataclass(frozen=True, kw_only=True)
class PocketConfig:
    """Sizes of the pocket transformer and its text encoder."""

    native_size_px: int = 256
    """Width and height of the pictures that the base was trained on."""
    patch_px: int = 16
    """Width and height of the square of pixels behind one token; sides of pictures are multiples of it."""
    width: int = 256
    """Numbers in one token."""
    num_blocks: int = 10
    num_heads: int = 4
    hidden: int = 576
    """Width inside the feed-forward part of a block."""
    bottleneck: int = 128
    """A patch of 768 numbers is squeezed through this many on its way in, which finds the picture's few real
    degrees of freedom early and trains faster."""
    head_hidden: int = 512
    """Width inside the output head. Wider than a token, or the predicted pixels would have the token's rank."""
    text_width: int = 192
    text_num_blocks: int = 2
    text_num_heads: int = 3
    text_hidden: int = 384

    @property
    def patch_values(self) -> int:
        """Numbers in one patch of pixels."""
        return CHANNELS * self.patch_px**2

    @property
    def head_width(self) -> int:
        """Numbers in one attention head."""
        return self.width // self.num_heads

    def to_json(self) -> str:
        """The form in which the config travels in a weights file."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "PocketConfig":
        """Read what `to_json` wrote.

        Raises:
            WeightsError: It is no pocket config.
        """
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError, RecursionError) as error:
            raise WeightsError("The config in the weights file is not a pocket config.", detail=str(error)) from error
