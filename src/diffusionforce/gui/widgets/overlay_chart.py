"""The smoothed losses of several runs in one chart; each line has its letter at its end, and a style of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.chart_scale import decimals, nice_range, thinned

LINE_COLOURS = ("focus", "warn", "ok", "info")
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 3), (2, 2.5), (7, 2.5, 1.5, 2.5))
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 26, 10, 22


@dataclass(frozen=True, kw_only=True)
class OverlayLine:
    """One line: its letter, and its points. Values that are no numbers are left out."""

    letter: str
    steps: Sequence[int]
    values: Sequence[float]


class OverlayChart(QWidget):
    """Paints the lines over a common axis."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: tuple[OverlayLine, ...] = ()
        self.setMinimumHeight(190)
        self.setAccessibleName(tr("Losses of the runs"))

    def show_lines(self, lines: Sequence[OverlayLine]) -> None:
        """Show other lines."""
        self._lines = tuple(lines)
        ends = [f"{line.letter} {line.values[-1]:.4f} at step {line.steps[-1]}" for line in lines if line.steps]
        self.setAccessibleDescription("Smoothed loss at the end: " + ", ".join(ends))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint axes, lines and letters."""
        painter = paint.begin(self)
        area = QRectF(self.rect()).adjusted(_LEFT, _TOP, -_RIGHT, -_BOTTOM)
        points = [thinned(line.steps, line.values, limit=max(64, int(area.width()))) for line in self._lines]
        values = [value for line in points for _, value in line]
        if not values:
            paint.text(painter, area, "No losses yet", font=theme.font(13), colour="text3", align=paint.CENTRE)
            painter.end()
            return
        low, high, tick = nice_range(min(values), max(values), ticks=4)
        last = max(step for line in points for step, _ in line) or 1
        self._paint_axes(painter, area, low=low, high=high, tick=tick, last=last)
        for index, line in enumerate(points):
            if line:
                places = [
                    QPointF(
                        area.left() + step / last * area.width(),
                        area.top() + (high - value) / (high - low) * area.height(),
                    )
                    for step, value in line
                ]
                self._paint_line(painter, places, index)
        painter.end()

    def _paint_axes(
        self, painter: QPainter, area: QRectF, *, low: float, high: float, tick: float, last: float
    ) -> None:
        small, places = theme.font(11), decimals(tick)
        for index in range(round((high - low) / tick) + 1):
            value = low + tick * index
            y = area.top() + (high - value) / (high - low) * area.height()
            painter.setPen(QPen(theme.colour("line"), 1))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            box = QRectF(0, y - 8, area.left() - 8, 16)
            paint.text(painter, box, f"{value:.{places}f}", font=small, colour="text3", align=paint.RIGHT)
        _, _, step = nice_range(0, last, ticks=4)
        at = 0.0
        while at <= last:
            x = area.left() + at / last * area.width()
            box = QRectF(x if at == 0 else x - 60 if area.right() - x < 30 else x - 30, self.height() - 17, 60, 16)
            align = paint.LEFT if at == 0 else paint.RIGHT if area.right() - x < 30 else paint.CENTRE
            words = f"{at:,.0f}" if at else tr("step 0")
            paint.text(painter, box, words, font=small, colour="text3", align=align)
            at += step

    def _paint_line(self, painter: QPainter, places: list[QPointF], index: int) -> None:
        pen = QPen(theme.colour(LINE_COLOURS[index % len(LINE_COLOURS)]), 2)
        dashes = _DASHES[index % len(_DASHES)]
        if dashes:
            pen.setDashPattern(list(dashes))
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        path = QPainterPath(places[0])
        for place in places[1:]:
            path.lineTo(place)
        painter.drawPath(path)
        end = places[-1]
        box = QRectF(end.x() + 4, end.y() - 8 + 11 * (index % 2) - 5, 18, 16)
        ink = LINE_COLOURS[index % len(LINE_COLOURS)]
        paint.text(painter, box, self._lines[index].letter, font=theme.font(12, 700), colour=ink)
