"""A part of the gallery over the whole screen, and back in its place."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget


class WholeScreen(QWidget):
    """A window of its own over the whole screen, around a part of the page.

    Args:
        view: The part.
        home: Where it lies in the page.
    """

    def __init__(self, view: QWidget, home: QStackedWidget) -> None:
        super().__init__()
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground, True)
        self.setWindowTitle("DiffusionForce")
        self.view, self._home, self._place = view, home, home.indexOf(view)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 8)
        # It is as large as the screen; the system needs no other bounds.
        layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)
        layout.addWidget(view)
        self.setFocusProxy(view)
        self.showFullScreen()
        view.show()
        view.setFocus()

    def give_back(self) -> None:
        """Put the part back into the page, and go."""
        if self._home.indexOf(self.view) < 0:
            self._home.insertWidget(self._place, self.view)
            self._home.setCurrentWidget(self.view)
            self.view.show()
            self.view.setFocus()
        self.hide()
        self.deleteLater()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Closed by the system, it gives back what it shows all the same."""
        self.give_back()
        super().closeEvent(event)
