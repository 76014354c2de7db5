"""Pictures become 8-bit RGB, upright, whatever was stored."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from diffusionforce.datasets import load_rgb
from diffusionforce.errors import DatasetError


def test_sideways_photo_is_turned_upright(tmp_path: Path) -> None:
    picture = Image.new("RGB", (60, 40), (0, 0, 255))
    exif = picture.getexif()
    exif[0x0112] = 6
    picture.save(tmp_path / "photo.jpg", exif=exif)
    assert load_rgb(tmp_path / "photo.jpg").size == (40, 60)


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparency_becomes_white(tmp_path: Path, mode: str) -> None:
    Image.new("RGBA", (4, 4), (255, 0, 0, 0)).convert(mode).save(tmp_path / "clear.png")
    assert load_rgb(tmp_path / "clear.png").getpixel((0, 0)) == (255, 255, 255)


def test_transparent_palette_becomes_white(tmp_path: Path) -> None:
    palette = Image.new("P", (4, 4), 0)
    palette.putpalette([255, 0, 0] * 256)
    palette.save(tmp_path / "palette.png", transparency=0)
    assert load_rgb(tmp_path / "palette.png").getpixel((0, 0)) == (255, 255, 255)


def test_sixteen_bit_gradient_keeps_its_shape(tmp_path: Path) -> None:
    gradient = np.tile(np.linspace(0, 65535, 256).astype(np.uint16), (8, 1))
    Image.fromarray(gradient).save(tmp_path / "deep.png")
    row = np.asarray(load_rgb(tmp_path / "deep.png"))[0, :, 0]
    assert row[0] == 0 and row[-1] == 255 and abs(int(row[128]) - 128) <= 1


def test_cmyk_is_read(tmp_path: Path) -> None:
    Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(tmp_path / "print.jpg")
    red, green, blue = load_rgb(tmp_path / "print.jpg").getpixel((4, 4))  # pyright: ignore[reportGeneralTypeIssues]
    assert red > 200 and green < 60 and blue < 60


def test_text_with_the_name_of_a_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("not a picture")
    with pytest.raises(DatasetError, match="is not a picture"):
        load_rgb(tmp_path / "notes.png")
