"""An autoencoder that works on a picture in tiles, where no card holds what it keeps of a whole one.

What it keeps grows with the pixels that it works on. Tiles overlap by a quarter and fade into each other; a part of the
autoencoder that looks at everything at once, such as an attention, sees its tile alone, so that the result is close to
that of the whole, not equal to it. The same is done by ComfyUI's "VAE Decode (Tiled)" and by `enable_tiling` of
diffusers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from diffusionforce.pipeline.nesting import list_tensors, map_tensors, with_tensors


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """The tiles of an autoencoder."""

    side: int
    """Of a tile, in numbers of a latent."""
    pixels: int
    """Of a number of a latent, along a side."""

    def decode(self, function: Callable[..., Any], *args: Any) -> Any:
        """Decode latents.

        Args:
            function: Gives pixels (..., H, W) for latents (..., h, w), both nested in any way.
            args: Its arguments; all tensors in them are latents of one height and width.

        Returns:
            What the function gives, its tensors in RAM.
        """
        return self._joined(function, args, scale_in=1, scale_out=self.pixels)

    def encode(self, function: Callable[..., Any], *args: Any) -> Any:
        """Encode pixels; arguments and result as those of `decode`, the other way round."""
        return self._joined(function, args, scale_in=self.pixels, scale_out=1)

    def _joined(self, function: Callable[..., Any], args: Any, *, scale_in: int, scale_out: int) -> Any:
        height, width = (size // scale_in for size in list_tensors(args)[0].shape[-2:])
        columns = list(_spans(width, self.side))
        weights, sums, part = torch.zeros(height * scale_out, width * scale_out), list[torch.Tensor](), None
        for rows in _spans(height, self.side):
            for across in columns:
                part = function(*map_tensors(args, lambda one, at=(rows, across): one[_window(*at, scale_in)]))
                window = _window(rows, across, scale_out)
                fading = self._fading(rows, scale_out)[:, None] * self._fading(across, scale_out)
                weights[window] += fading
                for index, tensor in enumerate(list_tensors(part)):
                    if index == len(sums):
                        sums.append(torch.zeros(*tensor.shape[:-2], *weights.shape))
                    sums[index][window] += tensor.cpu().float() * fading
        types = [tensor.dtype for tensor in list_tensors(part)]
        return with_tensors(part, [one.div_(weights).to(dtype) for one, dtype in zip(sums, types, strict=True)])

    def _fading(self, span: range, scale: int) -> torch.Tensor:
        """How much each number of a tile counts: less towards its edges, over a quarter of it."""
        places = torch.arange(len(span) * scale)
        from_edge = torch.minimum(places, places.flip(0)) + 1
        return (from_edge / (self.side // 4 * scale)).clamp(max=1)


def _spans(size: int, side: int) -> Iterator[range]:
    """Spans of one length that cover a size evenly, each a quarter over the next or more."""
    num = max(1, -(-(size - side // 4) // (side - side // 4)))
    length = min(size, side)
    for index in range(num):
        begin = round(index * (size - length) / max(1, num - 1))
        yield range(begin, begin + length)


def _window(rows: range, columns: range, scale: int) -> Any:
    """The part of a tensor (..., height, width) that a tile takes."""
    return ..., slice(rows.start * scale, rows.stop * scale), slice(columns.start * scale, columns.stop * scale)
