"""Parts of captions with how often each comes: a list to look through and to choose from."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.focus import shows_ring
from diffusionforce.gui.widgets.painted_area import PaintedArea

ROW_PX, COUNT_PX, MARGIN_PX = 28, 52, 8
LEAST_BAR_PX, MOST_BAR_PX = 36, 160
NUM_MEASURED = 200
"""How many of the first tags say how much room names need."""


class TagBars(PaintedArea):
    """Painted rows, only those in sight; a click or the arrow keys choose one."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._tags: Sequence[tuple[str, int]] = ()
        self._index = -1
        self._widest_px = 0.0
        self.setAccessibleName(tr("Parts of captions by frequency"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumHeight(120)

    def show_tags(self, tags: Sequence[tuple[str, int]]) -> None:
        """Show other tags; the chosen one stays chosen where it is still there."""
        before = self.tag
        self._tags = tags
        font = theme.font(13)
        self._widest_px = max((paint.text_width(tag, font) for tag, _ in tags[:NUM_MEASURED]), default=0.0)
        self._index = next((i for i, (tag, _) in enumerate(tags) if tag == before), -1)
        self._lay_out()
        self.viewport().update()

    @property
    def tag(self) -> str:
        """The chosen one, empty for none."""
        return self._tags[self._index][0] if 0 <= self._index < len(self._tags) else ""

    def choose(self, index: int) -> None:
        """Choose a row and bring it into view."""
        if not self._tags:
            return
        self._index = max(0, min(len(self._tags) - 1, index))
        top, bar = self._index * ROW_PX, self.verticalScrollBar()
        bar.setValue(min(top, max(bar.value(), top + ROW_PX - self.viewport().height())))
        tag, number = self._tags[self._index]
        self.setAccessibleDescription(tr(f"{tag}, in {number} captions"))
        self.viewport().update()
        self.chosen.emit(tag)

    def _lay_out(self) -> None:
        bar, page = self.verticalScrollBar(), self.viewport().height()
        bar.setRange(0, max(0, len(self._tags) * ROW_PX - page))
        bar.setPageStep(page)
        bar.setSingleStep(ROW_PX)

    def sizeHint(self) -> QSize:
        """Return a size that shows some rows."""
        return QSize(320, 300)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the rows in sight."""
        painter, top, width = paint.begin(self.viewport()), self.verticalScrollBar().value(), self.viewport().width()
        most = self._tags[0][1] if self._tags else 1
        # Names come first: a bar is as long as they leave it room.
        bar_px = min(MOST_BAR_PX, max(LEAST_BAR_PX, width - COUNT_PX - 3 * MARGIN_PX - self._widest_px))
        first = top // ROW_PX
        last = min(len(self._tags), (top + self.viewport().height()) // ROW_PX + 1)
        for index in range(first, last):
            tag, number = self._tags[index]
            y = index * ROW_PX - top
            box = QRectF(0, y + 1, width, ROW_PX - 2)
            if index == self._index:
                paint.box(painter, box, radius=5, fill="accent_bg")
            name = QRectF(MARGIN_PX, y, width - bar_px - COUNT_PX - 2 * MARGIN_PX, ROW_PX)
            paint.text(painter, name, tag, font=theme.font(13), colour="text")
            bar = QRectF(width - bar_px - COUNT_PX, y + 11, bar_px, 6)
            paint.box(painter, bar, radius=3, fill="line")
            share = QRectF(bar.left(), bar.top(), max(4.0, bar_px * number / most), 6)
            paint.box(painter, share, radius=3, fill="focus")
            count = QRectF(width - 48, y, 42, ROW_PX)
            paint.text(
                painter, count, f"{number:,}", font=theme.font(12), colour="text2", align=paint.RIGHT, elide=None
            )
            if index == self._index and shows_ring(self):
                paint.ring(painter, box, 5)
        painter.end()

    def _row_at(self, point: QPointF) -> int | None:
        index = int((point.y() + self.verticalScrollBar().value()) // ROW_PX)
        return index if 0 <= index < len(self._tags) else None

    def words_at(self, point: QPointF) -> str:
        """Return the part of captions in the row at a point."""
        index = self._row_at(point)
        return "" if index is None else self._tags[index][0]

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the row under the mouse."""
        index = self._row_at(event.position())
        if index is not None:
            self.choose(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move with the arrow keys."""
        page = max(1, self.viewport().height() // ROW_PX)
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}
        key = Qt.Key(event.key())
        if key in steps:
            self.choose(self._index + steps[key])
        else:
            super().keyPressEvent(event)
