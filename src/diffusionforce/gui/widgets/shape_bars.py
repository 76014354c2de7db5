"""How many pictures have which shape, and how much of them is cut off: a bar for each shape."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from diffusionforce.datasets.framing import ShapeCount
from diffusionforce.gui import paint, theme
from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import tr

ROW_PX, NAME_PX, NOTE_PX = 40, 118, 216


class ShapeBars(QWidget):
    """A histogram that lies on its side, from the tallest shape to the widest."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: Sequence[ShapeCount] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_counts(self, counts: Sequence[ShapeCount]) -> None:
        """Show other counts."""
        self._counts = counts
        self.setFixedHeight(max(1, len(counts)) * ROW_PX)
        self.setAccessibleName(tr("Shapes of the pictures"))
        self.setAccessibleDescription("; ".join(f"{name(count)}: {count.num}, {note(count)}" for count in counts))
        self.update()

    def sizeHint(self) -> QSize:
        """Return a size for the rows."""
        return QSize(520, max(1, len(self._counts)) * ROW_PX)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint a row for each shape."""
        painter = paint.begin(self)
        most = max((count.num for count in self._counts), default=1)
        room = self.width() - NAME_PX - NOTE_PX - 60
        for index, count in enumerate(self._counts):
            top = index * ROW_PX
            self._paint_shape(painter, count, top)
            paint.text(
                painter, QRectF(40, top, NAME_PX - 44, ROW_PX), name(count), font=theme.font(13, 600), colour="text"
            )
            length = max(4.0, room * count.num / most)
            paint.box(painter, QRectF(NAME_PX, top + 13, length, 14), radius=4, fill="focus")
            number = QRectF(NAME_PX + length + 8, top, 60, ROW_PX)
            paint.text(painter, number, f"{count.num:,}", font=theme.font(12, 600), colour="text2", elide=None)
            ink = "warn" if count.num_blurry or count.cropped_share > 0.4 else "text3"
            place = QRectF(self.width() - NOTE_PX, top, NOTE_PX, ROW_PX)
            paint.text(painter, place, tr(note(count)), font=theme.font(12), colour=ink, align=paint.RIGHT)
        painter.end()

    def _paint_shape(self, painter: QPainter, count: ShapeCount, top: int) -> None:
        box = paint.contained(QRectF(2, top + 8, 28, 24), *map(float, count.shape))
        paint.box(painter, box, radius=2, fill="raised", line="edge", line_px=1.2)


def name(count: ShapeCount) -> str:
    """Return a shape as people write it: `3 : 2`."""
    return f"{count.shape[0]} : {count.shape[1]}"


def note(count: ShapeCount) -> str:
    """Return what training does to the pictures of a shape."""
    cut = "nothing cut off" if count.cropped_share < 0.005 else f"{words.percent(count.cropped_share)} cut off"
    return ", ".join((cut, f"{count.num_blurry:,} blown up")) if count.num_blurry else cut
