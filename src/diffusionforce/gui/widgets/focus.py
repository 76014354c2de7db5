"""Focus rings that show only while the keyboard moves the focus; a mouse click leaves none."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

_MOVING_KEYS = {
    Qt.Key.Key_Tab,
    Qt.Key.Key_Backtab,
    Qt.Key.Key_Left,
    Qt.Key.Key_Right,
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
}


class FocusTracker(QObject):
    """Application-wide event filter that remembers whether the keyboard or the mouse was used last."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self.by_keyboard = False
        app.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Watch keys and clicks; swallow nothing."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if Qt.Key(event.key()) in _MOVING_KEYS:
                self.by_keyboard = True
        elif event.type() == QEvent.Type.MouseButtonPress:
            self.by_keyboard = False
        return False


def shows_ring(widget: QWidget) -> bool:
    """Tell whether a painted widget should draw its focus ring now."""
    if not widget.hasFocus():
        return False
    app = QApplication.instance()
    tracker = app.findChild(FocusTracker) if app is not None else None
    return tracker is None or tracker.by_keyboard
