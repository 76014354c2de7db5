"""One media file looked at thoroughly: decoded once, and reduced to facts and to what tells near duplicates.

A file is read into memory once: its bytes are hashed and decoded from there. JPEGs are decoded at a fraction of
their size, which finds a damaged one all the same, because every byte of it is still read.
"""

import hashlib
import io
import struct
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from diffusionforce.datasets.pictures import FIRST_SIDEWAYS, MAX_PIXELS

HUGE_PIXELS = 50_000_000
# Above this only one picture is decoded at a time, so that many threads do not fill the memory.
_ALONE_PIXELS = 30_000_000
_MAX_READ_BYTES = 1 << 30
_DRAFT_PX = 256
_HASH_SIDE, _LOOK_SIDE = 16, 8
_alone = threading.Lock()

# What content of each type may be called.
SUFFIXES = {
    "PNG": (".png", ".apng"),
    "JPEG": (".jpg", ".jpeg", ".jfif", ".jpe"),
    "MPO": (".jpg", ".jpeg", ".mpo"),
    "WEBP": (".webp",),
    "BMP": (".bmp", ".dib"),
    "TIFF": (".tif", ".tiff"),
    "AVIF": (".avif",),
    "GIF": (".gif",),
}
CAMERA_FORMATS = {"MPO": "JPEG"}


@dataclass(frozen=True, kw_only=True)
class Look:
    """What was seen in a picture file.

    Attributes:
        problem: Key of the finding that leaves it out, empty for a good picture.
        detail: What the decoder said.
        width: Width in pixels, upright; 0 if unknown.
        height: Height in pixels, upright; 0 if unknown.
        format: Type of the content, as Pillow calls it.
        marks: Keys of further findings: rotated, deep, alpha, huge, animated.
        num_frames: Frames of a picture that moves.
        digest: Hash of the bytes; two files of one digest are the same.
        outline: (256,) bool: where the picture gets brighter from left to right; None without a picture.
        colours: (192,) uint8: the picture as 8 x 8 colours; None without a picture.
    """

    problem: str = ""
    detail: str = ""
    width: int = 0
    height: int = 0
    format: str = ""
    marks: tuple[str, ...] = ()
    num_frames: int = 1
    digest: bytes = b""
    outline: NDArray[np.bool_] | None = field(default=None, repr=False)
    colours: NDArray[np.uint8] | None = field(default=None, repr=False)


def look_at_picture(path: Path) -> Look:
    """Decode a picture file and tell what is in it; a problem is told, not raised."""
    try:
        size_bytes = path.stat().st_size
        if not size_bytes:
            return Look(problem="empty_file")
        if size_bytes > _MAX_READ_BYTES:
            return Look(problem="too_large")
        data = path.read_bytes()
    except OSError as error:
        return Look(problem="broken", detail=str(error))
    digest = hashlib.blake2b(data, digest_size=16).digest()
    try:
        with Image.open(io.BytesIO(data)) as picture:
            return _look(picture, digest)
    except UnidentifiedImageError:
        return Look(problem="not_a_picture", digest=digest)
    except (OSError, SyntaxError, ValueError, EOFError, struct.error) as error:
        return Look(problem="truncated" if ends_early(error) else "broken", detail=repr(error), digest=digest)


def ends_early(error: Exception) -> bool:
    """Tell whether a decoder ran out of bytes; anything else is damage."""
    words = str(error).lower()
    return isinstance(error, EOFError) or any(word in words for word in ("truncated", "end of file", "not enough"))


def _look(picture: Image.Image, digest: bytes) -> Look:
    width, height = picture.size
    format_ = picture.format or ""
    if width * height > MAX_PIXELS:
        return Look(problem="too_large", width=width, height=height, format=format_, digest=digest)
    orientation = int(picture.getexif().get(ExifTags.Base.Orientation, 1) or 1)
    if orientation >= FIRST_SIDEWAYS:
        width, height = height, width
    num_frames = 1 if format_ in CAMERA_FORMATS else int(getattr(picture, "n_frames", 1))
    deep = picture.mode.startswith("I;16") or picture.mode in {"I", "F"}
    small, is_clear = _small(picture)
    marks = {
        "rotated": orientation > 1,
        "deep": deep,
        "alpha": is_clear,
        "huge": width * height > HUGE_PIXELS,
        "animated": num_frames > 1,
    }
    return Look(
        width=width,
        height=height,
        format=CAMERA_FORMATS.get(format_, format_),
        marks=tuple(mark for mark, is_so in marks.items() if is_so),
        num_frames=num_frames,
        digest=digest,
        outline=_outline(small),
        colours=np.asarray(small.resize((_LOOK_SIDE, _LOOK_SIDE), Image.Resampling.BOX), dtype=np.uint8).reshape(-1),
    )


def _small(picture: Image.Image) -> tuple[Image.Image, bool]:
    """Decode a picture; returns it small in upright RGB, and whether parts of it are clear."""
    if picture.format == "JPEG":
        picture.draft("RGB", (_DRAFT_PX, _DRAFT_PX))
    if picture.width * picture.height > _ALONE_PIXELS:
        with _alone:
            picture.load()
            return _reduced(picture)
    picture.load()
    return _reduced(picture)


def _reduced(picture: Image.Image) -> tuple[Image.Image, bool]:
    if picture.mode == "P" or "transparency" in picture.info:
        picture = picture.convert("RGBA" if "transparency" in picture.info else "RGB")
    is_clear = _is_clear(picture)
    if picture.mode.startswith("I;16") or picture.mode in {"I", "F"}:
        # A fair sample of the pixels does for comparing; Pillow scales few of these modes.
        values = np.asarray(picture)[:: max(1, picture.height // 64), :: max(1, picture.width // 64)].astype(np.float64)
        low, high = float(values.min()), float(values.max())
        picture = Image.fromarray(((values - low) / max(high - low, 1e-9) * 255).astype(np.uint8))
    small = picture.resize((64, 64), Image.Resampling.BOX, reducing_gap=2.0)
    orientation = picture.getexif().get(ExifTags.Base.Orientation, 1)
    if orientation != 1:
        small.getexif()[ExifTags.Base.Orientation] = orientation
        small = ImageOps.exif_transpose(small)
    if is_clear:
        small = Image.alpha_composite(Image.new("RGBA", small.size, (255, 255, 255, 255)), small.convert("RGBA"))
    return small.convert("RGB"), is_clear


def _is_clear(picture: Image.Image) -> bool:
    if picture.mode not in {"RGBA", "LA", "PA", "La", "RGBa"}:
        return False
    lowest, _ = picture.getchannel(picture.getbands()[-1]).getextrema()
    return int(lowest if isinstance(lowest, int | float) else lowest[0]) < 255  # pyright: ignore[reportUnnecessaryIsInstance]


def _outline(small: Image.Image) -> NDArray[np.bool_]:
    grey = np.asarray(small.convert("L").resize((_HASH_SIDE + 1, _HASH_SIDE), Image.Resampling.BOX), dtype=np.int16)
    return (grey[:, 1:] > grey[:, :-1]).reshape(-1)
