"""A line of a list: picture or icon, name, a second line, a mark."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QAbstractButton

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.widgets.focus import shows_ring

HEAD_PX, NARROW_HEAD_PX = 36, 32
NARROW_PX = 190
"""Below this width names come before everything else."""


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

    @property
    def _marks_head(self) -> bool:
        """Whether the mark sits on the picture: a narrow list needs its width for names."""
        return self.width() < NARROW_PX and (self._picture is not None or bool(self._icon))

    def _paint_head(self, painter: QPainter) -> float:
        """Paint picture or icon, and return where the text begins."""
        if self._picture is None and not self._icon:
            return 10.0
        edge = NARROW_HEAD_PX if self.width() < NARROW_PX else HEAD_PX
        frame = QRectF(8, (52 - edge) / 2, edge, edge)
        if self._picture is not None:
            paint.cover(painter, frame, self._picture, radius=5)
        else:
            paint.box(painter, frame, radius=5, fill="raised")
            icons.paint(painter, self._icon, frame.adjusted(9, 9, -9, -9), theme.current().text2)
        if self._mark and self._marks_head:
            badge = QRectF(frame.right() - 12, frame.bottom() - 12, 18, 18)
            paint.box(painter, badge, radius=9, fill="side")
            self._paint_mark(painter, badge.adjusted(2, 2, -2, -2))
        return frame.right() + 10.0

    def _paint_mark(self, painter: QPainter, place: QRectF) -> None:
        icons.paint(painter, self._mark, place, theme.colour(self._tone).name())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint surface, picture, both lines and the mark."""
        painter, chosen = paint.begin(self), self.isChecked()
        rect = QRectF(self.rect()).adjusted(0, 1, 0, -1)
        if chosen or self.underMouse():
            paint.box(painter, rect, radius=6, fill="accent_bg" if chosen else "hover")
        left = self._paint_head(painter)
        is_aside = self._mark and not self._marks_head
        width = self.width() - left - (26 if is_aside else 8)
        weight = 600 if chosen else 500
        paint.text(painter, QRectF(left, 7, width, 20), self.text(), font=theme.font(13, weight), colour="text")
        ink = "text2" if chosen else "text3"
        paint.text(painter, QRectF(left, 27, width, 16), self._note, font=theme.font(11), colour=ink)
        if is_aside:
            self._paint_mark(painter, QRectF(self.width() - 24, 18, 16, 16))
        if shows_ring(self):
            paint.ring(painter, rect)
        painter.end()
