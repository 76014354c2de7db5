"""A path to read: its middle is left out where it does not fit, so that its beginning and its end are in sight."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QApplication, QLineEdit

_BESIDE_PX = 28
"""What the edges of a field take of its width."""


class PathLine(QLineEdit):
    """Shows a path that cannot be typed into; copying it gives the whole of it."""

    def __init__(self, path: str, *, name: str) -> None:
        super().__init__()
        self._path, self._name = "", name
        self.setReadOnly(True)
        self.setProperty("locked", "1")
        self.show_path(path)

    @property
    def path(self) -> str:
        """The whole path; empty where there is none."""
        return self._path

    def show_path(self, path: str) -> None:
        """Show another path."""
        self._path = path
        self.setToolTip(path)
        self.setAccessibleName(f"{self._name}: {path}" if path else self._name)
        self._fit()

    def _fit(self) -> None:
        room = max(0, self.width() - _BESIDE_PX)
        self.setText(self.fontMetrics().elidedText(self._path, Qt.TextElideMode.ElideMiddle, room))
        self.setCursorPosition(0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the path into the new width."""
        super().resizeEvent(event)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy the whole path, whatever of it is seen."""
        if event.matches(QKeySequence.StandardKey.Copy):
            QApplication.clipboard().setText(self._path)
            return
        super().keyPressEvent(event)
