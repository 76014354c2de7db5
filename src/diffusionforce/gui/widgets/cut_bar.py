"""The blocks of a model as a bar that is cut between two cards; the cut is dragged, or moved with the keys."""

import itertools

from PySide6.QtCore import QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QAbstractSlider

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.forecast_cuts import CutView
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.focus import shows_ring

BAR_PX, RAIL_PX, MARK_PX, PAD_PX = 30, 3, 8, 4
"""Heights of the blocks, of the line under them that says where it fits, of the mark at the best cut, of the ring."""
HANDLE_PX, FAR_STEP = 10, 4
SETTLED_MS = 600
"""How long the keys rest until a cut counts as chosen."""


class CutBar(QAbstractSlider):
    """A slider whose value is the number of blocks of the first card.

    `valueChanged` tells of every move, `chosen` of where it came to rest.
    """

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._view: CutView | None = None
        self._is_dimmed = False
        self._before = 0
        self.setOrientation(Qt.Orientation.Horizontal)
        self.setFixedHeight(BAR_PX + RAIL_PX + MARK_PX + 3 * PAD_PX)
        self.setMinimumWidth(160)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.SizeHorCursor)
        self.setToolTip(tr("Drag, or press ← and →. Home goes to the fastest cut."))
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(SETTLED_MS)
        self._rest.timeout.connect(self._settle)

    def show_view(self, view: CutView, *, dimmed: bool) -> None:
        """Show where a model could be cut.

        Args:
            view: Everything about it.
            dimmed: Whether it is that of a former choice; then the cut stays where the user left it.
        """
        is_other = self._view is None or view.num_blocks != self._view.num_blocks
        self._view, self._is_dimmed = view, dimmed
        if is_other:
            self.blockSignals(True)
            self.setRange(1, view.num_blocks - 1)
            self.setPageStep(FAR_STEP)
            self.blockSignals(False)
        if is_other or not (dimmed or self.isSliderDown() or self._rest.isActive()):
            self.put(view.current)
            self._before = view.current
        self.update()

    def put(self, first: int) -> None:
        """Put the cut somewhere without telling anybody."""
        self.blockSignals(True)
        self.setValue(first)
        self.blockSignals(False)
        self.update()

    def _settle(self) -> None:
        self._rest.stop()
        if self.value() != self._before:
            self._before = self.value()
            self.chosen.emit(self.value())

    def _value_at(self, x: float) -> int:
        num_blocks = self.maximum() + 1
        return max(self.minimum(), min(self.maximum(), round(x * num_blocks / max(1, self.width()))))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold of the cut, wherever on the bar."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.setValue(self._value_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the cut."""
        if self.isSliderDown():
            self.setValue(self._value_at(event.position().x()))

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:
        """Leave the cut where it is."""
        if self.isSliderDown():
            self.setSliderDown(False)
            self._settle()

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:
        """Go to the fastest cut."""
        self.go_to_best()

    def go_to_best(self) -> None:
        """Put the cut where the planner would."""
        if self._view is not None:
            self.setValue(self._view.best)
            self._settle()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the cut: arrows by one block, Page Up and Down by four, Home to the fastest."""
        key = Qt.Key(event.key())
        moves = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_PageUp: -FAR_STEP,
            Qt.Key.Key_PageDown: FAR_STEP,
        }
        if key == Qt.Key.Key_Home:
            self.go_to_best()
        elif key in moves:
            self.setValue(self.value() + moves[key])
            self._rest.start()
        else:
            event.ignore()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint blocks, cut, and where it fits."""
        view = self._view
        if view is None:
            return
        painter = paint.begin(self)
        painter.setOpacity(0.5 if self._is_dimmed and not self.isSliderDown() else 1.0)
        cell = self.width() / view.num_blocks
        gap = 2.0 if cell >= 10 else 1.0
        for block in range(view.num_blocks):
            rect = QRectF(block * cell, PAD_PX, max(1.0, cell - gap), BAR_PX)
            card = view.cards[0] if block < self.value() else view.cards[1]
            paint.box(painter, rect, radius=2, fill=QColor(theme.device_fill(card)))
        self._paint_rail(painter, view, cell)
        painter.setOpacity(1.0)
        at = self.value() * cell - gap / 2
        handle = QRectF(at - HANDLE_PX / 2, 0, HANDLE_PX, BAR_PX + 2 * PAD_PX)
        paint.box(painter, handle, radius=4, fill=theme.colour("text"), line=theme.colour("card"))
        painter.setPen(QPen(theme.colour("card"), 1.4))
        for x in (at - 1.5, at + 1.5):
            painter.drawLine(QPointF(x, PAD_PX + BAR_PX / 2 - 5), QPointF(x, PAD_PX + BAR_PX / 2 + 5))
        if shows_ring(self):
            paint.ring(painter, self.rect())
        painter.end()

    def _paint_rail(self, painter: QPainter, view: CutView, cell: float) -> None:
        """Under the blocks: solid where a cut fits, dotted where it does not, and a mark at the best one."""
        y = BAR_PX + 2 * PAD_PX + RAIL_PX / 2 + 1
        for fits, group in itertools.groupby(view.cuts, key=lambda cut: cut.fits):
            places = [cut.num_blocks[0] * cell for cut in group]
            pen = QPen(theme.colour("ok" if fits else "err"), RAIL_PX if fits else 2)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            if not fits:
                pen.setDashPattern([1.0, 2.0])
            painter.setPen(pen)
            painter.drawLine(QPointF(places[0] - cell / 2, y), QPointF(places[-1] + cell / 2, y))
        best, top = view.best * cell, y + RAIL_PX
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("text2"))
        points = [QPointF(best, top), QPointF(best - 5, top + MARK_PX - 1), QPointF(best + 5, top + MARK_PX - 1)]
        painter.drawPolygon(QPolygonF(points))
