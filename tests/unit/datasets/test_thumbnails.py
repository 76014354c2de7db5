"""Small pictures for lists."""

import os
from pathlib import Path

import pytest
from PIL import Image
from tests.support import broken_dataset
from tests.support.broken_dataset import save

from diffusionforce.datasets.thumbnails import prune, thumbnail
from diffusionforce.errors import DatasetError


def test_a_thumbnail_is_small_upright_and_plain(tmp_path: Path) -> None:
    broken_dataset.turned(save(tmp_path / "photo.jpg", 1, size=(900, 600)))
    small = thumbnail(tmp_path / "photo.jpg", edge_px=120)
    assert small.mode == "RGB"
    assert small.size == (80, 120)


def test_clear_parts_are_white_and_deep_pictures_have_their_tones(tmp_path: Path) -> None:
    broken_dataset.clear(save(tmp_path / "clear.png", 2))
    assert thumbnail(tmp_path / "clear.png", edge_px=64).getpixel((2, 2)) == (255, 255, 255)
    ramp = Image.frombytes("I;16", (256, 1), b"".join((i * 257).to_bytes(2, "little") for i in range(256)))
    ramp.resize((256, 256)).save(tmp_path / "deep.png")
    low, high = thumbnail(tmp_path / "deep.png", edge_px=256).convert("L").getextrema()
    assert (low, high) == (0, 255)


def test_it_is_kept_until_the_file_changes(tmp_path: Path) -> None:
    cache, path = tmp_path / "cache", save(tmp_path / "a.png", 1)
    first = thumbnail(path, edge_px=64, cache=cache)
    (kept,) = cache.glob("*/*.jpg")
    stamp = kept.stat().st_mtime_ns
    assert thumbnail(path, edge_px=64, cache=cache).size == first.size
    assert kept.stat().st_mtime_ns == stamp
    broken_dataset.scene(2).save(path)
    os.utime(path, ns=(1, 1))
    thumbnail(path, edge_px=64, cache=cache)
    assert len(list(cache.glob("*/*.jpg"))) == 2
    assert prune(cache, max_kept=1) == 1
    assert len(list(cache.glob("*/*.jpg"))) == 1


def test_a_damaged_copy_is_made_anew(tmp_path: Path) -> None:
    cache, path = tmp_path / "cache", save(tmp_path / "a.png", 1)
    thumbnail(path, edge_px=64, cache=cache)
    (kept,) = cache.glob("*/*.jpg")
    kept.write_bytes(b"torn")
    assert thumbnail(path, edge_px=64, cache=cache).width == 64


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture", encoding="utf-8")
    with pytest.raises(DatasetError):
        thumbnail(tmp_path / "text.png", edge_px=64)
    with pytest.raises(DatasetError):
        thumbnail(tmp_path / "gone.png", edge_px=64, cache=tmp_path)
