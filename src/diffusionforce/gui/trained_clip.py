"""A clip played as a video model is trained on it: its first frames only, at the speed of the model."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QPixmap

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.clips import Clip, Transport, pixmap, shrunk

EDGE_PX = 480


class TrainedClip(QObject):
    """Plays one clip at a time."""

    changed = Signal()
    """Another frame is to be shown."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._asked: tuple[Path, int, float] | None = None
        self._clip: Clip | None = None
        self._transport = Transport(self)
        self._transport.moved.connect(self.changed)

    def play(self, path: Path, *, num_frames: int, fps: float) -> None:
        """Play the first frames of a clip.

        Args:
            path: The clip.
            num_frames: How many of its frames are trained on.
            fps: How many belong into a second.
        """
        asked = (path, num_frames, fps)
        if asked == self._asked:
            return
        self.stop()
        self._asked = asked
        background.run(
            self,
            lambda: _read(path, num_frames, fps),
            done=lambda clip: self._take(asked, clip),
            failed=lambda _error: None,
        )

    def stop(self) -> None:
        """Play nothing."""
        self._asked, self._clip = None, None
        self._transport.pause()

    @property
    def frame(self) -> QPixmap | None:
        """The frame to be shown; None while there is none."""
        return pixmap(self._clip, self._transport.index) if self._clip is not None else None

    def _take(self, asked: tuple[Path, int, float], clip: Clip) -> None:
        if asked == self._asked:
            self._clip = clip
            self._transport.take(clip)
            self._transport.play()


def _read(path: Path, num_frames: int, fps: float) -> Clip:
    """Read the frames that are trained on.

    Raises:
        UserError: The clip is damaged, or too short.
    """
    # Not above: decoders take a third of the window's start.
    from diffusionforce.datasets.clips import read_frames  # noqa: PLC0415

    frames = tuple(shrunk(frame, EDGE_PX) for frame in read_frames(path, num_frames=num_frames, target_fps=fps))
    if not frames:
        raise UserError(f"{path.name} has no frames.")
    return Clip(frames=frames, fps=fps)
