"""Pictures of a dataset with file name and caption, in columns that fill the width exactly."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.sample_cell import paint_sample

if TYPE_CHECKING:
    from diffusionforce.datasets import Item

USUAL_PX, GAP_PX, TEXT_PX, EDGE_PX = 176, 12, 74, 320


class PictureWall(QWidget):
    """A tall widget for a scroll area; only what is in sight is decoded."""

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self._store = store
        self._items: tuple[Item, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Pictures and captions")
        store.arrived.connect(lambda _path: self.update())

    def show_items(self, items: "tuple[Item, ...]") -> None:
        """Show pictures with their captions."""
        self._items = items
        self.setAccessibleDescription(f"{len(items)} pictures")
        self._fit()
        self.update()

    def _columns(self) -> int:
        return max(2, int((self.width() + GAP_PX) // (USUAL_PX + GAP_PX)))

    def _edge(self) -> float:
        columns = self._columns()
        return (self.width() - GAP_PX * (columns - 1)) / columns

    def _fit(self) -> None:
        rows = -(-len(self._items) // self._columns())
        self.setFixedHeight(max(1, int(rows * (self._edge() + TEXT_PX + GAP_PX))))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the new width."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint what is in sight."""
        painter, columns, edge = paint.begin(self), self._columns(), self._edge()
        in_sight = QRectF(event.rect())
        for i, item in enumerate(self._items):
            left = (i % columns) * (edge + GAP_PX)
            top = (i // columns) * (edge + TEXT_PX + GAP_PX)
            whole = QRectF(left, top, edge, edge + TEXT_PX)
            if whole.intersects(in_sight):
                self._paint_item(painter, whole, item, edge)
        painter.end()

    def _paint_item(self, painter: QPainter, box: QRectF, item: "Item", edge: float) -> None:
        picture = self._store.get(item.picture, edge_px=EDGE_PX)
        paint_sample(painter, QRectF(box.left(), box.top(), edge, edge), picture)
        name = QRectF(box.left(), box.top() + edge + 6, edge, 18)
        size = f"{item.width} × {item.height}"
        font, small = theme.font(12, 600), theme.font(11)
        size_px = paint.text_width(size, small)
        paint.text(painter, name.adjusted(0, 0, -size_px - 8, 0), item.picture.name, font=font, colour="text")
        paint.text(painter, name, size, font=small, colour="text3", align=paint.RIGHT)
        painter.setFont(theme.font(12))
        painter.setPen(theme.colour("text2"))
        words = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap)
        caption = QRectF(box.left(), name.bottom() + 2, edge, 46)
        painter.drawText(
            caption, words, paint.lines(item.caption, width_px=int(edge), max_lines=3, font=theme.font(12))
        )
