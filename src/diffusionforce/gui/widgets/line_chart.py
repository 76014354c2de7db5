"""The loss chart: each step faint, the smoothed loss bold, the held-out loss dashed with dots, previews as cameras.

Three line styles, not three colours, tell the lines apart. The axis runs to the end of the run, so that the length
that remains is visible. Hovering, or the arrow keys, read out a step.
"""

import bisect
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPen

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.chart_table import HELD_OUT, LOSS, SMOOTHED, TableColumn, over_steps
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.step_chart import Frame, StepChart

RANGE_SAMPLE = 2000
FEW_VALUES = 500
"""So many are shown to the highest, unless that is an outlier."""
OUTLIER = 4.0
"""A loss that is so many times higher than nearly all others would press these to the bottom of the chart."""


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


class LineChart(StepChart):
    """The loss over the steps of a run."""

    def __init__(self) -> None:
        super().__init__(tr("Loss over steps"))
        self._data = ChartData()
        self._cursor: int | None = None
        self.setMinimumHeight(150)

    def show_data(self, data: ChartData) -> None:
        """Show other data."""
        self._data = data
        if data.steps:
            now, start = f"{data.smoothed[-1]:.4f}", f"{data.smoothed[0]:.4f}"
            self.setAccessibleDescription(tr(f"Smoothed loss {now} at step {data.steps[-1]}, {start} at the start."))
        self.update()

    def newest_step(self) -> int:
        """Return the newest step with a loss."""
        return self._data.steps[-1] if self._data.steps else 0

    def last_step(self) -> int:
        """Return the last step of the run."""
        return max(1, self._data.last_step, self.newest_step())

    def values(self, first: float, last: float) -> Iterable[float]:
        """Return a sample of the losses between two steps, which keeps long runs cheap, and all held-out ones."""
        data = self._data
        start, end = bisect.bisect_left(data.steps, first), bisect.bisect_right(data.steps, last)
        every = max(1, (end - start) // RANGE_SAMPLE)
        return [*data.raw[start:end:every], *(loss for step, loss in data.held_out if first <= step <= last)]

    def value_range(self, values: list[float]) -> tuple[float, float]:
        """Return a range that single high losses may leave, of many; of few it holds all but those far off."""
        highest = values[max(0, int(len(values) * 0.998) - 1)]
        if len(values) <= FEW_VALUES and values[-1] <= OUTLIER * highest:
            highest = values[-1]
        held = [loss for _, loss in self._data.held_out if loss <= values[-1]]
        lowest = values[0] if len(values) > 1 or self.is_log else min(0.0, values[0])
        return lowest, max([highest, *held])

    def legend(self) -> Sequence[tuple[str, str]]:
        """Return the three lines."""
        return (("focus", tr("Smoothed")), ("text3", tr("Each step")), ("warn", tr("Held-out")))

    def table(self) -> str:
        """Return all losses by step."""
        data = self._data
        columns = (
            TableColumn(name=LOSS, values=dict(zip(data.steps, data.raw, strict=True))),
            TableColumn(name=SMOOTHED, values=dict(zip(data.steps, data.smoothed, strict=True))),
            TableColumn(name=HELD_OUT, values=dict(data.held_out)),
        )
        return over_steps(columns)

    def paint_lines(self, painter: QPainter, frame: Frame) -> None:
        """Paint the losses, and the cameras of the previews."""
        data = self._data
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(theme.mixed("text3", "card", 0.55), 1))
        painter.drawPath(_path(frame, frame.points(data.steps, data.raw)))
        # As single lines: Qt's stroker takes a tenth of a second for one thick path that crosses itself.
        pen = QPen(theme.colour("focus"), 2.2)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.drawLines(_lines(frame, frame.points(data.steps, data.smoothed)))
        if data.held_out:
            self._paint_held_out(painter, frame)
        for mark in data.marks:
            box = QRectF(frame.x(mark) - 6, frame.area.top() + 1, 12, 12)
            icons.paint(painter, "camera", box, theme.current().text3)
        if data.steps and frame.axis.shows(data.smoothed[-1]):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("focus"))
            painter.drawEllipse(QPointF(frame.x(data.steps[-1]), frame.y(data.smoothed[-1])), 4, 4)

    def _paint_held_out(self, painter: QPainter, frame: Frame) -> None:
        shown = [(float(step), loss) for step, loss in self._data.held_out if frame.axis.shows(loss)]
        pen = QPen(theme.colour("warn"), 2)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        painter.drawPath(_path(frame, shown))
        painter.setBrush(theme.colour("card"))
        painter.setPen(QPen(theme.colour("warn"), 1.8))
        for step, loss in shown:
            painter.drawEllipse(QPointF(frame.x(step), frame.y(loss)), 3, 3)

    def paint_over(self, painter: QPainter, frame: Frame) -> None:
        """Paint the read-out of a step."""
        if self._cursor is None or not self._data.steps:
            return
        index = min(self._cursor, len(self._data.steps) - 1)
        step, value = self._data.steps[index], self._data.smoothed[index]
        if not frame.axis.shows(value) or not frame.first <= step <= frame.last:
            return
        point = QPointF(frame.x(step), frame.y(value))
        painter.setPen(QPen(theme.colour("edge"), 1))
        painter.drawLine(QPointF(point.x(), frame.area.top()), QPointF(point.x(), frame.area.bottom()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("focus"))
        painter.drawEllipse(point, 4, 4)
        here = tr("this step {loss}").format(loss=f"{self._data.raw[index]:.4f}")
        words, small = f"{tr(f'step {step:,}')}   {value:.4f}   {here}", theme.font(11)
        width = paint.text_width(words, small) + 16
        left = min(point.x() + 8, self.width() - width - 4)
        box = QRectF(left, max(2.0, point.y() - 34), width, 24)
        paint.box(painter, box, radius=5, fill="popup", line="edge")
        paint.text(painter, box, words, font=small, colour="text", align=paint.CENTRE, elide=None)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Read out the step under the mouse."""
        steps = self._data.steps
        if steps:
            step = self.frame().step_at(event.position().x())
            self._cursor = min(len(steps) - 1, bisect.bisect_left(steps, step))
            self.update()
        super().mouseMoveEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Stop reading out."""
        self._cursor = None
        self.update()
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Read out the step before or after with the arrow keys."""
        move = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if move is None or not self._data.steps or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().keyPressEvent(event)
            return
        last = len(self._data.steps) - 1
        start = last if self._cursor is None else self._cursor
        self._cursor = max(0, min(last, start + move))
        self.update()


def _lines(frame: Frame, points: Sequence[tuple[float, float]]) -> list[QLineF]:
    places = [QPointF(frame.x(step), frame.y(value)) for step, value in points]
    return [QLineF(a, b) for a, b in itertools.pairwise(places)]


def _path(frame: Frame, points: Sequence[tuple[float, float]]) -> QPainterPath:
    path = QPainterPath()
    for i, (step, value) in enumerate(points):
        point = QPointF(frame.x(step), frame.y(value))
        if i:
            path.lineTo(point)
        else:
            path.moveTo(point)
    return path
