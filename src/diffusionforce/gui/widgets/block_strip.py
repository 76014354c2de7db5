"""The blocks of the model in a row, each in the colour of its card; those that live in RAM are hatched."""

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.forecast_blocks import BlockCell
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.legend import Swatch

STRIP_PX = 18
DIMMED = 0.5


class BlockStrip(QWidget):
    """Draws the cells of the blocks, first to last."""

    def __init__(self) -> None:
        super().__init__()
        self._cells: tuple[BlockCell, ...] = ()
        self._is_dimmed = False
        self.setFixedHeight(STRIP_PX)
        self.setMinimumWidth(120)

    def show_cells(self, cells: tuple[BlockCell, ...], *, spoken: str, dimmed: bool = False) -> None:
        """Show where the blocks go; `spoken` is the same in a sentence."""
        self._cells, self._is_dimmed = cells, dimmed
        self.setAccessibleName(tr(spoken))
        self.setToolTip(tr(spoken))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the cells."""
        painter = paint.begin(self)
        painter.setOpacity(DIMMED if self._is_dimmed else 1.0)
        step = self.width() / max(1, len(self._cells))
        gap = 2.0 if step >= 10 else 1.0
        for i, cell in enumerate(self._cells):
            rect = QRectF(i * step, 0, max(1.0, step - gap), STRIP_PX)
            fill = QColor(theme.device_fill(cell.card_index))
            if cell.is_paged:
                paint.hatch(painter, rect, fill, radius=2)
            else:
                paint.box(painter, rect, radius=2, fill=fill)
        painter.end()


def card_swatch(card_index: int) -> Swatch:
    """Return what paints the swatch of a card."""
    return lambda painter, rect: painter.fillRect(rect, QColor(theme.device_fill(card_index)))


def paged_swatch(painter: QPainter, rect: QRectF) -> None:
    """Paint the swatch of blocks that live in RAM."""
    paint.hatch(painter, rect, theme.colour("text2"))
