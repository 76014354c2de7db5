"""Six dots at the left of a row that can be dragged up and down among its neighbours."""

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.focus import shows_ring


class DragHandle(QWidget):
    """Reports by how many places its row is to move. The arrow keys move it by one.

    Args:
        name: What is moved, for screen readers.
    """

    moved = Signal(int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setFixedSize(24, 32)
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(tr(f"Move {name}"))
        self.setToolTip(tr("Drag, or press ↑ and ↓"))
        self._pressed_y: float | None = None

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the dots."""
        painter = paint.begin(self)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("text3"))
        for column in (9.0, 15.0):
            for row in (10.0, 16.0, 22.0):
                painter.drawEllipse(QPointF(column, row), 1.4, 1.4)
        if shows_ring(self):
            paint.ring(painter, self.rect())
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold of the row."""
        self._pressed_y = event.globalPosition().y()
        self.setCursor(Qt.CursorShape.ClosedHandCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Put the row where it was dragged."""
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        row = self.parentWidget()
        if self._pressed_y is None or row is None:
            return
        places = round((event.globalPosition().y() - self._pressed_y) / max(1, row.height() + 8))
        self._pressed_y = None
        if places:
            self.moved.emit(places)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the row by one place."""
        by = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if by is None:
            super().keyPressEvent(event)
        else:
            self.moved.emit(by)
