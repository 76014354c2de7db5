"""Samples in columns that fill the width, each with two lines under it; only those in sight are painted."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent

from diffusionforce.gui import paint, theme
from diffusionforce.gui.clips import is_clip
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.focus import shows_ring
from diffusionforce.gui.widgets.painted_area import PaintedArea
from diffusionforce.gui.widgets.sample_cell import paint_badge, paint_sample

USUAL_PX, GAP_PX, TEXT_PX, EDGE_PX = 220, 14, 44, 640


@dataclass(frozen=True, kw_only=True)
class WallPicture:
    """One sample: its file, and the two lines."""

    path: Path
    title: str
    note: str


class SampleWall(PaintedArea):
    """Shows samples. Arrow keys or the mouse choose; Space, Return or a second click open; F takes the mark away."""

    opened = Signal(int)
    unmarked = Signal(int)

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self._store = store
        self._pictures: Sequence[WallPicture] = ()
        self.index = 0
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setAccessibleName(tr("Favourites"))
        store.arrived.connect(self._on_arrived)

    def show_pictures(self, pictures: Sequence[WallPicture]) -> None:
        """Show other samples."""
        self._pictures = pictures
        self.index = max(0, min(len(pictures) - 1, self.index))
        self._lay_out()
        self.viewport().update()

    def choose(self, index: int) -> None:
        """Choose a sample and bring it into sight."""
        self.index = max(0, min(len(self._pictures) - 1, index))
        if self._pictures:
            one = self._pictures[self.index]
            self.setAccessibleDescription(f"{one.title}, {one.note}")
        box, bar, view = self._box(self.index), self.verticalScrollBar(), self.viewport().height()
        if box.top() < 0:
            bar.setValue(int(bar.value() + box.top()))
        elif box.bottom() > view:
            bar.setValue(int(bar.value() + box.bottom() - view))
        self.viewport().update()

    def _columns(self) -> int:
        return max(2, int((self.viewport().width() + GAP_PX) // (USUAL_PX + GAP_PX)))

    def _edge(self) -> float:
        columns = self._columns()
        return (self.viewport().width() - GAP_PX * (columns - 1)) / columns

    def _box(self, index: int) -> QRectF:
        edge, (row, column) = self._edge(), divmod(index, self._columns())
        top = row * (edge + TEXT_PX + GAP_PX) - self.verticalScrollBar().value()
        return QRectF(column * (edge + GAP_PX), top, edge, edge + TEXT_PX)

    def _lay_out(self) -> None:
        rows = -(-len(self._pictures) // self._columns())
        full = rows * (self._edge() + TEXT_PX + GAP_PX)
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, int(full - self.viewport().height())))
        bar.setPageStep(self.viewport().height())
        bar.setSingleStep(40)
        # Its place is kept, so that the pictures do not grow when it goes; a bar with nothing to move says nothing.
        bar.setEnabled(bar.maximum() > 0)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint what is in sight."""
        painter, edge = paint.begin(self.viewport()), self._edge()
        columns, row_px = self._columns(), self._edge() + TEXT_PX + GAP_PX
        first = int(self.verticalScrollBar().value() // row_px) * columns
        rows = int(self.viewport().height() // row_px) + 2
        for index in range(first, min(len(self._pictures), first + rows * columns)):
            one, box = self._pictures[index], self._box(index)
            frame = QRectF(box.left(), box.top(), edge, edge)
            picture = self._store.get(one.path, edge_px=EDGE_PX)
            gone = self._store.is_broken(one.path, edge_px=EDGE_PX)
            chosen = index == self.index and shows_ring(self)
            paint_sample(painter, frame, picture, words="file is gone" if gone else "", chosen=chosen)
            if picture is not None:
                paint_badge(painter, frame, "star", corner="right")
                if is_clip(one.path):
                    paint_badge(painter, frame, "film", corner="left")
            title = QRectF(box.left(), frame.bottom() + 6, edge, 18)
            paint.text(painter, title, one.title, font=theme.font(12, 600), colour="text")
            paint.text(painter, title.translated(0, 18), one.note, font=theme.font(12), colour="text3")
        painter.end()

    def _at(self, point: QPointF) -> int | None:
        return next((index for index in range(len(self._pictures)) if self._box(index).contains(point)), None)

    def words_at(self, point: QPointF) -> str:
        """Return prompt and step of the sample at a point."""
        index = self._at(point)
        return "" if index is None else f"{self._pictures[index].title}\n{self._pictures[index].note}"

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the sample under the mouse; open the one that is chosen already."""
        index = self._at(event.position())
        if index is not None:
            is_second = index == self.index and self.hasFocus()
            self.choose(index)
            if is_second:
                self.opened.emit(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move, open, or take the mark away."""
        key = Qt.Key(event.key())
        columns = self._columns()
        moves = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -columns,
            Qt.Key.Key_Down: columns,
        }
        if key in moves:
            self.choose(self.index + moves[key])
        elif key in {Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter} and self._pictures:
            self.opened.emit(self.index)
        elif key in {Qt.Key.Key_F, Qt.Key.Key_Delete} and self._pictures:
            self.unmarked.emit(self.index)
        else:
            super().keyPressEvent(event)
