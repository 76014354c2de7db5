"""A panel that opens under the header of the datasets page, in the place of the findings."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent

from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card


class Panel(Card):
    """A card that closes with Esc or its button."""

    turned = Signal()
    """It was opened or closed."""

    def __init__(self, title: str, note: str) -> None:
        super().__init__(title, note, gap=10)
        self.close_panel = Button("", "x", kind="ghost", size="small", tip="Close")
        self.close_panel.clicked.connect(self.hide)
        self.header.addWidget(self.close_panel)
        self.hide()

    def setVisible(self, visible: bool) -> None:
        """Open or close."""
        super().setVisible(visible)
        self.turned.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close with Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)
