"""Caption files: read with whatever encoding they have, written as UTF-8 only."""

import codecs
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.errors import DatasetError
from diffusionforce.job import write_whole

CAPTION_SUFFIX = ".txt"
ORIGINALS = "originals"
"""Folder beside the pictures that keeps whatever was replaced; training does not read it."""
MAX_CAPTION_BYTES = 64 * 1024
# NUL and other control characters, zero-width ones, and marks that turn the direction of writing.
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd]")


@dataclass(frozen=True, kw_only=True)
class Caption:
    """What a caption file says.

    Attributes:
        text: The caption as one line; empty where the file holds only blanks.
        encoding: How the file was read, `utf-8` being the usual one.
        has_mark: Whether it begins with a byte order mark, which other programs take for a letter.
        has_odd_characters: Whether it holds characters that nobody sees and a text encoder still reads.
    """

    text: str
    encoding: str
    has_mark: bool
    has_odd_characters: bool


def read_caption(path: Path) -> Caption:
    """Read a caption file.

    Raises:
        DatasetError: It is too long, cannot be read, or is no text.
    """
    try:
        if path.stat().st_size > MAX_CAPTION_BYTES:
            raise DatasetError(f"{path.name} is too long for a caption.", hint="Keep captions under 64 KB.")
        data = path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path.name} cannot be read: {error.strerror}.") from error
    for encoding in _encodings(data):
        try:
            raw = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return Caption(
            text=one_line(raw.replace("\0", " ")),
            encoding=encoding.removesuffix("-sig"),
            has_mark=data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)),
            has_odd_characters=bool(_ODD.search(raw)),
        )
    raise DatasetError(f"{path.name} is not text.", hint="Save it as UTF-8.")


def one_line(text: str) -> str:
    """Return a caption as one line, without blanks at its ends: line breaks mean nothing to a text encoder."""
    return " ".join(text.split())


def without_odd_characters(text: str) -> str:
    """Return a caption without characters that nobody sees."""
    return one_line(_ODD.sub(" ", text.replace("\ufeff", "")))


def write_caption(path: Path, text: str) -> None:
    """Write a caption as UTF-8 with a line end, whole or not at all.

    Raises:
        OSError: The disk refuses.
    """
    write_whole(path, f"{one_line(text)}\n".encode())


def keep_original(picture: Path) -> None:
    """Copy the caption of a picture into `originals/captions`, unless a copy is there: the first is the original.

    Raises:
        OSError: The disk refuses.
    """
    caption = caption_path(picture)
    copy = picture.parent / ORIGINALS / "captions" / caption.name
    if caption.is_file() and not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(caption, copy)


def caption_path(picture: Path) -> Path:
    """Return the caption file of a picture; where there is none, the one that would be."""
    others = (picture.with_suffix(suffix) for suffix in (CAPTION_SUFFIX, CAPTION_SUFFIX.upper()))
    return next((path for path in others if path.is_file()), picture.with_suffix(CAPTION_SUFFIX))


def _encodings(data: bytes) -> tuple[str, ...]:
    """Return the encodings to try; UTF-16 without its mark shows by every second byte being zero.

    Japanese Windows writes cp932, which is tried before the Western code page: nearly any bytes pass as Western.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ("utf-16",)
    if len(data) >= 2 and len(data) % 2 == 0:
        if not any(data[1::2]):
            return ("utf-16-le",)
        if not any(data[0::2]):
            return ("utf-16-be",)
    if _looks_japanese(data):
        return ("utf-8-sig", "cp932", "cp1252")
    return ("utf-8-sig", "cp1252")


def _looks_japanese(data: bytes) -> bool:
    """Tell whether most of what is not ASCII would be kana or kanji in cp932."""
    try:
        text = data.decode("cp932")
    except UnicodeDecodeError:
        return False
    foreign = [character for character in text if ord(character) > 0x7F]
    # Half-width kana are single bytes there, where Western letters with accents lie.
    wide = sum(0x3040 <= ord(character) <= 0x9FFF for character in foreign)
    return len(foreign) >= 2 and wide * 2 > len(foreign)
