"""Small pictures in a row, one a step; the chosen one is kept in sight. However many there are, few are painted."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent, QWheelEvent

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.focus import shows_ring
from diffusionforce.gui.widgets.painted_area import PaintedArea
from diffusionforce.gui.widgets.sample_cell import paint_sample

CELL_PX, GAP_PX, LABEL_PX, EDGE_PX = 92, 8, 20, 320


@dataclass(frozen=True, kw_only=True)
class StripPicture:
    """One picture of the strip: its file, None for one that is not there yet, and the words under it."""

    path: Path | None
    label: str


class FilmStrip(PaintedArea):
    """Shows the strip. Arrow keys or the mouse choose; up and down ask for another strip."""

    chosen = Signal(int)
    row_moved = Signal(int)

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self._store = store
        self._pictures: Sequence[StripPicture] = ()
        self.index = 0
        self.setFixedHeight(CELL_PX + LABEL_PX + 14)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(tr("Film strip over the steps"))
        store.arrived.connect(self._on_arrived)

    def show_pictures(self, pictures: Sequence[StripPicture]) -> None:
        """Show other pictures; the choice stays where it can."""
        self._pictures = pictures
        self.index = max(0, min(len(pictures) - 1, self.index))
        self._lay_out()
        self.viewport().update()

    def choose(self, index: int) -> None:
        """Choose a picture and bring it into sight."""
        self.index = max(0, min(len(self._pictures) - 1, index))
        if self._pictures:
            self.setAccessibleDescription(self._pictures[self.index].label)
        middle = self.index * (CELL_PX + GAP_PX) + CELL_PX // 2 - self.viewport().width() // 2
        self.horizontalScrollBar().setValue(middle)
        self.viewport().update()
        self.chosen.emit(self.index)

    def _lay_out(self) -> None:
        full = len(self._pictures) * (CELL_PX + GAP_PX) - GAP_PX
        bar = self.horizontalScrollBar()
        bar.setRange(0, max(0, full - self.viewport().width()))
        bar.setPageStep(self.viewport().width())
        bar.setSingleStep(CELL_PX)

    def _left(self) -> float:
        """Return where the first picture begins: a short strip stands in the middle."""
        full = len(self._pictures) * (CELL_PX + GAP_PX) - GAP_PX
        return max(0.0, (self.viewport().width() - full) / 2) - self.horizontalScrollBar().value()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint what is in sight."""
        painter, left = paint.begin(self.viewport()), self._left()
        first = max(0, int(-left // (CELL_PX + GAP_PX)))
        last = int((self.viewport().width() - left) // (CELL_PX + GAP_PX)) + 1
        for index in range(first, min(len(self._pictures), last)):
            one, chosen = self._pictures[index], index == self.index
            box = QRectF(left + index * (CELL_PX + GAP_PX), 2, CELL_PX, CELL_PX)
            picture = self._store.get(one.path, edge_px=EDGE_PX) if one.path is not None else None
            paint_sample(painter, box, picture, words="" if one.path is not None else "waiting", chosen=chosen)
            label = QRectF(box.left() - 4, box.bottom() + 2, CELL_PX + 8, 16)
            font = theme.font(11, 600 if chosen else 400)
            ink = "text" if chosen else "text3"
            paint.text(painter, label, one.label, font=font, colour=ink, align=paint.CENTRE)
        if shows_ring(self):
            paint.ring(painter, self.viewport().rect())
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the picture under the mouse."""
        index = int((event.position().x() - self._left()) // (CELL_PX + GAP_PX))
        if 0 <= index < len(self._pictures):
            self.choose(index)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Move along the strip with the wheel."""
        self.choose(self.index + (-1 if event.angleDelta().y() > 0 else 1))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move along the strip, or to another one."""
        match Qt.Key(event.key()):
            case Qt.Key.Key_Left:
                self.choose(self.index - 1)
            case Qt.Key.Key_Right:
                self.choose(self.index + 1)
            case Qt.Key.Key_Home:
                self.choose(0)
            case Qt.Key.Key_End:
                self.choose(len(self._pictures) - 1)
            case Qt.Key.Key_Up:
                self.row_moved.emit(-1)
            case Qt.Key.Key_Down:
                self.row_moved.emit(1)
            case _:
                super().keyPressEvent(event)
