"""Parts of captions with how often each comes: a list to look through and to choose from."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent

from diffusionforce.gui import paint, theme
from diffusionforce.gui.widgets.focus import shows_ring
from diffusionforce.gui.widgets.painted_area import PaintedArea

ROW_PX, BAR_PX = 28, 90


class TagBars(PaintedArea):
    """Painted rows, only those in sight; a click or the arrow keys choose one."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._tags: Sequence[tuple[str, int]] = ()
        self._index = -1
        self.setAccessibleName("Parts of captions by frequency")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumHeight(120)

    def show_tags(self, tags: Sequence[tuple[str, int]]) -> None:
        """Show other tags; the chosen one stays chosen where it is still there."""
        before = self.tag
        self._tags = tags
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
        self.setAccessibleDescription(f"{tag}, in {number} captions")
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
        first = top // ROW_PX
        last = min(len(self._tags), (top + self.viewport().height()) // ROW_PX + 1)
        for index in range(first, last):
            tag, number = self._tags[index]
            y = index * ROW_PX - top
            box = QRectF(0, y + 1, width, ROW_PX - 2)
            if index == self._index:
                paint.box(painter, box, radius=5, fill="accent_bg")
            paint.text(painter, QRectF(8, y, width - BAR_PX - 72, ROW_PX), tag, font=theme.font(13), colour="text")
            bar = QRectF(width - BAR_PX - 52, y + 11, BAR_PX, 6)
            paint.box(painter, bar, radius=3, fill="line")
            paint.box(
                painter, QRectF(bar.left(), bar.top(), max(4.0, BAR_PX * number / most), 6), radius=3, fill="focus"
            )
            count = QRectF(width - 48, y, 42, ROW_PX)
            paint.text(
                painter, count, f"{number:,}", font=theme.font(12), colour="text2", align=paint.RIGHT, elide=None
            )
            if index == self._index and shows_ring(self):
                paint.ring(painter, box, 5)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the row under the mouse."""
        index = int((event.position().y() + self.verticalScrollBar().value()) // ROW_PX)
        if 0 <= index < len(self._tags):
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
