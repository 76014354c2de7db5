"""Pictures become 8-bit RGB, upright, whatever was stored."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile

from diffusionforce.datasets import load_rgb
from diffusionforce.datasets.pictures import upright_size_px
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


def png(path: Path, *, turned: bool) -> Path:
    """Write a PNG of 60 x 40 pixels that is upright, or on its side."""
    picture = Image.new("RGB", (60, 40), (0, 0, 255))
    exif = picture.getexif()
    exif[0x0112] = 6 if turned else 1
    picture.save(path, exif=exif)
    return path


def with_notes_behind_pixels(path: Path) -> None:
    """Move what a PNG says about itself behind its pixels, where the standard allows it as well."""
    content = path.read_bytes()
    begin = content.index(b"eXIf") - 4
    end = begin + 12 + struct.unpack(">I", content[begin : begin + 4])[0]
    before_end = len(content) - 12
    path.write_bytes(content[:begin] + content[end:before_end] + content[begin:end] + content[before_end:])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("behind", [False, True])
def test_a_png_says_which_way_up_it_is_wherever_it_says_so(tmp_path: Path, *, turned: bool, behind: bool) -> None:
    path = png(tmp_path / "photo.png", turned=turned)
    if behind:
        with_notes_behind_pixels(path)
    assert upright_size_px(path) == load_rgb(path).size == ((40, 60) if turned else (60, 40))


def test_a_turned_png_with_its_notes_in_text_is_upright(tmp_path: Path) -> None:
    path = png(tmp_path / "photo.png", turned=False)
    content, before_end = path.read_bytes(), path.stat().st_size - 12
    text = b"iTXtXML:com.adobe.xmp\0\0\0\0\0" + b'<x tiff:Orientation="6"/>'
    note = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    begin = content.index(b"eXIf") - 4
    end = begin + 12 + struct.unpack(">I", content[begin : begin + 4])[0]
    path.write_bytes(content[:begin] + content[end:before_end] + note + content[before_end:])
    assert upright_size_px(path) == (40, 60)


def test_the_size_of_a_png_comes_from_its_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Symptom: a forecast for a folder of 500 PNGs decoded each of them, which took ten seconds, twice.
    path = png(tmp_path / "photo.png", turned=True)
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda _self: pytest.fail("its pixels were decoded"))
    assert upright_size_px(path) == (40, 60)


def test_a_png_that_ends_early_is_no_size(tmp_path: Path) -> None:
    path = tmp_path / "cut.png"
    Image.effect_noise((64, 64), 100).save(path)
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(DatasetError, match="ends early"):
        upright_size_px(path)
