"""Short messages at the bottom right that leave by themselves: what was done, and the way to undo it.

They are never the only place of an error. At most three are in sight; one that the mouse rests on stays.
"""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import add, column, row

STAY_MS = 8000
MAX_SHOWN = 3
WIDTH_PX, MARGIN_PX = 400, 20


class Toast(QFrame):
    """One message, with at most one thing to do about it."""

    left = Signal()

    def __init__(self, tone: str, title: str, text: str, *, action: str = "", do: Callable[[], None] | None = None):
        super().__init__()
        self.setObjectName("toast")
        self.setFixedWidth(WIDTH_PX)
        self.setAccessibleName(f"{tr(title)}. {tr(text)}")
        layout = row(gap=12, margins=(14, 10, 8, 10))
        layout.addWidget(Icon(tone, tone, 18), 0, Qt.AlignmentFlag.AlignTop)
        texts = column(Elided(tr(title), "strong"), gap=1)
        if text:
            texts.addWidget(Label(text, "small", wrap=True))
        add(layout, (texts, 1))
        self.act = Button(action, size="small")
        if do is not None:
            self.act.clicked.connect(lambda: (self.leave(), do()))
        self.dismiss = Button("", "x", kind="ghost", size="small", tip="Dismiss")
        self.dismiss.clicked.connect(self.leave)
        add(layout, self.act, self.dismiss)
        self.setLayout(layout)
        self.act.setVisible(bool(action))
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(STAY_MS)
        self._timer.timeout.connect(self.leave)
        if tone != "err":
            self._timer.start()

    def leave(self) -> None:
        """Go away."""
        self._timer.stop()
        self.hide()
        self.left.emit()
        self.deleteLater()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Stay while somebody reads."""
        super().enterEvent(event)
        self._timer.stop()

    def leaveEvent(self, event: QEvent) -> None:
        """Go away a while after somebody has read."""
        super().leaveEvent(event)
        self._timer.start()


class Toasts(QWidget):
    """The place of the messages over a page: no larger than they are, so that nothing under it is out of reach."""

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self._page = page
        self.setObjectName("clear")
        self._stack = QVBoxLayout(self)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.setSpacing(8)
        self._bottom_px = MARGIN_PX
        page.installEventFilter(self)
        self.hide()

    def keep_clear(self, bottom_px: int) -> None:
        """Stay above what lies at the bottom of the page."""
        self._bottom_px = bottom_px + MARGIN_PX

    def say(
        self, tone: str, title: str, text: str = "", *, action: str = "", do: Callable[[], None] | None = None
    ) -> Toast:
        """Show a message."""
        toast = Toast(tone, title, text, action=action, do=do)
        toast.left.connect(self._place)
        self._stack.addWidget(toast)
        # By itself it is shown only later, and until then the stack has no room for it and squeezes the others.
        toast.show()
        shown = self.shown
        for old in shown[:-MAX_SHOWN]:
            old.leave()
        self.show()
        self._place()
        return toast

    @property
    def shown(self) -> list[Toast]:
        """The messages in sight, the oldest first."""
        return [toast for toast in self.findChildren(Toast) if not toast.isHidden()]

    def _place(self) -> None:
        if not self.shown:
            self.hide()
            return
        self.adjustSize()
        at = self._page.width() - self.width() - MARGIN_PX, self._page.height() - self.height() - self._bottom_px
        self.move(*at)
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay in the corner when the page changes its size."""
        if event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)
