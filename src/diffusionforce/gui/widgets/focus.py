"""Focus rings that show only while the keyboard moves the focus; a mouse click leaves none."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QWindow
from PySide6.QtWidgets import QWidget

_MOVING_KEYS = {
    Qt.Key.Key_Tab,
    Qt.Key.Key_Backtab,
    Qt.Key.Key_Left,
    Qt.Key.Key_Right,
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
}


class FocusTracker(QObject):
    """Remembers whether the keyboard or the mouse was used last.

    It watches the native window, through which keys and clicks come before they reach a widget; a filter on the
    application would see every event of every widget, and cost more than the painting.
    """

    by_keyboard = False

    def __init__(self, window: QWindow) -> None:
        super().__init__(window)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Watch keys and clicks; swallow nothing."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if Qt.Key(event.key()) in _MOVING_KEYS:
                FocusTracker.by_keyboard = True
        elif event.type() == QEvent.Type.MouseButtonPress:
            FocusTracker.by_keyboard = False
        return False


def shows_ring(widget: QWidget) -> bool:
    """Tell whether a painted widget should draw its focus ring now."""
    return FocusTracker.by_keyboard and widget.hasFocus()
