"""One picture file as plain 8-bit RGB, the way a person sees it.

Decoders hand over what is stored: sideways pictures with a note to turn them, transparent ones, 16-bit and CMYK
ones. A model trained on those learns the storage format. Everything here is done once, before training.
"""

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from diffusionforce.errors import DatasetError

MAX_PIXELS = 250_000_000
# Pillow refuses less than that by itself; sizes are looked at here before anything is decoded.
Image.MAX_IMAGE_PIXELS = None
BACKGROUND = (255, 255, 255)
# Orientations of the EXIF standard from this one on lie on their side.
FIRST_SIDEWAYS = 5
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_CHUNK_BYTES = 12
"""Of a part of a PNG beside its content: length, kind and check sum."""
_PNG_NOTES = {b"eXIf", b"tEXt", b"zTXt", b"iTXt"}
"""Parts that may say which way up a picture is."""

_Result = TypeVar("_Result")


def load_rgb(path: Path) -> Image.Image:
    """Read a picture as 8-bit RGB: turned upright, transparency over white, 16 bits brought to 8.

    Raises:
        DatasetError: The file is empty, cut short, no picture, or larger than `MAX_PIXELS`.
    """
    return _opened(path, _decoded)


def small_rgb(path: Path, *, edge_px: int) -> Image.Image:
    """Read a picture as `load_rgb` does, but small: its longer edge has at most `edge_px` pixels.

    Raises:
        DatasetError: As `load_rgb`.
    """

    def read(picture: Image.Image) -> Image.Image:
        if picture.format == "JPEG":
            # The decoder leaves out what is not needed; the rest is scaled as well as anything else.
            picture.draft("RGB", (edge_px, edge_px))
        picture.load()
        if picture.mode in {"RGB", "RGBA", "L", "LA"} and max(picture.size) > edge_px:
            orientation = picture.getexif().get(ExifTags.Base.Orientation, 1)
            picture.thumbnail((edge_px, edge_px), Image.Resampling.BOX)
            picture.getexif()[ExifTags.Base.Orientation] = orientation
        small = _rgb(ImageOps.exif_transpose(picture))
        small.thumbnail((edge_px, edge_px), Image.Resampling.BOX)
        return small

    return _opened(path, read)


def frames_of_picture(path: Path) -> int:
    """Return how many frames a picture file has, 1 for one that does not move.

    Raises:
        DatasetError: As `load_rgb`.
    """
    return _opened(path, lambda picture: int(getattr(picture, "n_frames", 1)))


def upright_size_px(path: Path) -> tuple[int, int]:
    """Return width and height of a picture as a person sees it, from its header alone.

    Raises:
        DatasetError: The file is empty, no picture, or larger than `MAX_PIXELS`.
    """
    return _opened(path, lambda picture: _upright_size(picture, path))


def _opened(path: Path, read: Callable[[Image.Image], _Result]) -> _Result:
    """Read something from a picture, with what Pillow raises turned into sentences."""
    try:
        if path.stat().st_size == 0:
            raise DatasetError(f"{path.name} is an empty file.", hint="Copy it again or remove it.")
        with Image.open(path) as picture:
            width, height = picture.size
            if width * height > MAX_PIXELS:
                raise DatasetError(
                    f"{path.name} has {width} x {height} pixels, more than this app opens.",
                    hint=f"Make it smaller than {MAX_PIXELS // 1_000_000} million pixels.",
                )
            return read(picture)
    except UnidentifiedImageError:
        raise DatasetError(f"{path.name} is not a picture that can be read.", hint="Save it as PNG or JPEG.") from None
    except (OSError, SyntaxError, ValueError, EOFError, struct.error) as error:
        # The exceptions that Pillow's decoders raise for damaged files.
        raise DatasetError(
            f"{path.name} is damaged or ends early.", hint="Copy it again or remove it.", detail=repr(error)
        ) from error


def _decoded(picture: Image.Image) -> Image.Image:
    picture.load()
    return _rgb(ImageOps.exif_transpose(picture))


def _upright_size(picture: Image.Image, path: Path) -> tuple[int, int]:
    width, height = picture.size
    # Pillow decodes all of a PNG to be told of notes behind its pixels, which hardly any has.
    notes = Image.Image.getexif(picture) if _tells_all_ahead(picture, path) else picture.getexif()
    is_sideways = notes.get(ExifTags.Base.Orientation, 1) >= FIRST_SIDEWAYS
    return (height, width) if is_sideways else (width, height)


def _tells_all_ahead(picture: Image.Image, path: Path) -> bool:
    """Tell whether a PNG is whole, as far as the lengths of its parts tell, and has no notes behind its pixels."""
    if picture.format != "PNG":
        return False
    has_pixels = False
    with path.open("rb") as file:
        size_bytes = file.seek(0, os.SEEK_END)
        place = len(_PNG_SIGNATURE)
        while place + _PNG_CHUNK_BYTES <= size_bytes:
            file.seek(place)
            length, kind = struct.unpack(">I4s", file.read(8))
            if kind == b"IEND":
                return has_pixels
            if has_pixels and kind in _PNG_NOTES:
                return False
            has_pixels = has_pixels or kind == b"IDAT"
            place += _PNG_CHUNK_BYTES + length
    return False


def _rgb(picture: Image.Image) -> Image.Image:
    """Convert any mode of Pillow's to RGB."""
    if picture.mode.startswith("I;16") or picture.mode in {"I", "F"}:
        picture = _eight_bit(picture)
    if picture.mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        background = Image.new("RGBA", picture.size, (*BACKGROUND, 255))
        return Image.alpha_composite(background, picture).convert("RGB")
    return picture.convert("RGB")


def _eight_bit(picture: Image.Image) -> Image.Image:
    """Bring 16-bit integers, or floats from 0 to 1, to 8 bits; Pillow's own conversion clips them to white."""
    values = np.asarray(picture).astype(np.float64)
    full = 1.0 if picture.mode == "F" and values.max(initial=0) <= 1 else 65535.0
    return Image.fromarray((np.clip(values / full, 0, 1) * 255).round().astype(np.uint8))
