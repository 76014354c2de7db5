"""One step as lanes: forward pale, backward solid, waiting hatched. Answers whether the second device works."""

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.chart_table import WORK, WORK_HEAD, of_rows
from diffusionforce.gui.model.devices import DeviceView
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.tokens import ink_on
from diffusionforce.gui.widgets.chart_picture import chart_picture
from diffusionforce.wire import Span

LANE_PX, GAP_PX, AXIS_PX = 28, 8, 18


class Timeline(QWidget):
    """The work of the last step on each device."""

    def __init__(self) -> None:
        super().__init__()
        self._lanes: list[tuple[DeviceView, tuple[Span, ...]]] = []
        self._end_s = 1.0
        self.setAccessibleName(tr("Work of the last step on each device"))

    def show_lanes(self, lanes: list[tuple[DeviceView, tuple[Span, ...]]], *, step_s: float) -> None:
        """Show other lanes; the axis ends with the step."""
        self._lanes = lanes
        self._end_s = max([step_s, *(span.end_s for _, spans in lanes for span in spans)], default=1.0) or 1.0
        self.setFixedHeight(len(lanes) * (LANE_PX + GAP_PX) + AXIS_PX)
        busy = (f"{view.label} {words_of(view)}" for view, _ in lanes)
        self.setAccessibleDescription(", ".join(busy))
        self.update()

    def picture(self, title: str) -> QImage:
        """Return the lanes under a title, for a file."""
        return chart_picture(self, title, legend=())

    def table(self) -> str:
        """Return the pieces of work as a table, the devices one after the other."""
        rows = [
            (view.label, WORK[span.op], span.chunk, span.microbatch + 1, span.start_s, span.end_s)
            for view, spans in self._lanes
            for span in spans
        ]
        return of_rows(WORK_HEAD, rows)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint lanes and axis."""
        painter = paint.begin(self)
        name_px = max((paint.text_width(v.label, theme.font(12, 600)) for v, _ in self._lanes), default=40) + 12
        area = QRectF(name_px, 0, self.width() - name_px - 76, self.height() - AXIS_PX)
        for i, (view, spans) in enumerate(self._lanes):
            lane = QRectF(area.left(), i * (LANE_PX + GAP_PX), area.width(), LANE_PX)
            ink, bold = theme.device_text(view.index), theme.font(12, 600)
            paint.text(painter, QRectF(0, lane.top(), name_px, LANE_PX), view.label, font=bold, colour=ink)
            self._paint_lane(painter, lane, view, spans)
            box = QRectF(lane.right(), lane.top(), 76, LANE_PX)
            paint.text(painter, box, tr(words_of(view)), font=bold, colour="text", align=paint.RIGHT)
        for i in range(5):
            x = area.left() + area.width() * i / 4
            left = x if i == 0 else x - 60 if i == 4 else x - 30
            align = paint.LEFT if i == 0 else paint.RIGHT if i == 4 else paint.CENTRE
            box = QRectF(left, self.height() - AXIS_PX, 60, 16)
            moment = f"{self._end_s * i / 4:.2f} s"
            paint.text(painter, box, moment, font=theme.font(11), colour="text3", align=align)
        painter.end()

    def _paint_lane(self, painter: QPainter, lane: QRectF, view: DeviceView, spans: tuple[Span, ...]) -> None:
        paint.hatch(painter, lane, theme.mixed("edge", "card", 0.55), radius=4)
        fill = theme.device_fill(view.index)
        pale = theme.mixed(fill, "card", 0.5)
        for span in spans:
            left = lane.left() + span.start_s / self._end_s * lane.width()
            width = max(1.0, (span.end_s - span.start_s) / self._end_s * lane.width() - 1)
            colour = pale if span.op == "F" else QColor(fill)
            box = QRectF(left, lane.top(), width, lane.height())
            painter.fillPath(paint.rounded(box, min(3.0, width / 2)), colour)
            words = f"{tr('Fwd') if span.op == 'F' else tr('Bwd')} {span.microbatch + 1}"
            short = f"{span.op}{span.microbatch + 1}"
            small = theme.font(11, 600)
            shown = words if width > 52 else short if width > 22 else ""
            if shown:
                ink = QColor(ink_on(colour.name()))
                paint.text(painter, box, shown, font=small, colour=ink, align=paint.CENTRE, elide=None)


def words_of(view: DeviceView) -> str:
    """Return a device's busy share in words."""
    busy = view.reading.busy if view.reading else None
    return "" if busy is None else f"{busy:.0%} busy".replace("%", " %")
