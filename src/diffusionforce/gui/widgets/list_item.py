"""A line of a list: picture or icon, name, a second line, a mark."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent, QPixmap
from PySide6.QtWidgets import QAbstractButton

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.widgets.focus import shows_ring


class ListItem(QAbstractButton):
    """A line that can be chosen."""

    def __init__(self, name: str, note: str, *, icon: str = "", mark: str = "", tone: str = "") -> None:
        """Make a line; `tone` colours its mark."""
        super().__init__()
        self._note, self._icon, self._mark, self._tone = note, icon, mark, tone or "text3"
        self._picture: QPixmap | None = None
        self.setText(name)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover, True)
        self.setFixedHeight(52)
        self.setMinimumWidth(120)
        self.setAccessibleName(f"{name}. {note}")
        self.setToolTip(f"{name}\n{note}")

    def sizeHint(self) -> QSize:
        """Return the usual size of a line."""
        return QSize(220, 52)

    def set_picture(self, picture: QPixmap) -> None:
        """Show a picture instead of the icon."""
        self._picture = picture
        self.update()

    def set_note(self, note: str) -> None:
        """Change the second line."""
        self._note = note
        self.setAccessibleName(f"{self.text()}. {note}")
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint surface, picture, both lines and the mark."""
        painter, chosen = paint.begin(self), self.isChecked()
        rect = QRectF(self.rect()).adjusted(0, 1, 0, -1)
        if chosen or self.underMouse():
            paint.box(painter, rect, radius=6, fill="accent_bg" if chosen else "hover")
        left = 10.0
        frame = QRectF(8, 8, 36, 36)
        if self._picture is not None:
            paint.cover(painter, frame, self._picture, radius=5)
            left = 54.0
        elif self._icon:
            paint.box(painter, frame, radius=5, fill="raised")
            icons.paint(painter, self._icon, frame.adjusted(9, 9, -9, -9), theme.current().text2)
            left = 54.0
        width = self.width() - left - (26 if self._mark else 8)
        weight = 600 if chosen else 500
        paint.text(painter, QRectF(left, 7, width, 20), self.text(), font=theme.font(13, weight), colour="text")
        ink = "text2" if chosen else "text3"
        paint.text(painter, QRectF(left, 27, width, 16), self._note, font=theme.font(11), colour=ink)
        if self._mark:
            icons.paint(painter, self._mark, QRectF(self.width() - 24, 18, 16, 16), theme.colour(self._tone).name())
        if shows_ring(self):
            paint.ring(painter, rect)
        painter.end()
