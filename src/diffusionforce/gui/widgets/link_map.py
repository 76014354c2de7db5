"""How the cards hang on the machine: a box for the machine, one for each card, lines as thick as their bandwidth."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.rig_words import LinkLine

ROW_PX, GAP_PX, BOX_PX, RADIUS_PX = 62, 16, 170, 10
THICKEST_PX, THINNEST_PX = 9.0, 1.6


class LinkMap(QWidget):
    """Paints the map."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[LinkLine] = ()
        self._machine = ("", "")
        self.setMinimumWidth(430)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("How the cards are connected"))

    def show_lines(self, machine: tuple[str, str], lines: Sequence[LinkLine]) -> None:
        """Show a rig: two lines about the machine, and its cards."""
        self._machine, self._lines = machine, lines
        self.setFixedHeight(max(1, len(lines)) * (ROW_PX + GAP_PX) - GAP_PX)
        spoken = [f"GPU {line.index} {line.name}: {line.above}, {line.below}" for line in lines]
        self.setAccessibleDescription(". ".join(spoken))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint boxes and lines."""
        painter = paint.begin(self)
        machine = QRectF(0.75, 0.75, BOX_PX, self.height() - 1.5)
        self._box(painter, machine, "edge", *self._machine)
        for row, line in enumerate(self._lines):
            self._paint_line(painter, row, line, left=machine.right())
        painter.end()

    def _paint_line(self, painter: QPainter, row: int, line: LinkLine, *, left: float) -> None:
        colour = theme.device_fill(line.index)
        top = row * (ROW_PX + GAP_PX)
        box = QRectF(self.width() - BOX_PX - 0.75, top + 0.75, BOX_PX, ROW_PX - 1.5)
        thick = max(THINNEST_PX, THICKEST_PX * line.share)
        middle = box.center().y()
        paint.box(painter, QRectF(left, middle - thick / 2, box.left() - left, thick), radius=0, fill=colour)
        above = QRectF(left + 6, middle - thick / 2 - 20, box.left() - left - 12, 17)
        below = QRectF(left + 6, middle + thick / 2 + 4, box.left() - left - 12, 16)
        paint.text(painter, above, line.above, font=theme.font(12, 600), colour="text", align=paint.CENTRE)
        ink = "warn" if line.warns else "text3"
        paint.text(painter, below, tr(line.below), font=theme.font(11), colour=ink, align=paint.CENTRE)
        self._box(painter, box, colour, line.name, line.place)

    def _box(self, painter: QPainter, box: QRectF, edge: str, title: str, note: str) -> None:
        paint.box(painter, box, radius=RADIUS_PX, fill="raised", line=edge, line_px=1.5)
        middle = box.center().y()
        upper = QRectF(box.left() + 8, middle - 19, box.width() - 16, 19)
        paint.text(painter, upper, tr(title), font=theme.font(13, 600), colour="text", align=paint.CENTRE)
        lower = QRectF(box.left() + 8, middle + 1, box.width() - 16, 17)
        paint.text(painter, lower, tr(note), font=theme.font(11), colour="text2", align=paint.CENTRE)
