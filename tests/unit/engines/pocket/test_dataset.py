"""Folders of any pictures become tensors of one size."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from PIL import Image
from tests.support.pocket_models import tiny_text_encoder

from diffusionforce.engines.pocket.dataset import cover, encode_captions, prepare_pictures, prepare_world
from diffusionforce.errors import DatasetError


@dataclass
class Item:
    picture: Path
    caption: str = "a thing"


def three_bands(size: tuple[int, int]) -> Image.Image:
    """Red, green and blue from left to right."""
    strip = Image.new("RGB", (3, 1))
    for x, colour in enumerate([(255, 0, 0), (0, 255, 0), (0, 0, 255)]):
        strip.putpixel((x, 0), colour)
    return strip.resize(size, Image.Resampling.NEAREST)


@pytest.mark.parametrize("size", [(300, 100), (96, 32), (1500, 500), (32, 32), (20, 50), (1, 1)])
def test_every_shape_is_covered(size: tuple[int, int]) -> None:
    assert cover(three_bands(size), width_px=64, height_px=48).size == (64, 48)


def test_the_middle_is_kept() -> None:
    kept = cover(three_bands((900, 300)), width_px=32, height_px=32)
    for x in (2, 16, 29):
        assert kept.getpixel((x, 16)) == (0, 255, 0)


def test_a_picture_of_the_right_size_is_untouched() -> None:
    picture = three_bands((64, 64))
    assert cover(picture, width_px=64, height_px=64).tobytes() == picture.tobytes()


def test_pictures_of_many_formats_are_prepared(tmp_path: Path) -> None:
    three_bands((90, 30)).save(tmp_path / "wide.jpg", quality=95)
    Image.new("RGBA", (40, 70), (255, 0, 0, 0)).save(tmp_path / "clear.png")
    Image.new("I;16", (50, 50), 32768).save(tmp_path / "deep.png")
    sideways = Image.Exif()
    sideways[0x0112] = 6
    three_bands((30, 30)).save(tmp_path / "turned.jpg", exif=sideways, quality=95)
    items = [Item(tmp_path / name) for name in ("wide.jpg", "clear.png", "deep.png", "turned.jpg")]
    told: list[tuple[int, int]] = []
    pixels = prepare_pictures(items, width_px=32, height_px=32, progress=lambda done, total: told.append((done, total)))
    assert (pixels.shape, pixels.dtype) == ((4, 3, 32, 32), torch.uint8)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    wide, clear, deep, turned = pixels.float()
    assert wide[1].mean() > 200 > 60 > wide[0].mean()
    assert clear.min() == 255
    assert (deep - 128).abs().max() <= 1
    assert turned[0, :8].mean() > 200
    assert turned[2, -8:].mean() > 200


def test_no_pictures_are_refused() -> None:
    with pytest.raises(DatasetError, match="no pictures"):
        prepare_pictures([], width_px=32, height_px=32)


def test_captions_are_encoded_in_portions() -> None:
    encoder = tiny_text_encoder()
    captions = [f"a fox number{index}" for index in range(7)]
    told: list[tuple[int, int]] = []
    features = encode_captions(encoder, captions, progress=lambda done, total: told.append((done, total)), at_once=3)
    assert told == [(3, 7), (6, 7), (7, 7)]
    assert torch.allclose(features.pooled, encoder.encode(captions).pooled, atol=1e-6)


def test_regularisation_pictures_are_drawn_from_their_seed() -> None:
    encoder = tiny_text_encoder()
    first, again, other = (prepare_world(encoder, count=2, width_px=32, height_px=48, seed=seed) for seed in (1, 1, 2))
    assert first.pixels.shape == (2, 3, 48, 32)
    assert torch.equal(first.pixels, again.pixels)
    assert not torch.equal(first.pixels, other.pixels)


def test_a_batch_has_the_models_range() -> None:
    prepared = prepare_world(tiny_text_encoder(), count=3, width_px=32, height_px=32, seed=1)
    pictures, text = prepared.batch([2, 0])
    assert pictures.shape == (2, 3, 32, 32)
    assert -1 <= pictures.min() < 0 < pictures.max() <= 1
    assert torch.equal(text.pooled[0], prepared.text.pooled[2])
