"""A scrolled area that paints what it shows by itself, so that thousands of things scroll like ten."""

from PySide6.QtCore import QEvent, QPointF, Qt, Slot
from PySide6.QtGui import QHelpEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip


class PaintedArea(QAbstractScrollArea):
    """Has no frame and no ground of its own, takes keys, and lays itself out anew with its size."""

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setAutoFillBackground(False)

    def _lay_out(self) -> None:
        """Tell the scroll bars how much there is."""
        raise AssertionError("every area lays itself out")

    def words_at(self, _point: QPointF) -> str:
        """Return the whole words that are painted at a point of the viewport, where they may be cut; empty for none."""
        return ""

    def viewportEvent(self, event: QEvent) -> bool:
        """Say in a tool tip what may be cut under the mouse."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.words_at(QPointF(event.pos())), self.viewport())
            return True
        return super().viewportEvent(event)

    @Slot(str)
    def _on_arrived(self, path: str) -> None:
        """A picture has come; paint it."""
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the new size."""
        super().resizeEvent(event)
        self._lay_out()
