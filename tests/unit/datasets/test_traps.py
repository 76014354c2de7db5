"""Inputs over which trainers stumble in silence: each has its finding and its repair, or cannot do harm.

What engines do with them is not tried here; what cannot reach them is tried with `engines.musubi.staging`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from tests.support import broken_dataset
from tests.support.broken_dataset import TRIGGER, save, scene

from diffusionforce.datasets import read_folder
from diffusionforce.datasets.check import check_folder
from diffusionforce.datasets.findings import KINDS
from diffusionforce.datasets.repairs import Workshop

Make = Callable[[Path], object]


def _two_of_one_name(root: Path) -> None:
    save(root / "a.jpg", 1)
    scene(2).save(root / "a.png")


def _animated(root: Path) -> None:
    frames = [scene(seed, (160, 120)) for seed in (1, 2)]
    frames[0].save(root / "a.webp", save_all=True, append_images=frames[1:], duration=100)
    (root / "a.txt").write_text("moving", encoding="utf-8")


def _cut(root: Path) -> None:
    path = save(root / "a.jpg", 1)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _large(root: Path) -> None:
    Image.new("L", (20_000, 10_000)).save(root / "a.png")
    (root / "a.txt").write_text("a wall", encoding="utf-8")


def _misspelt(root: Path) -> None:
    save(root / "A.png", 1, caption=None)
    (root / "a.txt").write_text("a hill", encoding="utf-8")


def _named(path: Path, content: bytes) -> None:
    save(path, 1).with_suffix(".txt").write_bytes(content)


TRAPS: dict[str, tuple[Make, str]] = {
    "two of one name": (_two_of_one_name, "same_stem"),
    "sideways": (lambda root: broken_dataset.turned(save(root / "a.jpg", 1)), "rotated"),
    "clear": (lambda root: broken_dataset.clear(save(root / "a.png", 1)), "alpha"),
    "moving": (_animated, "animated"),
    "GIF": (lambda root: scene(1).save(root / "a.gif"), "convertible"),
    "no bytes": (lambda root: save(root / "a.png", 1).write_bytes(b""), "empty_file"),
    "half a JPEG": (_cut, "truncated"),
    "200 million pixels": (_large, "huge"),
    "one pixel": (lambda root: save(root / "a.png", 1, size=(2, 2)), "tiny"),
    "a line of pixels": (lambda root: save(root / "a.png", 1, size=(4000, 20)), "elongated"),
    "byte order mark": (lambda root: _named(root / "a.png", "a hill".encode("utf-8-sig")), "caption_encoding"),
    "UTF-16": (lambda root: _named(root / "a.png", "a hïll".encode("utf-16")), "caption_encoding"),
    "Western code page": (lambda root: _named(root / "a.png", "a hïll".encode("cp1252")), "caption_encoding"),
    "Japanese code page": (lambda root: _named(root / "a.png", "夕焼けの港".encode("cp932")), "caption_encoding"),
    "blank caption": (lambda root: _named(root / "a.png", b" \r\n"), "empty_caption"),
    "NUL": (lambda root: _named(root / "a.png", b"a\0hill"), "caption_characters"),
    "turned writing": (lambda root: _named(root / "a.png", "a \u202ehill".encode()), "caption_characters"),
    "no caption": (lambda root: save(root / "a.png", 1, caption=None), "no_caption"),
    "capital": (_misspelt, "caption_name"),
    "long name": (lambda root: save(root / f"{'n' * 240}.png", 1), "long_name"),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_it_is_found_and_cured_with_one_click_and_back(tmp_path: Path, trap: str) -> None:
    make, what = TRAPS[trap]
    save(tmp_path / "z good.png", 77)
    make(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    report = check_folder(tmp_path)
    assert report is not None
    found = [finding for finding in report.findings if finding.what == what]
    assert found, [finding.what for finding in report.findings]
    Workshop(tmp_path).repair(KINDS[what].repair, found, action=KINDS[what].action, caption=TRIGGER)
    after = check_folder(tmp_path)
    assert after is not None
    assert what not in {finding.what for finding in after.findings}
    read_folder(tmp_path)
    Workshop(tmp_path).undo()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("name", ["[sks] girl.png", "it's 100%.png", "a#b.c.png", "日本 🦊.png", "b.PNG"])
def test_odd_names_are_read_like_others(tmp_path: Path, name: str) -> None:
    root = tmp_path / "[sks] 日本's 100% #1"
    root.mkdir()
    scene(1).save(root / name, format="PNG")
    (root / name).with_suffix(".TXT").write_text("a hill", encoding="utf-8")
    (root / "._a.png").write_bytes(b"Mac OS X")
    report = check_folder(root)
    assert report is not None
    assert not report.findings
    assert [item.picture.name for item in read_folder(root).items] == [name]
