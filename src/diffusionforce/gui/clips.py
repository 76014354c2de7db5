"""Clips: frames decoded on a thread into pictures of bounded size, played by painting one after the other.

Qt's own player is in a package that we do without, and two clips beside each other have to stay on the same frame. A
clip that would take more memory than is set aside is made smaller and, if need be, loses every other frame.
"""

import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QImage, QPixmap

from diffusionforce.datasets.decoder import pyav
from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.wire.interpreter import SET_UP_HINT

# Pillow and PyAV take half a second to load together, which the start of the window does without.
if TYPE_CHECKING:
    from PIL import Image

VIDEOS = frozenset({".mp4", ".webm", ".mov", ".avi", ".mkv", ".m4v"})
ANIMATIONS = frozenset({".gif", ".webp", ".apng"})
MAX_FRAMES = 240
MAX_BYTES = 96 * 1024 * 1024
USUAL_FPS = 16.0
MAX_CLIPS = 4
_DAMAGE = (OSError, ValueError, LookupError, RuntimeError, SyntaxError)
"""What decoders raise over files that are not what they seem; Pillow's is a SyntaxError now and then."""


@dataclass(frozen=True, kw_only=True)
class Clip:
    """Decoded frames. `fps` is how many belong into a second."""

    frames: tuple[QImage, ...]
    fps: float

    @property
    def seconds(self) -> float:
        """How long it plays."""
        return len(self.frames) / self.fps if self.fps > 0 else 0.0


def is_clip(path: Path) -> bool:
    """Tell by its name whether a file moves."""
    return path.suffix.lower() in VIDEOS | ANIMATIONS


def read_clip(path: Path, *, edge_px: int) -> Clip:
    """Decode a clip; one without frames is damaged, or moves in a way that is not known here.

    Args:
        path: A video, or an animated picture.
        edge_px: The longer edge of a frame; less where the clip is long.

    Raises:
        UserError: It cannot be read.
    """
    try:
        number, fps, frames = _video(path) if path.suffix.lower() in VIDEOS else _animation(path)
        every = max(1, math.ceil(number / MAX_FRAMES))
        kept = min(MAX_FRAMES, max(1, number // every))
        edge = min(edge_px, int(math.sqrt(MAX_BYTES / (4 * kept))))
        images = tuple(shrunk(frame, edge) for frame in islice(frames, 0, MAX_FRAMES * every, every))
    except ImportError as error:
        raise UserError(f"{path.name} cannot be played yet.", hint=SET_UP_HINT, detail=repr(error)) from error
    except _DAMAGE as error:
        raise UserError(f"{path.name} cannot be played.", hint="Its file may be damaged.", detail=str(error)) from error
    if not images:
        raise UserError(f"{path.name} has no pictures.", hint="Its file may be damaged.")
    return Clip(frames=images, fps=max(0.5, fps / every))


def read_first_frame(path: Path, *, edge_px: int) -> QImage:
    """Read the first frame of a clip; a null image when it cannot be read."""
    try:
        _, _, frames = _video(path) if path.suffix.lower() in VIDEOS else _animation(path)
        first = next(iter(frames), None)
    except (*_DAMAGE, ImportError):
        return QImage()
    return shrunk(first, edge_px) if first is not None else QImage()


def _video(path: Path) -> "tuple[int, float, Iterator[Image.Image]]":
    """Return how many frames a video has about, how many a second, and the frames."""
    container = pyav().open(str(path))
    stream = container.streams.video[0]
    fps = float(stream.average_rate or USUAL_FPS)
    seconds = float(container.duration or 0) / 1_000_000
    number = stream.frames or round(seconds * fps) or MAX_FRAMES

    def frames() -> "Iterator[Image.Image]":
        with container:
            for frame in container.decode(stream):
                yield frame.to_image()

    return number, fps, frames()


def _animation(path: Path) -> "tuple[int, float, Iterator[Image.Image]]":
    from PIL import Image, ImageSequence  # noqa: PLC0415

    picture = Image.open(path)
    duration_ms = float(picture.info.get("duration") or 1000 / USUAL_FPS)

    def frames() -> "Iterator[Image.Image]":
        with picture:
            for frame in ImageSequence.Iterator(picture):
                yield frame.convert("RGB")

    return int(getattr(picture, "n_frames", 1)), 1000 / max(10.0, duration_ms), frames()


def shrunk(frame: "Image.Image", edge_px: int) -> QImage:
    """Return a frame as a picture of Qt's, its longer edge at most so many pixels."""
    if max(frame.size) > edge_px:
        frame.thumbnail((edge_px, edge_px))
    rgb = frame.convert("RGBX")
    # The copy owns its bytes; the image over them would not.
    return QImage(rgb.tobytes(), rgb.width, rgb.height, rgb.width * 4, QImage.Format.Format_RGBX8888).copy()


class ClipStore(QObject):
    """Gives clips out; one that is not there yet is decoded, and `arrived` tells when to look again."""

    arrived = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[tuple[str, int], Clip | None] = OrderedDict()
        self._asked: set[tuple[str, int]] = set()

    def get(self, path: Path, *, edge_px: int) -> Clip | None:
        """Return a clip, or None while it is being decoded, or if it cannot be (`is_broken` then tells)."""
        key = (str(path), edge_px)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._asked:
            self._asked.add(key)
            background.run(
                self,
                lambda: read_clip(path, edge_px=edge_px),
                done=lambda clip: self._keep(key, clip),
                failed=lambda _error: self._keep(key, None),
            )
        return None

    def is_broken(self, path: Path, *, edge_px: int) -> bool:
        """Tell whether a clip was tried in vain."""
        key = (str(path), edge_px)
        return key in self._kept and self._kept[key] is None

    def _keep(self, key: tuple[str, int], clip: Clip | None) -> None:
        self._asked.discard(key)
        self._kept[key] = clip
        while len(self._kept) > MAX_CLIPS:
            self._kept.popitem(last=False)
        self.arrived.emit(key[0])


class Transport(QObject):
    """The place in a clip, or in several that play together. Stands still until `play` is called.

    Attributes:
        index: Which frame is shown.
        num_frames: Of how many.
        fps: How many belong into a second.
    """

    moved = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.index, self.num_frames, self.fps = 0, 1, USUAL_FPS
        self._timer = QTimer(self)
        self._timer.timeout.connect(lambda: self.step(1))

    @property
    def is_playing(self) -> bool:
        """Whether it moves by itself."""
        return self._timer.isActive()

    @property
    def seconds(self) -> float:
        """Where it is, in seconds."""
        return self.index / self.fps

    def take(self, *clips: Clip | None) -> None:
        """Take clips that play together; the shortest sets the length, and where it was stays where it can."""
        known = [clip for clip in clips if clip is not None]
        self.num_frames = min((len(clip.frames) for clip in known), default=1)
        self.fps = known[0].fps if known else USUAL_FPS
        self.index = min(self.index, self.num_frames - 1)
        if self.is_playing:
            self.play()
        self.moved.emit()

    def play(self) -> None:
        """Play from where it is, over and over; a single frame stands still."""
        if self.num_frames > 1:
            self._timer.start(max(15, round(1000 / self.fps)))
        else:
            self._timer.stop()
        self.moved.emit()

    def pause(self) -> None:
        """Stand still."""
        self._timer.stop()
        self.moved.emit()

    def toggle(self) -> None:
        """Play, or stand still."""
        if self.is_playing:
            self.pause()
        else:
            self.play()

    def step(self, by: int) -> None:
        """Go on by some frames; after the last comes the first."""
        self.index = (self.index + by) % self.num_frames
        self.moved.emit()

    def seek(self, share: float) -> None:
        """Go to a place, 0 to 1."""
        self.index = min(self.num_frames - 1, max(0, int(share * self.num_frames)))
        self.moved.emit()


def pixmap(clip: Clip, index: int) -> QPixmap:
    """Return a frame for painting."""
    return QPixmap.fromImage(clip.frames[index % len(clip.frames)])
