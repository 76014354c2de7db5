"""Small pictures for lists, made once and kept on disk.

What training does to a picture is done to its thumbnail too: it is turned upright, clear parts become white, 16 bits
become 8. A picture of a camera is decoded at a fraction of its size, which takes a tenth of the time.
"""

import contextlib
import hashlib
import os
from pathlib import Path

from PIL import Image

from diffusionforce.datasets.clips import CLIP_SUFFIXES, first_frame
from diffusionforce.datasets.pictures import small_rgb
from diffusionforce.errors import DatasetError

MAX_KEPT = 40_000
_QUALITY = 90


def thumbnail(path: Path, *, edge_px: int, cache: Path | None = None) -> Image.Image:
    """Return a picture, or the first frame of a clip, small and in RGB.

    Args:
        path: The file.
        edge_px: Its longer edge is at most this long.
        cache: Folder that keeps thumbnails; None makes it anew.

    Raises:
        DatasetError: It cannot be read.
    """
    kept = cache / _key(path, edge_px) if cache is not None else None
    if kept is not None:
        with contextlib.suppress(OSError, ValueError), Image.open(kept) as picture:
            picture.load()
            return picture.convert("RGB")
    if path.suffix.lower() in CLIP_SUFFIXES:
        picture = first_frame(path)
        picture.thumbnail((edge_px, edge_px), Image.Resampling.BOX)
    else:
        picture = small_rgb(path, edge_px=edge_px)
    if kept is not None:
        # A disk that refuses costs only time.
        with contextlib.suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            part = kept.with_suffix(f".{os.getpid()}.part")
            picture.save(part, format="JPEG", quality=_QUALITY)
            part.replace(kept)
    return picture


def prune(cache: Path, *, max_kept: int = MAX_KEPT) -> int:
    """Delete the oldest thumbnails where there are too many; returns how many went."""
    found = sorted((file.stat().st_mtime, file) for file in cache.glob("*/*.jpg"))
    surplus = found[: max(0, len(found) - max_kept)]
    for _, file in surplus:
        file.unlink(missing_ok=True)
    return len(surplus)


def _key(path: Path, edge_px: int) -> str:
    """The name of a thumbnail: another file, size or date gives another one.

    Raises:
        DatasetError: The file is not there.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise DatasetError(f"{path.name} cannot be read: {error.strerror}.") from error
    words = f"{path} {stat.st_size} {stat.st_mtime_ns} {edge_px}".encode(errors="surrogateescape")
    digest = hashlib.blake2b(words, digest_size=16).hexdigest()
    return f"{digest[:2]}/{digest[2:]}.jpg"
