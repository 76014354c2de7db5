"""Reading dataset folders: what is used, what is left out and said, what is refused."""

import os
import struct
import sys
import zlib
from pathlib import Path

import pytest
from PIL import ExifTags, Image

from diffusionforce.datasets import Dataset, read_folder
from diffusionforce.errors import DatasetError


def _picture(
    path: Path, *, caption: str | bytes | None = "a fox, in a forest", size: tuple[int, int] = (80, 64)
) -> Path:
    Image.new("RGB", size, (200, 80, 40)).save(path)
    if isinstance(caption, str):
        path.with_suffix(".txt").write_text(caption, encoding="utf-8")
    elif caption is not None:
        path.with_suffix(".txt").write_bytes(caption)
    return path


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _sentences(dataset: Dataset) -> list[str]:
    return [finding.sentence for finding in dataset.findings]


def test_pictures_and_captions_are_read_in_order_of_name(tmp_path: Path) -> None:
    _picture(tmp_path / "b.jpg", caption="second")
    _picture(tmp_path / "a.png", caption="  first\n line ")
    dataset = read_folder(tmp_path)
    assert [(item.picture.name, item.caption) for item in dataset.items] == [
        ("a.png", "first line"),
        ("b.jpg", "second"),
    ]
    assert (dataset.items[0].width, dataset.items[0].height) == (80, 64)
    assert not dataset.findings


@pytest.mark.parametrize("name", ["[sks] girl", "kana かな 🦊", "per%cent #1", "dots. and 'quotes'"])
def test_odd_folder_names_work(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    _picture(folder / "käse.png")
    assert len(read_folder(folder).items) == 1


def test_progress_counts_pictures(tmp_path: Path) -> None:
    for index in range(3):
        _picture(tmp_path / f"{index}.png")
    seen: list[tuple[int, int]] = []
    read_folder(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_zero_byte_picture_is_left_out_and_named(tmp_path: Path) -> None:
    _picture(tmp_path / "good.png")
    _picture(tmp_path / "empty.png").write_bytes(b"")
    dataset = read_folder(tmp_path)
    assert [item.picture.name for item in dataset.items] == ["good.png"]
    assert _sentences(dataset) == ["empty.png is an empty file."]
    assert dataset.findings[0].left_out


def test_truncated_picture_is_left_out_and_named(tmp_path: Path) -> None:
    _picture(tmp_path / "good.png")
    noise = Image.effect_noise((300, 300), 90).convert("RGB")
    noise.save(tmp_path / "half.jpg")
    (tmp_path / "half.txt").write_text("a half")
    data = (tmp_path / "half.jpg").read_bytes()
    (tmp_path / "half.jpg").write_bytes(data[: len(data) // 2])
    assert _sentences(read_folder(tmp_path)) == ["half.jpg is damaged or ends early."]


def test_a_header_that_promises_too_much_is_refused_without_decoding(tmp_path: Path) -> None:
    _picture(tmp_path / "good.png")
    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    bomb = b"\x89PNG\r\n\x1a\n" + header + _chunk(b"IDAT", zlib.compress(bytes(100)))
    (tmp_path / "huge.png").write_bytes(bomb)
    (tmp_path / "huge.txt").write_text("a wall")
    (finding,) = read_folder(tmp_path).findings
    assert finding.path.name == "huge.png" and "pixels" in finding.sentence


@pytest.mark.parametrize(
    ("caption", "text", "note"),
    [
        (b"\xef\xbb\xbfa fox", "a fox", None),
        ("ein Füchslein".encode("utf-16"), "ein Füchslein", "utf-16"),
        ("ein Füchslein".encode("cp1252"), "ein Füchslein", "cp1252"),
        # Symptom: captions in UTF-16 without its mark were read as words with a blank between all letters.
        ("ein Füchslein".encode("utf-16-le"), "ein Füchslein", "utf-16-le"),
        ("ein Füchslein".encode("utf-16-be"), "ein Füchslein", "utf-16-be"),
    ],
)
def test_captions_in_other_encodings(tmp_path: Path, caption: bytes, text: str, note: str | None) -> None:
    _picture(tmp_path / "a.png", caption=caption)
    dataset = read_folder(tmp_path)
    assert dataset.items[0].caption == text
    assert _sentences(dataset) == ([f"a.txt was read as {note}."] if note else [])


def test_empty_and_missing_captions_are_left_out_and_named(tmp_path: Path) -> None:
    _picture(tmp_path / "good.png")
    _picture(tmp_path / "blank.png", caption=" \n")
    _picture(tmp_path / "bare.png", caption=None)
    dataset = read_folder(tmp_path)
    assert len(dataset.items) == 1
    assert _sentences(dataset) == ["bare.png has no caption.", "The caption of blank.png is empty."]


def test_files_that_are_not_used_are_named(tmp_path: Path) -> None:
    _picture(tmp_path / "a.png")
    _picture(tmp_path / "a.jpg", caption=None)
    (tmp_path / "clip.gif").write_bytes(b"GIF89a")
    (tmp_path / "A.txt").write_text("capital")
    assert sorted(_sentences(read_folder(tmp_path))) == [
        "A.txt belongs to no picture.",
        "a.jpg and a.png share one caption.",
        "clip.gif is not supported.",
    ]


def test_folder_without_pictures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="has no pictures"):
        read_folder(tmp_path)


def test_pictures_in_subfolders_only_are_pointed_at(tmp_path: Path) -> None:
    # Symptom: the first subfolder was named, whether or not a picture lay in it.
    for name in ("01_notes", "10_fox"):
        (tmp_path / name).mkdir()
    _picture(tmp_path / "10_fox" / "a.png")
    with pytest.raises(DatasetError) as refused:
        read_folder(tmp_path)
    assert "10_fox" in refused.value.hint and "01_notes" not in refused.value.hint


def test_folder_without_captions_is_refused(tmp_path: Path) -> None:
    _picture(tmp_path / "a.png", caption=None)
    with pytest.raises(DatasetError, match="1 picture but no captions"):
        read_folder(tmp_path)


def test_folder_with_only_broken_pictures_is_refused_and_says_why(tmp_path: Path) -> None:
    _picture(tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(DatasetError, match=r"a\.png is an empty file"):
        read_folder(tmp_path)


def test_missing_folder_and_file_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="is not there"):
        read_folder(tmp_path / "gone")
    with pytest.raises(DatasetError, match="is a file"):
        read_folder(_picture(tmp_path / "a.png"))


@pytest.mark.parametrize(
    ("size", "words"),
    [((64, 256), []), ((63, 100), ["has only 63 x 100 pixels"]), ((650, 160), ["is very long (650 x 160 pixels)"])],
)
def test_small_and_long_pictures_are_used_and_named(tmp_path: Path, size: tuple[int, int], words: list[str]) -> None:
    # Symptom: a folder of thumbnails or banners trained without a word.
    _picture(tmp_path / "a.png", size=size)
    dataset = read_folder(tmp_path)
    assert len(dataset.items) == 1 and not any(finding.left_out for finding in dataset.findings)
    assert len(dataset.findings) == len(words)
    assert all(part in sentence for part, sentence in zip(words, _sentences(dataset), strict=True))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_not_utf8_are_left_out_or_refused_in_words_that_can_be_printed(tmp_path: Path) -> None:
    # Symptom: one such name in a folder ended the run with UnicodeEncodeError.
    _picture(tmp_path / "a.png")
    _picture(tmp_path / os.fsdecode(b"b\xff.png"), caption=None)
    dataset = read_folder(tmp_path)
    assert [item.picture.name for item in dataset.items] == ["a.png"]
    (finding,) = dataset.findings
    assert finding.left_out and finding.sentence.encode().startswith(b"The name of b\\udcff.png")
    with pytest.raises(DatasetError, match="is not UTF-8 text") as refusal:
        read_folder(tmp_path / os.fsdecode(b"\xff"))
    assert str(refusal.value).encode()


def test_a_quick_reading_takes_sizes_from_headers_alone(tmp_path: Path) -> None:
    sideways = Image.effect_noise((90, 70), 90).convert("RGB")
    exif = sideways.getexif()
    exif[ExifTags.Base.Orientation] = 6
    sideways.save(tmp_path / "a.jpg", exif=exif)
    (tmp_path / "a.txt").write_text("a fox")
    data = (tmp_path / "a.jpg").read_bytes()
    quick, whole = read_folder(tmp_path, decode=False), read_folder(tmp_path)
    assert (quick.items[0].width, quick.items[0].height) == (70, 90)
    assert quick == whole
    (tmp_path / "a.jpg").write_bytes(data[:-200])
    assert read_folder(tmp_path, decode=False) == quick
    with pytest.raises(DatasetError, match="nothing to train on"):
        read_folder(tmp_path)
