"""Video clips, looked at through imageio where its decoder is installed: length, size, and the first frame."""

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import imageio.v3 as iio
from PIL import Image

from diffusionforce.errors import DatasetError

CLIP_SUFFIXES = frozenset({".mp4", ".mov", ".webm", ".mkv", ".avi", ".m4v"})


@dataclass(frozen=True, kw_only=True)
class Clip:
    """A clip.

    Attributes:
        width: Width in pixels.
        height: Height in pixels.
        duration_s: Its length; 0 if the file does not say.
        codec: How it is compressed, for example `h264`.
    """

    width: int
    height: int
    duration_s: float
    codec: str


def look_at_clip(path: Path) -> Clip:
    """Read what a clip says of itself, and decode its first frame.

    Raises:
        DatasetError: It is damaged, or no decoder is installed.
    """
    frame = first_frame(path)
    with _opened(path) as file:
        facts: dict[str, Any] = file.metadata()
    return Clip(
        width=frame.width,
        height=frame.height,
        duration_s=float(facts.get("duration") or 0.0),
        codec=str(facts.get("codec") or ""),
    )


def first_frame(path: Path) -> Image.Image:
    """Return the first frame of a clip as RGB.

    Raises:
        DatasetError: It is damaged, or no decoder is installed.
    """
    with _opened(path) as file:
        return Image.fromarray(file.read(index=0)).convert("RGB")


@contextlib.contextmanager
def _opened(path: Path) -> Generator[Any]:
    """Open a clip, with what decoders raise turned into sentences."""
    try:
        if not path.stat().st_size:
            raise DatasetError(f"{path.name} is an empty file.", hint="Copy it again or remove it.")
        with iio.imopen(path, "r", plugin="pyav") as file:  # pyright: ignore[reportUnknownMemberType]
            yield file
    except ImportError as error:
        raise DatasetError(
            "No decoder for clips is installed.", hint="Install the engine for the real models.", detail=repr(error)
        ) from error
    except (OSError, ValueError, IndexError, StopIteration, RuntimeError) as error:
        raise DatasetError(
            f"{path.name} is damaged or ends early.", hint="Copy it again or remove it.", detail=repr(error)
        ) from error
