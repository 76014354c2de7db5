"""The log: monospace, following its end until the reader scrolls up."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent, QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from diffusionforce.gui import theme
from diffusionforce.gui.model.language import tr

MAX_LINES = 1000


class LogView(QPlainTextEdit):
    """Shows lines of text as they come.

    Attributes:
        place: Which of the places is looked at where the words that are searched for are, from 0; below 0 for none.
    """

    found = Signal()
    """Other places than before have the words, or another one is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self._words = ""
        self._places: list[int] = []
        self.place = -1
        self.setObjectName("log")
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setMaximumBlockCount(MAX_LINES)
        self.setAccessibleName(tr("Log"))
        self.setMinimumHeight(84)
        # The end of the log must be whole, not a line cut in half.
        self.document().setDocumentMargin(0)
        self._follows = True
        self.verticalScrollBar().sliderMoved.connect(self._on_moved)

    def add_lines(self, lines: list[str]) -> None:
        """Append lines."""
        self.appendPlainText("\n".join(lines))
        if self._words:
            self._find()
            self._mark()
        self._follow()

    def forget(self) -> None:
        """Empty the log and follow its end again."""
        self.clear()
        self._follows = True
        self._find()

    @property
    def num_found(self) -> int:
        """How often the words that are searched for are there."""
        return len(self._places)

    def find_words(self, words: str) -> None:
        """Mark words wherever they are, whatever their case, and go to the newest place; empty follows the end again.

        Args:
            words: What to search for.
        """
        self._words = words
        self._find()
        self.place = len(self._places) - 1
        if words:
            self._look()
        else:
            self._follows = True
            self._follow()
        self._mark()

    def go(self, by: int) -> None:
        """Go to another place, newer ones (`by` above zero) or older ones; behind the last comes the first."""
        if self._places:
            self.place = (self.place + by) % len(self._places)
            self._look()
            self._mark()

    def _find(self) -> None:
        """Look for the words anew."""
        text, words = self.toPlainText().lower(), self._words.lower()
        places: list[int] = []
        at = text.find(words) if words else -1
        while at >= 0:
            places.append(at)
            at = text.find(words, at + len(words))
        self._places = places
        self.place = min(max(self.place, 0), len(places) - 1)

    def _look(self) -> None:
        """Have the place in sight, and stay there while more is logged."""
        if not self._places:
            return
        self._follows = False
        self.setTextCursor(self._cursor(self._places[self.place], selects=False))
        self.centerCursor()

    def _cursor(self, at: int, *, selects: bool = True) -> QTextCursor:
        cursor = QTextCursor(self.document())
        cursor.setPosition(at)
        if selects:
            cursor.setPosition(at + len(self._words), QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def _mark(self) -> None:
        marks: list[QTextEdit.ExtraSelection] = []
        for number, at in enumerate(self._places):
            mark = QTextEdit.ExtraSelection()
            mark.cursor = self._cursor(at)
            mark.format.setBackground(theme.colour("accent" if number == self.place else "accent_bg"))
            if number == self.place:
                mark.format.setForeground(theme.colour("on_accent"))
            marks.append(mark)
        self.setExtraSelections(marks)
        self.found.emit()

    def _on_moved(self, value: int) -> None:
        self._follows = value >= self.verticalScrollBar().maximum()

    def _follow(self) -> None:
        if self._follows:
            self.moveCursor(QTextCursor.MoveOperation.End)
            self.moveCursor(QTextCursor.MoveOperation.StartOfLine)
            self.ensureCursorVisible()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Stay at the end when the height changes."""
        super().resizeEvent(event)
        self._follow()
