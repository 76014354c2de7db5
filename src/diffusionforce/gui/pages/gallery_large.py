"""One sample as large as the page: arrow keys move through steps and prompts, Esc goes back."""

from pathlib import Path

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.sample_grid import Cell, step_words

EDGE_PX, FOOT_PX = 1600, 52
_MOVES = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


class LargeView(QWidget):
    """Shows one cell of a table."""

    closed = Signal()
    moved = Signal()

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self._store = store
        self._table, self._root = SampleTable(), Path()
        self.cell = Cell(0, 0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Sample, large")
        store.arrived.connect(lambda _path: self.update())

    def show_table(self, table: SampleTable, root: Path) -> None:
        """Take another table, or the same one after it has grown."""
        self._table, self._root = table, root
        self.update()

    def choose(self, cell: Cell) -> None:
        """Show a cell."""
        self.cell = cell
        rows, steps = self._table.rows, self._table.steps
        if cell.row < len(rows) and cell.column < len(steps):
            self.setAccessibleDescription(f"{rows[cell.row].prompt}, {step_words(steps[cell.column])}")
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the picture, its step and prompt, and the keys."""
        rows, steps = self._table.rows, self._table.steps
        if self.cell.row >= len(rows) or self.cell.column >= len(steps):
            return
        painter, step, row = paint.begin(self), steps[self.cell.column], rows[self.cell.row]
        area = QRectF(self.rect()).adjusted(0, 0, 0, -FOOT_PX)
        path = self._table.path(self._root, self.cell.row, step)
        picture = self._store.get(path, edge_px=EDGE_PX) if path is not None else None
        if picture is not None:
            frame = paint.contained(area, picture.width(), picture.height())
            painter.setClipPath(paint.rounded(frame, 8))
            painter.drawPixmap(frame, picture, QRectF(picture.rect()))
            painter.setClipping(False)
        else:
            words = "Not drawn yet" if path is None else "Reading the picture"
            paint.text(painter, area, words, font=theme.font(13), colour="text3", align=paint.CENTRE)
        foot = QRectF(0, self.height() - FOOT_PX + 10, self.width(), 20)
        seed = f", seed {row.seed}" if row.seed is not None else ""
        title = f"{step_words(step)} · {row.prompt}{seed}"
        paint.text(painter, foot, title, font=theme.font(13, 600), colour="text", align=paint.CENTRE)
        keys = "← → steps · ↑ ↓ prompts · Esc back to the grid"
        paint.text(painter, foot.translated(0, 20), keys, font=theme.font(12), colour="text3", align=paint.CENTRE)
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move, or go back."""
        key = Qt.Key(event.key())
        if key in {Qt.Key.Key_Escape, Qt.Key.Key_Space, Qt.Key.Key_Return}:
            self.closed.emit()
        elif key in _MOVES:
            down, across = _MOVES[key]
            row = max(0, min(len(self._table.rows) - 1, self.cell.row + down))
            column = max(0, min(len(self._table.steps) - 1, self.cell.column + across))
            self.choose(Cell(row, column))
            self.moved.emit()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, _event: QMouseEvent) -> None:
        """Go back."""
        self.closed.emit()
