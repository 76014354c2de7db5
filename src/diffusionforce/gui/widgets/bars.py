"""Bars: progress with ticks, memory of one device, and the small meter of the rig strip."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import tr


class ProgressBar(QWidget):
    """How far something is; ticks mark what happens on the way."""

    def __init__(self, *, height: int = 10, name: str = "") -> None:
        super().__init__()
        self._share, self._ticks, self._name = 0.0, (), tr(name) or tr("Progress")
        self._tone = "focus"
        self.setFixedHeight(height)
        self.setMinimumWidth(60)
        self.setAccessibleName(self._name)

    def show_share(self, share: float, *, ticks: Sequence[float] = (), tone: str = "focus") -> None:
        """Show a share from 0 to 1, with ticks at other shares."""
        state = (min(1.0, max(0.0, share)), tuple(ticks), tone)
        if state != (self._share, self._ticks, self._tone):
            self._share, self._ticks, self._tone = state
            self.setAccessibleName(f"{self._name} {words.percent(self._share)}")
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint track, filled part and ticks."""
        painter = paint.begin(self)
        rect, radius = QRectF(self.rect()), self.height() / 2
        paint.box(painter, rect, radius=radius, fill="line")
        filled = rect.width() * self._share
        if self._share > 0:
            paint.box(painter, QRectF(0, 0, max(rect.height(), filled), rect.height()), radius=radius, fill=self._tone)
        for tick in self._ticks:
            x = rect.width() * tick
            painter.setPen(QPen(theme.colour("card" if x < filled else "text3"), 1.5))
            painter.drawLine(QPointF(x, 1.5), QPointF(x, rect.height() - 1.5))
        painter.end()


class MemoryBar(QWidget):
    """Memory in use of one device, with the highest use so far as a tick and other programs in grey."""

    def __init__(self, device_index: int, *, height: int = 16) -> None:
        super().__init__()
        self._index = device_index
        self._used, self._peak, self._other, self._total = 0.0, 0.0, 0.0, 1.0
        self.setFixedHeight(height)
        self.setMinimumWidth(80)

    def show_bytes(self, used: float, total: float, *, peak: float = 0.0, other: float = 0.0, name: str = "") -> None:
        """Show amounts in bytes; `other` is what other programs hold, `name` is that of the device."""
        self._used, self._peak, self._other, self._total = used, peak, other, max(total, 1.0)
        self.setAccessibleName(tr(f"Memory of {name}: {words.percent(used / self._total)} used"))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint track, use, other programs and the peak tick."""
        painter = paint.begin(self)
        rect = QRectF(self.rect())
        painter.save()
        painter.setClipPath(paint.rounded(rect, 5))
        painter.fillRect(rect, theme.colour("raised" if theme.current().is_dark else "line"))
        scale = rect.width() / self._total
        painter.fillRect(QRectF(0, 0, self._used * scale, rect.height()), theme.colour(theme.device_fill(self._index)))
        if self._other > 0:
            width = self._other * scale
            grey = theme.mixed("edge", "card", 0.35)
            painter.fillRect(QRectF(rect.width() - width, 0, width, rect.height()), grey)
        painter.restore()
        if self._peak > self._used:
            x = min(self._peak * scale, rect.width() - 1)
            painter.setPen(QPen(theme.colour("text"), 1.6))
            painter.drawLine(QPointF(x, 1), QPointF(x, rect.height() - 1))
        painter.end()


class MiniMeter(QWidget):
    """One device in the rig strip: name, a short bar, the readings."""

    BAR_PX = 60

    def __init__(self, name: str, device_index: int | None = None) -> None:
        super().__init__()
        self._name, self._index = name, device_index
        self._share, self._text = 0.0, ""
        self.setFixedHeight(24)
        self.show_reading(0.0, "")

    def show_reading(self, share: float, text: str, *, spoken: str = "") -> None:
        """Show a share from 0 to 1 with the readings in short; `spoken` is the same in whole words."""
        self._share, self._text = min(1.0, max(0.0, share)), text
        left = paint.text_width(self._name, theme.font(11, 600)) + 8 + self.BAR_PX + 8
        width = left + paint.text_width(text, theme.font(11)) + 2
        # Growing only, so that its neighbours do not dance with every digit.
        self.setFixedWidth(max(width, self.width()) if self.isVisible() else width)
        self.setAccessibleName(tr(spoken) or f"{self._name}: {text}")
        self.setToolTip(tr(spoken))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint name, bar and readings."""
        painter = paint.begin(self)
        ink = "text2" if self._index is None else theme.device_text(self._index)
        fill = "edge" if self._index is None else theme.device_fill(self._index)
        bold = theme.font(11, 600)
        paint.text(painter, QRectF(0, 0, 90, 24), self._name, font=bold, colour=ink, elide=None)
        left = paint.text_width(self._name, bold) + 8
        paint.box(painter, QRectF(left, 8, self.BAR_PX, 8), radius=4, fill="line")
        if self._share > 0:
            paint.box(painter, QRectF(left, 8, max(3.0, self.BAR_PX * self._share), 8), radius=4, fill=fill)
        left += self.BAR_PX + 8
        rect = QRectF(left, 0, self.width() - left, 24)
        paint.text(painter, rect, self._text, font=theme.font(11), colour="text2", elide=None)
        painter.end()
