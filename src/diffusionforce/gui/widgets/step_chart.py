"""A chart over the steps of a run: axes, a scale, and the part of the steps that is in sight; others draw the lines.

The part is chosen by dragging over it, with the wheel while Ctrl is down, or with + and −; 0 or a double click shows
all steps again. The page scrolls with the wheel alone.
"""

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.step_span import FACTOR, StepSpan
from diffusionforce.gui.widgets.chart_picture import chart_picture
from diffusionforce.gui.widgets.chart_scale import ValueAxis, nice_range, thinned, value_axis
from diffusionforce.gui.widgets.focus import shows_ring

DRAG_PX = 8
"""A mouse that moves less while its button is down has chosen nothing."""
MOVE_SHARE = 0.25
LEAST_POINTS = 64

Points = list[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The plot area, and the steps and values that it shows."""

    area: QRectF
    first: float
    last: float
    axis: ValueAxis

    def x(self, step: float) -> float:
        """Return where a step is."""
        return self.area.left() + (step - self.first) / (self.last - self.first) * self.area.width()

    def y(self, value: float) -> float:
        """Return where a value is that the axis shows."""
        return self.area.bottom() - self.axis.share(value) * self.area.height()

    def step_at(self, x: float) -> float:
        """Return the step at a place."""
        return self.first + (x - self.area.left()) / max(1.0, self.area.width()) * (self.last - self.first)

    def points(self, steps: Sequence[float], values: Sequence[float]) -> Points:
        """Return what of a line is in sight, with a neighbour at each side, in as many points as can be told apart."""
        start = max(0, bisect.bisect_left(steps, self.first) - 1)
        end = bisect.bisect_right(steps, self.last) + 1
        limit = max(LEAST_POINTS, int(self.area.width()))
        points = thinned(steps[start:end], values[start:end], limit=limit)
        return [point for point in points if self.axis.shows(point[1])]


class StepChart(QWidget):
    """What the charts over steps have in common."""

    looked = Signal()
    """Another scale, or other steps, are looked at."""

    MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 46, 8, 8, 20

    def __init__(self, name: str) -> None:
        """Make a chart; `name` says what it shows, in the language of the window."""
        super().__init__()
        self.span = StepSpan()
        self.is_log = False
        self._band: tuple[float, float] | None = None
        self._is_pictured = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)

    def newest_step(self) -> int:
        """Return the newest step that there is something of."""
        return 0

    def last_step(self) -> int:
        """Return the last step of all."""
        return 1

    def values(self, first: float, last: float) -> Iterable[float]:
        """Return the values between two steps, or enough of them to find their range."""
        return ()

    def legend(self) -> Sequence[tuple[str, str]]:
        """Return colour and words of what a saved picture has to explain."""
        return ()

    def table(self) -> str:
        """Return the numbers as a table."""
        return ""

    def paint_lines(self, painter: QPainter, frame: Frame) -> None:
        """Paint what there is between the axes."""

    def paint_over(self, painter: QPainter, frame: Frame) -> None:
        """Paint what lies over everything."""

    def value_range(self, values: list[float]) -> tuple[float, float]:
        """Return the range to show of values that are numbers, ascending and not none."""
        return values[0], values[-1]

    def set_log(self, is_log: bool) -> None:
        """Choose the scale: equal distances are equal factors, or equal differences."""
        if is_log != self.is_log:
            self.is_log = is_log
            self._look()

    def follow(self) -> None:
        """Look at the last steps."""
        self.span.follow()
        self._look()

    def reset(self) -> None:
        """Look at all steps."""
        self.span.reset()
        self._look()

    def _look(self) -> None:
        self.looked.emit()
        self.update()

    def frame(self) -> Frame:
        """Return the plot area with what it shows now."""
        area = QRectF(self.rect()).adjusted(self.MARGIN_LEFT, self.MARGIN_TOP, -self.MARGIN_RIGHT, -self.MARGIN_BOTTOM)
        first, last = self.span.ends(newest=self.newest_step(), last=self.last_step())
        values = sorted(value for value in self.values(first, last) if value == value and abs(value) < 1e9)
        if self.is_log:
            values = values[bisect.bisect_right(values, 0.0) :] or values
        low, high = self.value_range(values) if values else (0.0, 1.0)
        axis = value_axis(low, high, num_ticks=4 if area.height() > 140 else 3, is_log=self.is_log)
        return Frame(area=area, first=first, last=max(last, first + 1.0), axis=axis)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint axes, lines, and what lies over them."""
        painter = paint.begin(self)
        frame = self.frame()
        self._paint_axes(painter, frame)
        painter.save()
        painter.setClipRect(frame.area.adjusted(-5, -2, 5, 5))
        self.paint_lines(painter, frame)
        painter.restore()
        self._paint_missing(painter, frame)
        if not self._is_pictured:
            self._paint_band(painter, frame)
            self.paint_over(painter, frame)
            if shows_ring(self):
                paint.ring(painter, self.rect())
        painter.end()

    def _paint_axes(self, painter: QPainter, frame: Frame) -> None:
        area, small = frame.area, theme.font(11)
        for value in frame.axis.ticks:
            y = frame.y(value)
            painter.setPen(QPen(theme.colour("line"), 1))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            box = QRectF(0, y - 8, area.left() - 8, 16)
            paint.text(painter, box, frame.axis.words(value), font=small, colour="text3", align=paint.RIGHT)
        low, _, tick = nice_range(frame.first, frame.last, ticks=4)
        step = low if low >= frame.first else low + tick
        while step <= frame.last:
            x = frame.x(step)
            is_first, near_end = x - area.left() < 20, area.right() - x < 24
            box = QRectF(x if is_first else x - 40 - (40 if near_end else 0), self.height() - 17, 80, 16)
            align = paint.LEFT if is_first else paint.RIGHT if near_end else paint.CENTRE
            words = f"{step:,.0f}" if step else tr("step 0")
            paint.text(painter, box, words, font=small, colour="text3", align=align)
            step += tick

    def _paint_missing(self, painter: QPainter, frame: Frame) -> None:
        """Say what a logarithmic scale cannot show."""
        if not self.is_log or all(value > 0 for value in self.values(frame.first, frame.last) if value == value):
            return
        words = tr("Values of 0 and below have no place on this scale")
        if not frame.axis.is_log:
            words = tr("No value above 0, so the scale is a plain one")
        box = QRectF(frame.area.left() + 6, frame.area.bottom() - 18, frame.area.width() - 12, 16)
        paint.text(painter, box, words, font=theme.font(11), colour="warn", align=paint.RIGHT)

    def _paint_band(self, painter: QPainter, frame: Frame) -> None:
        if self._band is not None:
            left, right = sorted(self._band)
            colour = theme.colour("focus")
            colour.setAlphaF(0.16)
            painter.fillRect(QRectF(left, frame.area.top(), right - left, frame.area.height()), colour)

    def picture(self, title: str) -> QImage:
        """Return the chart as it is, under a title and what its lines are, for a file."""
        self._is_pictured = True
        image = chart_picture(self, title, legend=self.legend())
        self._is_pictured = False
        return image

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to choose steps."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._band = (event.position().x(), event.position().x())
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Choose as far as the mouse is."""
        if self._band is not None:
            area = self.frame().area
            self._band = (self._band[0], min(max(area.left(), event.position().x()), area.right()))
            self.update()
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Look at the steps that were chosen."""
        band, self._band = self._band, None
        if band is not None and abs(band[1] - band[0]) >= DRAG_PX:
            frame = self.frame()
            self.span.choose(frame.step_at(band[0]), frame.step_at(band[1]), last=self.last_step())
            self._look()
        self.update()
        super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Look at all steps again."""
        self.reset()
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Come nearer, or go back, while Ctrl is down."""
        if not event.modifiers() & Qt.KeyboardModifier.ControlModifier or not event.angleDelta().y():
            super().wheelEvent(event)
            return
        self._zoom(event.angleDelta().y() > 0, at=self.frame().step_at(event.position().x()))
        event.accept()

    def _zoom(self, nearer: bool, *, at: float) -> None:
        newest, last = self.newest_step(), self.last_step()
        self.span.zoom(FACTOR if nearer else 1 / FACTOR, at=at, newest=newest, last=last)
        self._look()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Come nearer with +, go back with −, show all with 0, move with Shift and the arrows."""
        key, frame = Qt.Key(event.key()), self.frame()
        moves = {Qt.Key.Key_Left: -MOVE_SHARE, Qt.Key.Key_Right: MOVE_SHARE}
        if key in {Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus}:
            self._zoom(key != Qt.Key.Key_Minus, at=(frame.first + frame.last) / 2)
        elif key == Qt.Key.Key_0:
            self.reset()
        elif key in moves and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.span.move(moves[key], newest=self.newest_step(), last=self.last_step())
            self._look()
        else:
            super().keyPressEvent(event)
