"""The icon and the pictures of the set-up program."""

import io
import re
import struct
from collections.abc import Callable

import pytest
from PIL import IcoImagePlugin, Image

from diffusionforce.gui import icons
from installer import artwork


def test_the_same_is_drawn_twice():
    first, second = (artwork.ico([artwork.icon(16), artwork.icon(256)]) for _ in range(2))
    assert first == second


def test_the_icon_can_be_read_in_every_size():
    sizes = (16, 32, 256)
    data = artwork.ico(artwork.icon(size) for size in sizes)
    opened = IcoImagePlugin.IcoFile(io.BytesIO(data))
    assert opened.sizes() == {(size, size) for size in sizes}
    for size in sizes:
        pixels = list(struct.iter_unpack("BBBB", opened.getimage((size, size)).convert("RGBA").tobytes()))
        assert pixels[0][3] < 128, "the corner is round"
        for colour in (artwork.CYAN, artwork.ORANGE):
            near = [max(abs(a - b) for a, b in zip(pixel[:3], colour, strict=True)) for pixel in pixels]
            assert min(near) < 24


def test_the_beams_are_those_of_the_window():
    numbers = [
        float(number)
        for number in re.findall(r"[MCVZ, ](\d+(?:\.\d+)?)", " ".join(re.findall(r' d="([^"]+)"', icons.LOGO)))
    ]
    drawn = {value for _, *edges in artwork.BEAMS for edge in edges for point in edge for value in point}
    assert set(numbers) == drawn
    assert [f"#{r:02x}{g:02x}{b:02x}" for (r, g, b), *_ in artwork.BEAMS] == re.findall(r'fill="(#\w+)"', icons.LOGO)


@pytest.mark.parametrize(("draw", "size"), [(artwork.welcome, (164, 314)), (artwork.header, (150, 57))])
def test_pictures_have_the_size_that_nsis_gives_them(draw: Callable[[], Image.Image], size: tuple[int, int]):
    picture = draw()
    assert (picture.size, picture.mode) == (size, "RGB")
