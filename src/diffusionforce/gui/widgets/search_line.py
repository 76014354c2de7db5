"""A line to search with."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit

from diffusionforce.gui.widgets.labels import Icon


class SearchLine(QLineEdit):
    """A line to search with; Escape empties it."""

    def __init__(self, hint: str) -> None:
        super().__init__()
        self.setObjectName("search")
        self.setPlaceholderText(hint)
        self.setAccessibleName(hint)
        self.setClearButtonEnabled(False)
        self.setFixedHeight(32)
        icon = Icon("search", "text3", 15)
        icon.setParent(self)
        icon.move(11, 9)
        icon.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Empty the line with Escape."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            return
        super().keyPressEvent(event)
