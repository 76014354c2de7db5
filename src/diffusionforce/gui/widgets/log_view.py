"""The log: monospace, following its end until the reader scrolls up."""

from PySide6.QtGui import QResizeEvent, QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit

from diffusionforce.gui.model.language import tr

MAX_LINES = 1000


class LogView(QPlainTextEdit):
    """Shows lines of text as they come."""

    def __init__(self) -> None:
        super().__init__()
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
        self._follow()

    def forget(self) -> None:
        """Empty the log and follow its end again."""
        self.clear()
        self._follows = True

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
