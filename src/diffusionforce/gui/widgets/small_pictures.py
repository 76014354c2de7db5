"""A few small pictures in a row."""

from pathlib import Path

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.thumbnails import Thumbnails

GAP_PX = 6


class SmallPictures(QWidget):
    """Shows pictures beside each other.

    Args:
        thumbnails: Gives them.
        num: For how many there is room.
        height_px: How high they are.
        whole: Whether they are shown whole, rather than filling their places.
    """

    def __init__(self, thumbnails: Thumbnails, *, num: int, height_px: int = 48, whole: bool = False) -> None:
        super().__init__()
        self._thumbnails, self._num, self._whole = thumbnails, num, whole
        self._paths: list[Path] = []
        self.setFixedHeight(height_px)
        thumbnails.arrived.connect(lambda _path: self.update())

    def show_paths(self, paths: list[Path]) -> None:
        """Show other pictures, as many as there is room for."""
        self._paths = paths[: self._num]
        self.setAccessibleName(", ".join(path.name for path in self._paths))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the pictures."""
        painter = paint.begin(self)
        width = (self.width() - GAP_PX * (self._num - 1)) / self._num
        left = 0.0
        for path in self._paths:
            picture = self._thumbnails.get(path)
            box = QRectF(left, 0, width, self.height())
            if picture is None:
                paint.box(painter, box, radius=5, fill=theme.colour("raised"))
            elif self._whole:
                box = paint.contained(box, picture.width(), picture.height())
                box.moveLeft(left)
                paint.cover(painter, box, picture, radius=5)
            else:
                paint.cover(painter, box, picture, radius=5)
            left = box.right() + GAP_PX
        painter.end()
