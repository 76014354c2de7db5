"""The gallery's table: a row for each prompt, a column for each step, headers that stay while it scrolls."""

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.focus import shows_ring
from diffusionforce.gui.widgets.sample_cell import paint_sample

GAP_PX, HEADER_PX = 8, 28
MIN_NAMES_PX, MAX_NAMES_PX = 150, 320
MIN_CELL_PX, MAX_CELL_PX = 104, 320
EDGES_PX = (320, 640)


@dataclass(frozen=True)
class Cell:
    """A place in the table: row and position of the column, from 0."""

    row: int
    column: int


class SampleGrid(QAbstractScrollArea):
    """Shows a `SampleTable`. Arrow keys or the mouse choose a cell; Space, Return or a second click open it."""

    chosen = Signal()
    opened = Signal()

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self._store = store
        self._table = SampleTable()
        self._root = Path()
        self.cell = Cell(0, 0)
        self._has_chosen = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Samples by prompt and step")
        self.viewport().setAutoFillBackground(False)
        store.arrived.connect(lambda _path: self.viewport().update())

    def show_table(self, table: SampleTable, root: Path) -> None:
        """Show another table, or the same one after it has grown."""
        is_other = root != self._root or table is not self._table
        self._table, self._root = table, root
        if is_other:
            self._has_chosen = False
        if not self._has_chosen and table.done_steps:
            self.cell = Cell(0, max(0, table.steps.index(table.done_steps[-1])))
        self.cell = self._clamped(self.cell)
        self._lay_out()
        self._describe()
        self.viewport().update()

    @property
    def step(self) -> int | None:
        """Step of the chosen cell."""
        steps = self._table.steps
        return steps[self.cell.column] if self.cell.column < len(steps) else None

    def choose(self, cell: Cell) -> None:
        """Choose a cell and bring it into view."""
        self._has_chosen = True
        self.cell = self._clamped(cell)
        self._show_cell()
        self._describe()
        self.viewport().update()
        self.chosen.emit()

    def _clamped(self, cell: Cell) -> Cell:
        rows, columns = len(self._table.rows), len(self._table.steps)
        return Cell(max(0, min(rows - 1, cell.row)), max(0, min(columns - 1, cell.column)))

    def _describe(self) -> None:
        rows, step = self._table.rows, self.step
        if rows and step is not None:
            self.setAccessibleDescription(f"{rows[self.cell.row].prompt}, {step_words(step)}")

    def _edge(self) -> float:
        """Return the edge of a cell: as large as it can be while the whole table fits, within limits."""
        width = (self.viewport().width() - MIN_NAMES_PX) / max(1, len(self._table.steps)) - GAP_PX
        return max(float(MIN_CELL_PX), min(width, self._edge_by_height()))

    def _edge_by_height(self) -> float:
        """Return the edge of a cell with which all rows fit, within limits."""
        height = (self.viewport().height() - HEADER_PX + GAP_PX) / max(1, len(self._table.rows)) - GAP_PX
        return max(float(MIN_CELL_PX), min(float(MAX_CELL_PX), height))

    @property
    def widest_px(self) -> int:
        """The width beyond which the table would leave room empty: it depends on its height alone."""
        columns = max(1, len(self._table.steps))
        return int(MAX_NAMES_PX + columns * (self._edge_by_height() + GAP_PX)) + self.width() - self.viewport().width()

    def _names_px(self) -> float:
        """Return the width of the prompts: what the pictures leave, within limits."""
        left = self.viewport().width() - len(self._table.steps) * (self._edge() + GAP_PX)
        return max(float(MIN_NAMES_PX), min(float(MAX_NAMES_PX), left))

    def _lay_out(self) -> None:
        if self.maximumWidth() != self.widest_px:
            # What it has no use for goes to its neighbour.
            self.setMaximumWidth(self.widest_px)
        step = self._edge() + GAP_PX
        full_w = self._names_px() + len(self._table.steps) * step
        full_h = HEADER_PX + len(self._table.rows) * step
        view = self.viewport().size()
        for bar, full, page in (
            (self.horizontalScrollBar(), full_w, view.width()),
            (self.verticalScrollBar(), full_h, view.height()),
        ):
            bar.setRange(0, max(0, int(full - page - GAP_PX)))
            bar.setPageStep(page)
            bar.setSingleStep(24)

    def _box(self, cell: Cell) -> QRectF:
        edge = self._edge()
        left = self._names_px() + cell.column * (edge + GAP_PX) - self.horizontalScrollBar().value()
        top = HEADER_PX + cell.row * (edge + GAP_PX) - self.verticalScrollBar().value()
        return QRectF(left, top, edge, edge)

    def _show_cell(self) -> None:
        box, view, names_px = self._box(self.cell), self.viewport().rect(), int(self._names_px())
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        if box.left() < names_px:
            across.setValue(int(across.value() + box.left() - names_px))
        elif box.right() > view.right():
            across.setValue(int(across.value() + box.right() - view.right()))
        if box.top() < HEADER_PX:
            down.setValue(int(down.value() + box.top() - HEADER_PX))
        elif box.bottom() > view.bottom():
            down.setValue(int(down.value() + box.bottom() - view.bottom()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the new size between the cells."""
        super().resizeEvent(event)
        self._lay_out()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint cells, then the headers over what was scrolled under them."""
        painter = paint.begin(self.viewport())
        view = QRectF(self.viewport().rect())
        edge = EDGES_PX[0] if self._edge() * self.devicePixelRatioF() <= EDGES_PX[0] else EDGES_PX[1]
        painter.save()
        painter.setClipRect(view.adjusted(self._names_px(), HEADER_PX, 0, 0))
        for row in range(len(self._table.rows)):
            for column in range(len(self._table.steps)):
                box = self._box(Cell(row, column))
                if box.intersects(view):
                    self._paint_cell(painter, box, Cell(row, column), edge)
        painter.restore()
        self._paint_names(painter, view)
        self._paint_header(painter, view)
        painter.end()

    def _paint_cell(self, painter: QPainter, box: QRectF, cell: Cell, edge_px: int) -> None:
        step = self._table.steps[cell.column]
        path = self._table.path(self._root, cell.row, step)
        picture = self._store.get(path, edge_px=edge_px) if path is not None else None
        chosen = cell == self.cell and (self._has_chosen or shows_ring(self))
        paint_sample(painter, box, picture, words=self._waiting_words(cell.row, step, path), chosen=chosen)

    def _waiting_words(self, row: int, step: int, path: Path | None) -> str:
        if path is not None:
            return "" if path.is_file() else "file is gone"
        if step != self._table.pending_step:
            return "waiting" if step > max(self._table.drawn_steps, default=0) else "not drawn"
        first_missing = next((i for i, r in enumerate(self._table.rows) if step not in r.paths), -1)
        return "Drawing" if row == first_missing else "waiting"

    def _paint_names(self, painter: QPainter, view: QRectF) -> None:
        painter.save()
        names_px = self._names_px()
        painter.setClipRect(QRectF(0, HEADER_PX, names_px, view.height() - HEADER_PX))
        wrap = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap)
        for i, row in enumerate(self._table.rows):
            box = self._box(Cell(i, 0))
            leaks = self._table.lacks_trigger(row)
            area = QRectF(0, box.top(), names_px - 14, box.height() - (34 if leaks else 0))
            painter.setFont(theme.font(13, 600))
            painter.setPen(theme.colour("text"))
            lines = paint.lines(
                row.prompt,
                width_px=int(area.width()),
                max_lines=max(1, int(area.height() // 18)),
                font=theme.font(13, 600),
            )
            used = painter.drawText(area, wrap, lines)
            if leaks:
                note = QRectF(0, _bottom(used) + 4, names_px - 14, 32)
                painter.setFont(theme.font(11))
                painter.setPen(theme.colour("warn"))
                painter.drawText(note, wrap, "without the trigger word: shows leak")
        painter.restore()

    def _paint_header(self, painter: QPainter, view: QRectF) -> None:
        painter.save()
        names_px = self._names_px()
        painter.setClipRect(QRectF(names_px, 0, view.width() - names_px, HEADER_PX))
        steps, done = self._table.steps, self._table.done_steps
        for column, step in enumerate(steps):
            box = self._box(Cell(0, column))
            area = QRectF(box.left(), 0, box.width(), HEADER_PX - 6)
            words, bold = step_words(step), theme.font(13, 600)
            paint.text(painter, area, words, font=bold, colour="text")
            left = area.left() + paint.text_width(words, bold) + 8
            rest = QRectF(left, 0, area.right() - left, HEADER_PX - 6)
            if step == self._table.pending_step:
                number = sum(step in row.paths for row in self._table.rows)
                note = f"{number} of {len(self._table.rows)}"
                paint.text(painter, rest, note, font=theme.font(12), colour="text3")
            elif done and step == done[-1] and len(done) > 1 and rest.width() > 50:
                tag = QRectF(left, 2, paint.text_width("newest", theme.font(11, 600)) + 14, 19)
                paint.box(painter, tag, radius=4, fill="accent_bg")
                paint.text(painter, tag, "newest", font=theme.font(11, 600), colour="text", align=paint.CENTRE)
        painter.restore()

    def _cell_at(self, event: QMouseEvent) -> Cell | None:
        if event.position().x() < self._names_px() or event.position().y() < HEADER_PX:
            return None
        for row in range(len(self._table.rows)):
            for column in range(len(self._table.steps)):
                if self._box(Cell(row, column)).contains(event.position()):
                    return Cell(row, column)
        return None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the cell under the mouse; open the one that is chosen already."""
        cell = self._cell_at(event)
        if cell is None:
            return
        was_chosen = self._has_chosen and cell == self.cell
        self.choose(cell)
        if was_chosen:
            self.opened.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move with the arrow keys, open with Space or Return."""
        key = Qt.Key(event.key())
        moves = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
        }
        if key in moves:
            down, across = moves[key]
            self.choose(Cell(self.cell.row + down, self.cell.column + across))
        elif key in {Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.choose(self.cell)
            self.opened.emit()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Hide the ring."""
        super().focusOutEvent(event)
        self.viewport().update()


def step_words(step: int) -> str:
    """Return the name of a column."""
    return f"Step {step:,}" if step else "Before training"


def _bottom(rect: QRectF | QRect) -> float:
    return float(rect.bottom())
