"""Short messages at the bottom right that leave by themselves: what was done, and the way to undo it.

They are never the only place of an error, and lie on nothing: the page makes room for them at its bottom. At most three
are in sight; one that the mouse rests on, or the keyboard is in, stays.
"""

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QApplication, QFrame, QWidget

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.announce import announce
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import add, column, holder, row

STAY_MS, UNDO_STAY_MS = 8000, 60_000
"""Of a message that only tells, and of one that offers the only way back."""
MAX_SHOWN = 3
WIDTH_PX = 400


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
            # In this order: whoever waits for the message to leave must know by then that it was undone.
            self.act.clicked.connect(lambda: (do(), self.leave()))
        self.dismiss = Button("", "x", kind="ghost", size="small", tip="Dismiss")
        self.dismiss.clicked.connect(self.leave)
        add(layout, self.act, self.dismiss)
        self.setLayout(layout)
        self.act.setVisible(bool(action))
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(UNDO_STAY_MS if do is not None else STAY_MS)
        self._timer.timeout.connect(self._on_time)
        if tone != "err":
            self._timer.start()

    def leave(self) -> None:
        """Go away."""
        self._timer.stop()
        self.hide()
        self.left.emit()
        self.deleteLater()

    def _on_time(self) -> None:
        """Go away, unless the keyboard is on one of the buttons."""
        focus = QApplication.focusWidget()
        if focus is not None and self.isAncestorOf(focus):
            self._timer.start()
        else:
            self.leave()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Stay while somebody reads."""
        super().enterEvent(event)
        self._timer.stop()

    def leaveEvent(self, event: QEvent) -> None:
        """Go away a while after somebody has read."""
        super().leaveEvent(event)
        self._timer.start()


class Toasts(QWidget):
    """The last row of a page, in which the messages stand; it takes no room without any.

    Args:
        margins: Room left of, above, right of and below the messages, in a page that has no margins of its own.
    """

    def __init__(self, *, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._stack = column(gap=8)
        inner = holder(self._stack)
        inner.setFixedWidth(WIDTH_PX)
        self.setLayout(row(None, inner, margins=margins))
        self.hide()

    def say(
        self, tone: str, title: str, text: str = "", *, action: str = "", do: Callable[[], None] | None = None
    ) -> Toast:
        """Show a message."""
        toast = Toast(tone, title, text, action=action, do=do)
        toast.left.connect(self._on_left)
        self._stack.addWidget(toast)
        # By itself it is shown only later, and until then the stack has no room for it and squeezes the others.
        toast.show()
        # Those that only tell make room first.
        earlier = sorted(self.shown[:-1], key=lambda old: not old.act.isHidden())
        for old in earlier[: max(0, len(earlier) + 1 - MAX_SHOWN)]:
            old.leave()
        self.show()
        announce(toast, toast.accessibleName())
        return toast

    def act(self) -> None:
        """Do what the newest message offers, as its button would."""
        for toast in reversed(self.shown):
            if not toast.act.isHidden():
                toast.act.click()
                return

    @property
    def shown(self) -> list[Toast]:
        """The messages in sight, the oldest first."""
        return [toast for toast in self.findChildren(Toast) if not toast.isHidden()]

    def _on_left(self) -> None:
        self.setVisible(bool(self.shown))
