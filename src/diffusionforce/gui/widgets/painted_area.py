"""A scrolled area that paints what it shows by itself, so that thousands of things scroll like ten."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame


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

    @Slot(str)
    def _on_arrived(self, path: str) -> None:
        """A picture has come; paint it."""
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the new size."""
        super().resizeEvent(event)
        self._lay_out()
