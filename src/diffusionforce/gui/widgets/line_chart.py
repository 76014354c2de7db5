"""The loss chart: each step faint, the smoothed loss bold, the held-out loss dashed with dots, previews as cameras.

Three line styles, not three colours, tell the lines apart. The axis runs to the end of the run, so that the length
that remains is visible. Hovering, or the arrow keys, read out a step.
"""

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.chart_scale import decimals, nice_range, thinned
from diffusionforce.gui.widgets.focus import shows_ring

RANGE_SAMPLE = 2000


@dataclass(kw_only=True)
class ChartData:
    """What the chart shows.

    Attributes:
        steps: Steps, ascending.
        raw: Loss of each step.
        smoothed: Smoothed loss of each step.
        held_out: Pairs of step and held-out loss.
        marks: Steps at which previews were made.
        last_step: Right end of the axis.
    """

    steps: Sequence[int] = ()
    raw: Sequence[float] = ()
    smoothed: Sequence[float] = ()
    held_out: Sequence[tuple[int, float]] = ()
    marks: Sequence[int] = ()
    last_step: int = 1


@dataclass(kw_only=True)
class _Frame:
    """The plot area and the ranges it shows."""

    area: QRectF
    last_step: int
    low: float
    high: float
    tick: float
    ticks: list[float] = field(default_factory=list)

    def x(self, step: float) -> float:
        return self.area.left() + step / self.last_step * self.area.width()

    def y(self, value: float) -> float:
        return self.area.top() + (self.high - value) / (self.high - self.low) * self.area.height()


class LineChart(QWidget):
    """The loss over the steps of a run."""

    MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 46, 8, 8, 20

    def __init__(self) -> None:
        super().__init__()
        self._data = ChartData()
        self._cursor: int | None = None
        self.setMinimumHeight(150)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Loss over steps"))

    def show_data(self, data: ChartData) -> None:
        """Show other data."""
        self._data = data
        if data.steps:
            now, start = f"{data.smoothed[-1]:.4f}", f"{data.smoothed[0]:.4f}"
            self.setAccessibleDescription(tr(f"Smoothed loss {now} at step {data.steps[-1]}, {start} at the start."))
        self.update()

    def _frame(self) -> _Frame:
        area = QRectF(self.rect()).adjusted(self.MARGIN_LEFT, self.MARGIN_TOP, -self.MARGIN_RIGHT, -self.MARGIN_BOTTOM)
        held = [loss for _, loss in self._data.held_out]
        # A sample of the steps is enough to find the range, and keeps long runs cheap.
        every = max(1, len(self._data.raw) // RANGE_SAMPLE)
        values = sorted(v for v in [*self._data.raw[::every], *held] if v == v and abs(v) < 1e9)
        low, high = (0.0, 1.0) if not values else (values[0], values[max(0, int(len(values) * 0.998) - 1)])
        high = max([high, *held])
        if len(values) < 2:
            low = min(0.0, low)
        low, high, tick = nice_range(low, high, ticks=4 if area.height() > 140 else 3)
        count = round((high - low) / tick)
        ticks = [low + tick * i for i in range(count + 1)]
        last = max(1, self._data.last_step)
        return _Frame(area=area, last_step=last, low=low, high=high, tick=tick, ticks=ticks)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint axes, lines, marks and the read-out."""
        painter = paint.begin(self)
        frame = self._frame()
        self._paint_axes(painter, frame)
        painter.save()
        painter.setClipRect(frame.area.adjusted(-5, -2, 5, 5))
        self._paint_lines(painter, frame)
        painter.restore()
        if self._cursor is not None and self._data.steps:
            self._paint_readout(painter, frame)
        if shows_ring(self):
            paint.ring(painter, self.rect())
        painter.end()

    def _paint_axes(self, painter: QPainter, frame: _Frame) -> None:
        area, small = frame.area, theme.font(11)
        places = decimals(frame.tick)
        for value in frame.ticks:
            y = frame.y(value)
            painter.setPen(QPen(theme.colour("line"), 1))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            box = QRectF(0, y - 8, area.left() - 8, 16)
            paint.text(painter, box, f"{value:.{places}f}", font=small, colour="text3", align=paint.RIGHT)
        _, _, step = nice_range(0, frame.last_step, ticks=4)
        position = 0.0
        while position <= frame.last_step:
            x = frame.x(position)
            near_end = frame.area.right() - x < 24
            box = QRectF(x if position == 0 else x - 40 - (40 if near_end else 0), self.height() - 17, 80, 16)
            align = paint.LEFT if position == 0 else paint.RIGHT if near_end else paint.CENTRE
            words = f"{position:,.0f}" if position else tr("step 0")
            paint.text(painter, box, words, font=small, colour="text3", align=align)
            position += step

    def _paint_lines(self, painter: QPainter, frame: _Frame) -> None:
        data, limit = self._data, max(64, int(frame.area.width()))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(theme.mixed("text3", "card", 0.55), 1))
        painter.drawPath(_path(frame, thinned(data.steps, data.raw, limit=limit)))
        # As single lines: Qt's stroker takes a tenth of a second for one thick path that crosses itself.
        pen = QPen(theme.colour("focus"), 2.2)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.drawLines(_lines(frame, thinned(data.steps, data.smoothed, limit=limit)))
        if data.held_out:
            pen = QPen(theme.colour("warn"), 2)
            pen.setDashPattern([4, 3])
            painter.setPen(pen)
            painter.drawPath(_path(frame, [(float(s), v) for s, v in data.held_out]))
            painter.setBrush(theme.colour("card"))
            painter.setPen(QPen(theme.colour("warn"), 1.8))
            for step, loss in data.held_out:
                painter.drawEllipse(QPointF(frame.x(step), frame.y(loss)), 3, 3)
        for mark in data.marks:
            box = QRectF(frame.x(mark) - 6, frame.area.top() + 1, 12, 12)
            icons.paint(painter, "camera", box, theme.current().text3)
        if data.steps and data.smoothed[-1] == data.smoothed[-1]:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("focus"))
            painter.drawEllipse(QPointF(frame.x(data.steps[-1]), frame.y(data.smoothed[-1])), 4, 4)

    def _paint_readout(self, painter: QPainter, frame: _Frame) -> None:
        index = min(self._cursor or 0, len(self._data.steps) - 1)
        step, value = self._data.steps[index], self._data.smoothed[index]
        if value != value:
            return
        point = QPointF(frame.x(step), frame.y(value))
        painter.setPen(QPen(theme.colour("edge"), 1))
        painter.drawLine(QPointF(point.x(), frame.area.top()), QPointF(point.x(), frame.area.bottom()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("focus"))
        painter.drawEllipse(point, 4, 4)
        words, small = f"step {step:,}   {value:.4f}   this step {self._data.raw[index]:.4f}", theme.font(11)
        width = paint.text_width(words, small) + 16
        left = min(point.x() + 8, self.width() - width - 4)
        box = QRectF(left, max(2.0, point.y() - 34), width, 24)
        paint.box(painter, box, radius=5, fill="popup", line="edge")
        paint.text(painter, box, words, font=small, colour="text", align=paint.CENTRE, elide=None)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Read out the step under the mouse."""
        steps = self._data.steps
        if steps:
            frame = self._frame()
            share = (event.position().x() - frame.area.left()) / max(1.0, frame.area.width())
            self._cursor = min(len(steps) - 1, bisect.bisect_left(steps, share * frame.last_step))
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Stop reading out."""
        self._cursor = None
        self.update()
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Read out the step before or after with the arrow keys."""
        move = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if move is None or not self._data.steps:
            super().keyPressEvent(event)
            return
        last = len(self._data.steps) - 1
        start = last if self._cursor is None else self._cursor
        self._cursor = max(0, min(last, start + move))
        self.update()


def _lines(frame: _Frame, points: Sequence[tuple[float, float]]) -> list[QLineF]:
    places = [QPointF(frame.x(step), frame.y(value)) for step, value in points]
    return [QLineF(a, b) for a, b in itertools.pairwise(places)]


def _path(frame: _Frame, points: Sequence[tuple[float, float]]) -> QPainterPath:
    path = QPainterPath()
    for i, (step, value) in enumerate(points):
        point = QPointF(frame.x(step), frame.y(value))
        if i:
            path.lineTo(point)
        else:
            path.moveTo(point)
    return path
