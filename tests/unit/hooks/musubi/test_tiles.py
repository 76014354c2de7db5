"""Autoencoders in tiles: the whole picture, each number of it once, whatever its size."""

from typing import Any

import pytest
import torch
from torch.nn.functional import avg_pool2d

from diffusionforce.hooks.musubi.tiles import Tiles

TILES = Tiles(side=16, pixels=4)


def enlarged(latents: torch.Tensor) -> torch.Tensor:
    """A decoder that looks at nothing but the number itself."""
    return latents.repeat_interleave(4, -1).repeat_interleave(4, -2)


def smoothed(latents: torch.Tensor) -> torch.Tensor:
    """One that looks at its neighbours too."""
    return avg_pool2d(enlarged(latents), 9, stride=1, padding=4, count_include_pad=False)


@pytest.mark.parametrize(("height", "width"), [(16, 16), (17, 40), (30, 61), (8, 33), (64, 12)])
def test_tiles_make_the_picture_that_the_whole_makes(height: int, width: int) -> None:
    latents = torch.rand(1, 3, height, width)
    torch.testing.assert_close(TILES.decode(enlarged, latents), enlarged(latents))
    torch.testing.assert_close(TILES.encode(lambda pixels: pixels[..., ::4, ::4], enlarged(latents)), latents)


def test_no_tile_is_larger_than_it_may_be_and_seams_fade() -> None:
    sizes: list[torch.Size] = []

    def noted(latents: torch.Tensor) -> torch.Tensor:
        sizes.append(latents.shape[-2:])
        return smoothed(latents)

    latents = torch.rand(1, 3, 40, 50)
    whole, tiled = smoothed(latents), TILES.decode(noted, latents)
    assert set(sizes) == {torch.Size((16, 16))} and len(sizes) == 3 * 4
    # A tile that ends at its neighbour's edge has other neighbours there, for at most two numbers of the latent.
    assert (tiled - whole).abs().mean() < 0.015 * whole.std()


def test_nests_and_types_stay_as_they_are() -> None:
    videos: Any = TILES.decode(
        lambda latents: [enlarged(one).to(torch.bfloat16) for one in latents], [torch.ones(3, 2, 20, 40)]
    )
    assert isinstance(videos, list) and videos[0].dtype is torch.bfloat16
    assert videos[0].shape == (3, 2, 80, 160) and torch.equal(videos[0], torch.ones_like(videos[0]))
