"""Pictures and captions as the tensors that training needs, made once before it starts.

Pictures of any size are scaled until they cover the training size and cropped around their middle: the pocket model
has one native size, so the buckets of the large models would gain nothing. Captions are encoded here too, after
which the text encoder is no longer needed. Everything stays in the host's memory: 5,000 pictures take 1 GB.

Legend: P pictures, H and W height and width in pixels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from diffusionforce.datasets import load_rgb
from diffusionforce.engines.pocket.text import TextEncoder, TextFeatures
from diffusionforce.engines.pocket.world import draw_page
from diffusionforce.errors import DatasetError

Progress = Callable[[int, int], None]
"""Called with how many are done, and of how many."""

_WORLD_SIZE_PX = 256


class Captioned(Protocol):
    """A picture file with its caption."""

    @property
    def picture(self) -> Path:
        """The file."""
        ...

    @property
    def caption(self) -> str:
        """What it shows."""
        ...


@dataclass(frozen=True, kw_only=True)
class PreparedSet:
    """Pictures with their encoded captions, on the CPU."""

    pixels: Tensor
    """(P, 3, H, W) uint8."""
    text: TextFeatures

    def __len__(self) -> int:
        return len(self.pixels)

    def batch(self, indices: Sequence[int]) -> tuple[Tensor, TextFeatures]:
        """Some of the pictures, as float32 from -1 to 1, and their captions."""
        return self.pixels[list(indices)].float() / 127.5 - 1, self.text.pick(indices)

    @staticmethod
    def join(first: "PreparedSet", second: "PreparedSet") -> "PreparedSet":
        """Two sets as one, the second behind the first."""
        return PreparedSet(
            pixels=torch.cat([first.pixels, second.pixels]), text=TextFeatures.join([first.text, second.text])
        )


def prepare_pictures(
    items: Sequence[Captioned], *, width_px: int, height_px: int, progress: Progress | None = None
) -> Tensor:
    """Read, scale and crop pictures.

    Args:
        items: What to read.
        width_px: Width of the prepared pictures.
        height_px: Their height.
        progress: Called after each picture.

    Returns:
        (P, 3, H, W) uint8 on the CPU.

    Raises:
        DatasetError: There are none, or a file cannot be read.
    """
    if not items:
        raise DatasetError("There are no pictures to train on.", hint="Choose a folder with captioned pictures.")
    pixels = torch.empty(len(items), 3, height_px, width_px, dtype=torch.uint8)
    for index, item in enumerate(items):
        pixels[index] = _to_tensor(cover(load_rgb(item.picture), width_px=width_px, height_px=height_px))
        if progress:
            progress(index + 1, len(items))
    return pixels


def encode_captions(
    encoder: TextEncoder, captions: Sequence[str], *, progress: Progress | None = None, at_once: int = 64
) -> TextFeatures:
    """Encode captions, or prompts, a few at a time.

    Args:
        encoder: The text encoder.
        captions: What to encode; at least one.
        progress: Called after each portion.
        at_once: Size of a portion.
    """
    portions: list[TextFeatures] = []
    for start in range(0, len(captions), at_once):
        portions.append(encoder.encode(captions[start : start + at_once]))
        if progress:
            progress(min(start + at_once, len(captions)), len(captions))
    return TextFeatures.join(portions)


def prepare_world(encoder: TextEncoder, *, count: int, width_px: int, height_px: int, seed: int) -> PreparedSet:
    """Draw regularisation pictures: ordinary figures of the world that the base model knows.

    Seen now and then during training, they remind the model what a girl without the trigger word looks like.

    Args:
        encoder: The text encoder.
        count: How many to draw.
        width_px: Width of the prepared pictures.
        height_px: Their height.
        seed: Of the drawing.
    """
    random = Random(seed)
    pages = [draw_page(random, size_px=_WORLD_SIZE_PX) for _ in range(count)]
    pictures = [cover(page.picture, width_px=width_px, height_px=height_px) for page in pages]
    return PreparedSet(
        pixels=torch.stack([_to_tensor(picture) for picture in pictures]),
        text=encode_captions(encoder, [page.caption for page in pages]),
    )


def cover(picture: Image.Image, *, width_px: int, height_px: int) -> Image.Image:
    """Scale a picture until it covers a size, and cut off evenly what hangs over."""
    scale = max(width_px / picture.width, height_px / picture.height)
    kept_width, kept_height = width_px / scale, height_px / scale
    left, top = (picture.width - kept_width) / 2, (picture.height - kept_height) / 2
    # Lanczos rings along the hard outlines of drawings when it shrinks them; Hamming does not and is as sharp.
    method = Image.Resampling.HAMMING if scale < 1 else Image.Resampling.LANCZOS
    kept = (left, top, left + kept_width, top + kept_height)
    return picture.resize((width_px, height_px), method, box=kept)


def _to_tensor(picture: Image.Image) -> Tensor:
    """(3, H, W) uint8 of an RGB picture."""
    return torch.from_numpy(np.array(picture, dtype=np.uint8)).permute(2, 0, 1)
