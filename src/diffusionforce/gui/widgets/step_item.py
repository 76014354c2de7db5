"""A step of a way in several: a number or a tick, its title, a note, and the line to the next one."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.widgets.focus import shows_ring

HEIGHT_PX, DOT_PX = 60, 26


class StepItem(QAbstractButton):
    """One step; checked is the one that is shown."""

    def __init__(self, number: int, title: str, note: str, *, is_last: bool) -> None:
        super().__init__()
        self._number, self._note, self._is_last = number, note, is_last
        self._is_done = False
        self.setText(title)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setFixedHeight(HEIGHT_PX)
        self._name()

    def sizeHint(self) -> QSize:
        """Return room for usual titles."""
        return QSize(220, HEIGHT_PX)

    def set_done(self, done: bool) -> None:
        """Show a tick instead of the number."""
        self._is_done = done
        self._name()
        self.update()

    def set_note(self, note: str) -> None:
        """Change the note."""
        self._note = note
        self._name()
        self.update()

    def _name(self) -> None:
        done = ", done" if self._is_done else ""
        self.setAccessibleName(f"Step {self._number}: {self.text()}. {self._note}{done}")

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint dot, line, title and note."""
        painter, now = paint.begin(self), self.isChecked()
        dot = QRectF(2, 4, DOT_PX, DOT_PX)
        if not self._is_last:
            painter.setPen(QPen(theme.colour("line"), 2))
            x = dot.center().x()
            painter.drawLine(QPointF(x, dot.bottom() + 5), QPointF(x, self.height() + 1))
        if now:
            paint.box(painter, dot, radius=DOT_PX / 2, fill="accent")
        elif self._is_done:
            paint.box(painter, dot, radius=DOT_PX / 2, fill="ok_bg", line="ok", line_px=1.4)
        else:
            paint.box(painter, dot, radius=DOT_PX / 2, line="edge", line_px=1.4)
        if self._is_done and not now:
            icons.paint(painter, "check", dot.adjusted(6, 6, -6, -6), theme.colour("ok").name())
        else:
            ink = "on_accent" if now else "text2"
            paint.text(painter, dot, str(self._number), font=theme.font(12, 600), colour=ink, align=paint.CENTRE)
        left, width = DOT_PX + 14.0, self.width() - DOT_PX - 14.0
        ink = "text" if now or self._is_done else "text2"
        paint.text(painter, QRectF(left, 0, width, 20), self.text(), font=theme.font(13, 600), colour=ink)
        paint.text(painter, QRectF(left, 19, width, 18), self._note, font=theme.font(12), colour="text3")
        if shows_ring(self):
            paint.ring(painter, QRectF(self.rect()).adjusted(0, 0, 0, -14))
        painter.end()
