"""Plays one clip among many samples: the chosen one, or for the moment the one under the mouse."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QPixmap

from diffusionforce.gui.clips import Clip, ClipStore, Transport, is_clip, pixmap

EDGE_PX = 320


class ClipPlayer(QObject):
    """Decides which clip plays, and gives out its frame.

    Args:
        clips: Decodes them.
        parent: Owner.
        edge_px: Size of a frame.
    """

    changed = Signal()

    def __init__(self, clips: ClipStore, parent: QObject | None = None, *, edge_px: int = EDGE_PX) -> None:
        super().__init__(parent)
        self._clips, self._edge_px = clips, edge_px
        self._chosen: Path | None = None
        self._hovered: Path | None = None
        self._clip: Clip | None = None
        self._shown: tuple[int, QPixmap] | None = None
        self.transport = Transport(self)
        self.transport.moved.connect(self._on_moved)
        clips.arrived.connect(self._on_arrived)

    @property
    def path(self) -> Path | None:
        """The clip that plays, None while none does."""
        return self._hovered or self._chosen

    def choose(self, path: Path | None) -> None:
        """Play this one for as long as nothing else is looked at; a picture that does not move stops it."""
        self._chosen = path if path is not None and is_clip(path) else None
        self._take()

    def play(self, path: Path | None) -> None:
        """Play this one for the moment; None goes back to the chosen one."""
        hovered = path if path is not None and is_clip(path) else None
        if hovered != self._hovered:
            self._hovered = hovered
            self._take()

    def frame(self, path: Path) -> QPixmap | None:
        """Return the frame of a clip if it is the one that plays, None if it is not (yet)."""
        if path != self.path or self._clip is None:
            return None
        if self._shown is None or self._shown[0] != self.transport.index:
            self._shown = (self.transport.index, pixmap(self._clip, self.transport.index))
        return self._shown[1]

    def _take(self) -> None:
        path = self.path
        self._clip = self._clips.get(path, edge_px=self._edge_px) if path is not None else None
        self._shown = None
        self.transport.take(self._clip)
        if self._clip is not None:
            self.transport.play()
        else:
            self.transport.pause()

    @Slot(str)
    def _on_arrived(self, path: str) -> None:
        if self._clip is None and path == str(self.path):
            self._take()

    def _on_moved(self) -> None:
        self.changed.emit()
