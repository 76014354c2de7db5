"""Finds words in a log: how often they are there, and one place after the other."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import row
from diffusionforce.gui.widgets.log_view import LogView
from diffusionforce.gui.widgets.search_line import SearchLine

LINE_PX = 170


class LogSearch(QWidget):
    """A line to search with, which number of how many is looked at, and the way to the others.

    Enter goes to the place before, in older lines, and Shift+Enter to the next: the newest is found first.
    """

    def __init__(self, view: LogView) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._view = view
        self.line = SearchLine(tr("Find in the log"))
        self.line.setFixedWidth(LINE_PX)
        self.line.setToolTip(tr("Find in the log (Ctrl+F)"))
        self.found = Label("", "muted")
        self.before = Button("", "chev-up", kind="ghost", size="small", tip="Older (Enter)")
        self.after = Button("", "chev-down", kind="ghost", size="small", tip="Newer (Shift+Enter)")
        self.line.textChanged.connect(view.find_words)
        self.line.installEventFilter(self)
        self.before.clicked.connect(lambda: view.go(-1))
        self.after.clicked.connect(lambda: view.go(1))
        view.found.connect(self._show)
        self.setLayout(row(self.line, self.found, self.before, self.after, gap=4))
        self._show()

    def start(self) -> None:
        """Begin to search, with what was searched for last."""
        self.line.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.line.selectAll()

    def _show(self) -> None:
        number, view = self._view.num_found, self._view
        searches = bool(self.line.text())
        place = tr("{place} of {number}").format(place=view.place + 1, number=number)
        self.found.set_text((place if number else tr("not there")) if searches else "")
        for part in (self.found, self.before, self.after):
            part.setVisible(searches)
        for button in (self.before, self.after):
            button.setEnabled(number > 1)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Go to the next place with Enter."""
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return super().eventFilter(watched, event)
        if event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            return super().eventFilter(watched, event)
        self._view.go(1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else -1)
        return True
