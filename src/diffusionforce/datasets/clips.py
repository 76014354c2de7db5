"""Video clips read through PyAV: what they say of themselves, and their frames as a video model is trained on them.

Frames come upright and at the speed of the model: frames are left out of a faster clip, and none are added to a slower
one.
"""

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from diffusionforce.datasets.decoder import pyav
from diffusionforce.datasets.media_types import CLIP_SUFFIXES
from diffusionforce.errors import DatasetError
from diffusionforce.wire.interpreter import SET_UP_HINT

__all__ = ["CLIP_SUFFIXES", "Clip", "first_frame", "look_at_clip", "read_frames"]

_QUARTER_TURN = 90


@dataclass(frozen=True, kw_only=True)
class Clip:
    """A clip.

    Attributes:
        width: Width in pixels, upright.
        height: Height in pixels, upright.
        duration_s: Its length; 0 if the file does not say.
        codec: How it is compressed, for example `h264`.
        fps: Frames in a second; 0 if the file does not say.
        num_frames: How many there are; 0 if nobody knows.
    """

    width: int
    height: int
    duration_s: float
    codec: str
    fps: float
    num_frames: int


def look_at_clip(path: Path) -> Clip:
    """Read what a clip says of itself, and decode its first frame.

    Raises:
        DatasetError: It is damaged, or no decoder is installed.
    """
    frame = first_frame(path)
    with _opened(path) as container:
        stream = container.streams.video[0]
        fps = float(stream.average_rate or 0.0)
        duration_s = _duration_s(container, stream)
        return Clip(
            width=frame.width,
            height=frame.height,
            duration_s=duration_s,
            codec=str(stream.codec_context.name),
            fps=fps,
            num_frames=int(stream.frames) or round(duration_s * fps),
        )


def first_frame(path: Path) -> Image.Image:
    """Return the first frame of a clip as upright RGB.

    Raises:
        DatasetError: It is damaged, or no decoder is installed.
    """
    return next(read_frames(path, num_frames=1))


def read_frames(path: Path, *, num_frames: int, target_fps: float = 0.0) -> Iterator[Image.Image]:
    """Yield the first frames of a clip as upright RGB.

    Args:
        path: The clip.
        num_frames: How many frames are wanted.
        target_fps: Their speed; frames of a faster clip are left out. 0 takes all.

    Raises:
        DatasetError: It is damaged, ends before that, or no decoder is installed.
    """
    with _opened(path) as container:
        fps = float(container.streams.video[0].average_rate or 0.0)
        every = fps / target_fps if target_fps and fps > target_fps else 1.0
        taken = 0
        for index, frame in enumerate(container.decode(video=0)):
            if index < int(taken * every):
                continue
            yield _upright(frame)
            taken += 1
            if taken == num_frames:
                return
    raise DatasetError(
        f"{path.name} has {taken} frames, and {num_frames} are trained on.", hint="Use a longer clip, or fewer frames."
    )


def _upright(frame: Any) -> Image.Image:
    picture: Image.Image = frame.to_image()
    turn = int(getattr(frame, "rotation", 0) or 0)
    # Phones store what they see lying on its side, with a note how to turn it.
    return picture.rotate(turn, expand=True) if turn % _QUARTER_TURN == 0 and turn else picture


def _duration_s(container: Any, stream: Any) -> float:
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    return float(container.duration or 0) / 1_000_000


@contextlib.contextmanager
def _opened(path: Path) -> Generator[Any]:
    """Open a clip, with what decoders raise turned into sentences."""
    try:
        # Not above: it takes a fifth of a second, which folders of pictures do without.
        av = pyav()
        if not path.stat().st_size:
            raise DatasetError(f"{path.name} is an empty file.", hint="Copy it again or remove it.")
        with av.open(str(path)) as container:
            yield container
    except ImportError as error:
        raise DatasetError(
            f"{path.name} cannot be opened yet: what opens clips comes with the training environment.",
            hint=SET_UP_HINT,
            detail=repr(error),
        ) from error
    except (OSError, ValueError, IndexError, RuntimeError) as error:
        # What PyAV raises are OSError and ValueError by kind.
        raise DatasetError(
            f"{path.name} is damaged or ends early.", hint="Copy it again or remove it.", detail=repr(error)
        ) from error
