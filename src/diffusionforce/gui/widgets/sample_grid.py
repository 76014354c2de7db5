"""The gallery's table: a row for each prompt, a column for each step, headers that stay while it scrolls."""

from collections.abc import Callable, Container
from pathlib import Path

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QHideEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QShowEvent

from diffusionforce.gui import paint, theme
from diffusionforce.gui.clip_player import ClipPlayer
from diffusionforce.gui.clips import ClipStore, is_clip
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.focus import shows_ring
from diffusionforce.gui.widgets.painted_area import PaintedArea
from diffusionforce.gui.widgets.sample_cell import DRAWING, paint_badge, paint_sample
from diffusionforce.gui.widgets.sample_layout import HEADER_PX, Cell, TableLayout

EDGES_PX = (320, 640)
SECOND_MS = 1000


class SampleGrid(PaintedArea):
    """Shows a `SampleTable`. Arrow keys or the mouse choose a cell; Space, Return or a second click open it.

    Only what is in sight is painted, however large the table. A clip plays in its place while the mouse is over it, or
    while its cell is the chosen one.
    """

    chosen = Signal()
    opened = Signal()
    marked = Signal()
    compared = Signal()

    def __init__(self, store: PictureStore, clips: ClipStore) -> None:
        super().__init__()
        self._store = store
        self._player = ClipPlayer(clips, self)
        self._player.changed.connect(self.viewport().update)
        self._marks: Container[str] = ()
        self._shown_revision = -1
        self._table = SampleTable()
        self._root = Path()
        self.cell = Cell(0, 0)
        self._has_chosen = False
        self.told_of_drawing: Callable[[], str] = str
        """Returns how far the preview is that is being drawn."""
        self._second = QTimer(self, interval=SECOND_MS)
        self._second.timeout.connect(self.viewport().update)
        self.setAccessibleName(tr("Previews by prompt and step"))
        self.viewport().setMouseTracking(True)
        store.arrived.connect(self._on_arrived)

    def mark(self, marks: Container[str]) -> None:
        """Put stars at samples, given by their paths in the run folder."""
        self._marks = marks
        self.viewport().update()

    def show_table(self, table: SampleTable, root: Path) -> None:
        """Show another table, or the same one after it has grown."""
        is_other = root != self._root or table is not self._table
        self._keep_time(table.pending_step is not None)
        if not is_other and table.revision == self._shown_revision:
            return
        self._table, self._root, self._shown_revision = table, root, table.revision
        if is_other:
            self._has_chosen = False
        if not self._has_chosen and table.done_steps:
            self.cell = Cell(0, max(0, table.steps.index(table.done_steps[-1])))
        self.cell = self._clamped(self.cell)
        self._lay_out()
        self._describe()
        self.viewport().update()

    def _keep_time(self, is_drawing: bool) -> None:
        """Show how the time goes by as long as something is drawn and somebody looks."""
        if is_drawing and self.isVisible():
            if not self._second.isActive():
                self._second.start()
        else:
            self._second.stop()

    def showEvent(self, event: QShowEvent) -> None:
        """Show again how the time goes by."""
        super().showEvent(event)
        self._keep_time(self._table.pending_step is not None)

    def hideEvent(self, event: QHideEvent) -> None:
        """Repaint nothing that nobody sees."""
        self._keep_time(False)
        super().hideEvent(event)

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
        self._player.choose(self._path_of(self.cell))
        self.viewport().update()
        self.chosen.emit()

    def _clamped(self, cell: Cell) -> Cell:
        rows, columns = len(self._table.rows), len(self._table.steps)
        return Cell(max(0, min(rows - 1, cell.row)), max(0, min(columns - 1, cell.column)))

    def _describe(self) -> None:
        rows, step = self._table.rows, self.step
        if rows and step is not None:
            self.setAccessibleDescription(f"{rows[self.cell.row].prompt}, {step_words(step)}")

    @property
    def layout_now(self) -> TableLayout:
        """Where everything is now."""
        view = self.viewport().size()
        return TableLayout(
            num_rows=len(self._table.rows),
            num_columns=len(self._table.steps),
            width_px=view.width(),
            height_px=view.height(),
            across_px=self.horizontalScrollBar().value(),
            down_px=self.verticalScrollBar().value(),
        )

    @property
    def widest_px(self) -> int:
        """The width beyond which the table would leave room empty."""
        return self.layout_now.widest_px + self.width() - self.viewport().width()

    def _lay_out(self) -> None:
        if self.maximumWidth() != self.widest_px:
            # What it has no use for goes to its neighbour.
            self.setMaximumWidth(self.widest_px)
        now = self.layout_now
        for bar, most, page in (
            (self.horizontalScrollBar(), now.most_across_px, now.width_px),
            (self.verticalScrollBar(), now.most_down_px, now.height_px),
        ):
            at_end = bar.value() == bar.maximum() and bar.maximum() > 0
            bar.setRange(0, most)
            bar.setPageStep(page)
            bar.setSingleStep(24)
            if at_end and bar is self.horizontalScrollBar() and not self._has_chosen:
                # A run that grows is followed to its newest column, until somebody looks elsewhere.
                bar.setValue(most)

    def _box(self, cell: Cell) -> QRectF:
        return self.layout_now.box(cell)

    def _show_cell(self) -> None:
        now, view = self.layout_now, self.viewport().rect()
        box, names_px = now.box(self.cell), int(now.names_px)
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        if box.left() < names_px:
            across.setValue(int(across.value() + box.left() - names_px))
        elif box.right() > view.right():
            across.setValue(int(across.value() + box.right() - view.right()))
        if box.top() < HEADER_PX:
            down.setValue(int(down.value() + box.top() - HEADER_PX))
        elif box.bottom() > view.bottom():
            down.setValue(int(down.value() + box.bottom() - view.bottom()))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the cells in sight, then the headers over what was scrolled under them."""
        painter, now = paint.begin(self.viewport()), self.layout_now
        painter.save()
        painter.setClipRect(QRectF(now.names_px, HEADER_PX, now.width_px - now.names_px, now.height_px - HEADER_PX))
        for row in now.rows_in_sight:
            for column in now.columns_in_sight:
                self._paint_cell(painter, now, Cell(row, column))
        painter.restore()
        self._paint_names(painter, now)
        self._paint_header(painter, now)
        painter.end()

    def picture_edge_px(self, now: TableLayout) -> int:
        """Return the size in which pictures are asked for: that of the cells, in one of two steps."""
        return EDGES_PX[0] if now.edge_px * self.devicePixelRatioF() <= EDGES_PX[0] else EDGES_PX[1]

    def _paint_cell(self, painter: QPainter, now: TableLayout, cell: Cell) -> None:
        step, box, edge = self._table.steps[cell.column], now.box(cell), self.picture_edge_px(now)
        path = self._table.path(self._root, cell.row, step)
        moving = self._player.frame(path) if path is not None else None
        picture = moving or (self._store.get(path, edge_px=edge) if path is not None else None)
        chosen = cell == self.cell and (self._has_chosen or shows_ring(self))
        words = "" if picture is not None else self._waiting_words(cell.row, step, path, edge)
        detail = self.told_of_drawing() if words == DRAWING else ""
        paint_sample(painter, box, picture, words=words, detail=detail, chosen=chosen)
        if path is not None and picture is not None:
            if moving is None and is_clip(path):
                paint_badge(painter, box, "film", corner="left")
            if self._table.rows[cell.row].paths[step] in self._marks:
                paint_badge(painter, box, "star", corner="right")

    def _waiting_words(self, row: int, step: int, path: Path | None, edge_px: int) -> str:
        if path is not None:
            return "file is gone" if self._store.is_broken(path, edge_px=edge_px) else ""
        if step != self._table.pending_step:
            return noted("waiting") if step > self._table.last_drawn_step else noted("not drawn")
        first_missing = next((i for i, r in enumerate(self._table.rows) if step not in r.paths), -1)
        return DRAWING if row == first_missing else "waiting"

    def _paint_names(self, painter: QPainter, now: TableLayout) -> None:
        painter.save()
        names_px = now.names_px
        painter.setClipRect(QRectF(0, HEADER_PX, names_px, now.height_px - HEADER_PX))
        wrap = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap)
        for i in now.rows_in_sight:
            row, box = self._table.rows[i], now.box(Cell(i, 0))
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
                painter.drawText(note, wrap, tr("without the trigger word: should not change"))
        painter.restore()

    def _paint_header(self, painter: QPainter, now: TableLayout) -> None:
        painter.save()
        painter.setClipRect(QRectF(now.names_px, 0, now.width_px - now.names_px, HEADER_PX))
        steps, done = self._table.steps, self._table.done_steps
        for column in now.columns_in_sight:
            step, box = steps[column], now.box(Cell(0, column))
            area = QRectF(box.left(), 0, box.width(), HEADER_PX - 6)
            words, bold = tr(step_words(step)), theme.font(13, 600)
            if not step and paint.text_width(words, bold) > area.width():
                words = tr("Before")
            paint.text(painter, area, words, font=bold, colour="text")
            left = area.left() + paint.text_width(words, bold) + 8
            rest = QRectF(left, 0, area.right() - left, HEADER_PX - 6)
            if step == self._table.pending_step:
                number, total = self._table.progress(step)
                paint.text(painter, rest, tr(f"{number} of {total}"), font=theme.font(12), colour="text3")
            elif done and step == done[-1] and len(done) > 1:
                newest = tr("newest")
                tag = QRectF(left, 2, paint.text_width(newest, theme.font(11, 600)) + 14, 19)
                if tag.right() > area.right():
                    continue  # It would touch the name of the next column.
                paint.box(painter, tag, radius=4, fill="accent_bg")
                paint.text(painter, tag, newest, font=theme.font(11, 600), colour="text", align=paint.CENTRE)
        painter.restore()

    def _cell_at(self, event: QMouseEvent) -> Cell | None:
        return self.layout_now.cell_at(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Play the clip under the mouse."""
        cell = self._cell_at(event)
        self._player.play(self._path_of(cell) if cell is not None else None)

    def leaveEvent(self, event: QEvent) -> None:
        """Play the chosen clip again, if it was playing."""
        self._player.play(None)
        super().leaveEvent(event)

    def _path_of(self, cell: Cell) -> Path | None:
        steps = self._table.steps
        return self._table.path(self._root, cell.row, steps[cell.column]) if cell.column < len(steps) else None

    def words_at(self, point: QPointF) -> str:
        """Return the prompt that is written at a point."""
        now = self.layout_now
        if point.y() < HEADER_PX or point.x() >= now.names_px:
            return ""
        boxes = ((row, now.box(Cell(row, 0))) for row in now.rows_in_sight)
        return next((self._table.rows[i].prompt for i, box in boxes if box.top() <= point.y() <= box.bottom()), "")

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
        elif key in {Qt.Key.Key_F, Qt.Key.Key_C}:
            self.choose(self.cell)
            (self.marked if key == Qt.Key.Key_F else self.compared).emit()
        elif key in {Qt.Key.Key_Home, Qt.Key.Key_End}:
            self.choose(Cell(self.cell.row, 0 if key == Qt.Key.Key_Home else len(self._table.steps) - 1))
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
    return tr(f"Step {step:,}") if step else tr("Before training")


def _bottom(rect: QRectF | QRect) -> float:
    return float(rect.bottom())
