"""The smoothed losses of several runs in one chart; each line has its letter at its end, and a style of its own."""

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.chart_table import SMOOTHED, TableColumn, over_steps
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.step_chart import Frame, StepChart

LINE_COLOURS = ("focus", "warn", "ok", "info")
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 3), (2, 2.5), (7, 2.5, 1.5, 2.5))


@dataclass(frozen=True, kw_only=True)
class OverlayLine:
    """One line: its letter, the name of its run, and its points. Values that are no numbers are left out."""

    letter: str
    name: str = ""
    steps: Sequence[int]
    values: Sequence[float]


class OverlayChart(StepChart):
    """Paints the lines over a common axis."""

    MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 26, 10, 22

    def __init__(self) -> None:
        super().__init__(tr("Losses of the runs"))
        self._lines: tuple[OverlayLine, ...] = ()
        self.setMinimumHeight(190)

    def show_lines(self, lines: Sequence[OverlayLine]) -> None:
        """Show other lines."""
        self._lines = tuple(lines)
        self.span.reset()
        ends = [f"{line.letter} {line.values[-1]:.4f} at step {line.steps[-1]}" for line in lines if line.steps]
        self.setAccessibleDescription("Smoothed loss at the end: " + ", ".join(ends))
        self.update()

    def newest_step(self) -> int:
        """Return the last step of the longest run."""
        return max((line.steps[-1] for line in self._lines if line.steps), default=0)

    def last_step(self) -> int:
        """Return the last step of the longest run."""
        return max(1, self.newest_step())

    def values(self, first: float, last: float) -> Iterable[float]:
        """Return the losses between two steps."""
        for line in self._lines:
            start, end = bisect.bisect_left(line.steps, first), bisect.bisect_right(line.steps, last)
            yield from line.values[start:end]

    def legend(self) -> Sequence[tuple[str, str]]:
        """Return letters and names of the runs."""
        return [
            (LINE_COLOURS[index % len(LINE_COLOURS)], f"{line.letter}  {line.name}".strip())
            for index, line in enumerate(self._lines)
        ]

    def table(self) -> str:
        """Return the losses of all runs by step."""
        return over_steps(
            [
                TableColumn(
                    name=" ".join((line.letter, SMOOTHED, line.name)).strip(),
                    values=dict(zip(line.steps, line.values, strict=True)),
                )
                for line in self._lines
            ]
        )

    def paint_lines(self, painter: QPainter, frame: Frame) -> None:
        """Paint the lines; their letters stand at their ends."""
        painter.setClipping(False)
        lines = [frame.points(line.steps, line.values) for line in self._lines]
        if not any(lines):
            words = tr("No losses yet")
            paint.text(painter, frame.area, words, font=theme.font(13), colour="text3", align=paint.CENTRE)
        for index, points in enumerate(lines):
            places = [QPointF(frame.x(step), frame.y(value)) for step, value in points]
            if places:
                painter.save()
                painter.setClipRect(frame.area.adjusted(0, -2, 0, 2))
                self._paint_line(painter, places, index)
                painter.restore()
                inside = [place for place in places if place.x() <= frame.area.right() + 1]
                self._paint_letter(painter, (inside or places)[-1], index)

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

    def _paint_letter(self, painter: QPainter, end: QPointF, index: int) -> None:
        box = QRectF(end.x() + 4, end.y() - 8 + 11 * (index % 2) - 5, 18, 16)
        ink = LINE_COLOURS[index % len(LINE_COLOURS)]
        paint.text(painter, box, self._lines[index].letter, font=theme.font(12, 700), colour=ink)
