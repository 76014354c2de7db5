"""The sidebar's parts: logo and items. Below 1200 px of window width the items show their icon alone."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.language import key_names
from diffusionforce.gui.widgets.focus import shows_ring


class Logo(QWidget):
    """Two beams that meet, and the name."""

    def __init__(self) -> None:
        super().__init__()
        self.rail = False
        self.setFixedHeight(32)
        self.setMinimumWidth(32)
        self.setAccessibleName("DiffusionForce")

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the beams, and the name where there is room."""
        painter = paint.begin(self)
        x = (self.width() - 26) / 2 if self.rail else 2.0
        for index, top in ((0, 6.0), (1, 17.0)):
            beam = QPainterPath(QPointF(x, top))
            beam.cubicTo(x + 11, top, x + 11, 15.5, x + 25, 15.5)
            beam.lineTo(x + 25, 16.5)
            beam.cubicTo(x + 13, 16.5, x + 11, top + 9, x, top + 9)
            beam.closeSubpath()
            painter.fillPath(beam, theme.colour(theme.device_fill(index)))
        if not self.rail:
            box = QRectF(38, 0, self.width() - 38, 32)
            paint.text(painter, box, "DiffusionForce", font=theme.font(15, 700), colour="text", elide=None)
        painter.end()


class NavItem(QAbstractButton):
    """One place of the window: icon, word, and a badge that says what goes on there."""

    def __init__(self, icon: str, text: str, shortcut: str) -> None:
        super().__init__()
        self._icon, self._shortcut, self._badge, self._badge_tone = icon, shortcut, "", "ok"
        self._rail = False
        self.setText(text)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover, True)
        self.setFixedHeight(36)
        self._name()

    def set_rail(self, rail: bool) -> None:
        """Show the icon alone, or icon and word."""
        self._rail = rail
        self.update()

    def set_word(self, word: str) -> None:
        """Call the place by another word."""
        self.setText(word)
        self._name()
        self.update()

    def set_badge(self, badge: str, *, tone: str = "ok") -> None:
        """Show a badge in a tone, or none for an empty text."""
        if (badge, tone) != (self._badge, self._badge_tone):
            self._badge, self._badge_tone = badge, tone
            self._name()
            self.update()

    @property
    def badge(self) -> str:
        """What the badge says."""
        return self._badge

    def _name(self) -> None:
        badge = f", {self._badge}" if self._badge else ""
        self.setAccessibleName(self.text() + badge)
        self.setToolTip(f"{self.text()}{badge}  ({key_names(self._shortcut)})")

    def sizeHint(self) -> QSize:
        """Return the size of the item in the sidebar."""
        return QSize(40 if self._rail else 172, 36)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint surface, mark, icon, word and badge."""
        painter, chosen = paint.begin(self), self.isChecked()
        rect = QRectF(self.rect()).adjusted(0, 1, 0, -1)
        if chosen or self.underMouse():
            fill = "raised" if theme.current().is_dark else "card" if chosen else "hover"
            paint.box(painter, rect, radius=6, fill=fill)
        if chosen:
            paint.box(painter, QRectF(0, 9, 3, 18), radius=1.5, fill="focus")
        x = (self.width() - 18) / 2 if self._rail else 12.0
        ink = "text" if chosen else "text2"
        icons.paint(painter, self._icon, QRectF(x, 9, 18, 18), theme.colour(ink).name())
        if not self._rail:
            box = QRectF(40, 0, self.width() - 40, 36)
            paint.text(painter, box, self.text(), font=theme.font(13, 600 if chosen else 500), colour=ink)
        if self._badge:
            self._paint_badge(painter, x)
        if shows_ring(self):
            paint.ring(painter, rect)
        painter.end()

    def _paint_badge(self, painter: QPainter, icon_x: float) -> None:
        if self._rail:
            painter.setPen(QPen(theme.colour("side"), 2))
            painter.setBrush(theme.colour(self._badge_tone))
            painter.drawEllipse(QPointF(icon_x + 18, 10), 5, 5)
            return
        small = theme.font(11, 600)
        width = max(20, paint.text_width(self._badge, small) + 12)
        box = QRectF(self.width() - width - 8, 9, width, 18)
        paint.box(painter, box, radius=9, fill=f"{self._badge_tone}_bg")
        paint.text(painter, box, self._badge, font=small, colour=self._badge_tone, align=paint.CENTRE, elide=None)
