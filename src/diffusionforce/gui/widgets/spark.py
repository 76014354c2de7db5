"""A small history without axes: the last minute of one reading."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme


class Spark(QWidget):
    """A filled line of values from 0 to `top`."""

    def __init__(self, device_index: int, *, top: float = 1.0, height: int = 30) -> None:
        super().__init__()
        self._index, self._top = device_index, top
        self._values: Sequence[float] = ()
        self.setFixedHeight(height)
        self.setMinimumWidth(24)

    def show_values(self, values: Sequence[float]) -> None:
        """Show values, oldest first."""
        self._values = tuple(values)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the line and the area under it."""
        if len(self._values) < 2:
            return
        painter = paint.begin(self)
        width, height = self.width(), self.height() - 2
        step = width / (len(self._values) - 1)
        points = [QPointF(i * step, 1 + height * (1 - min(v / self._top, 1.0))) for i, v in enumerate(self._values)]
        line = QPainterPath(points[0])
        for point in points[1:]:
            line.lineTo(point)
        area = QPainterPath(line)
        area.lineTo(width, height + 2)
        area.lineTo(0, height + 2)
        area.closeSubpath()
        fill = theme.device_fill(self._index)
        painter.fillPath(area, theme.colour(fill, 0.16))
        painter.setPen(QPen(theme.colour(fill), 1.6))
        painter.drawPath(line)
        painter.end()
