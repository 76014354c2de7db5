"""One preview as large as the page, or the screen: keys move through steps and prompts, mark, and go back."""

from pathlib import Path

from PySide6.QtCore import QRectF, Qt, Signal, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent, QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.clip_player import ClipPlayer
from diffusionforce.gui.clips import ClipStore, is_clip
from diffusionforce.gui.model.favourites import Favourites
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.sample_cell import paint_badge
from diffusionforce.gui.widgets.sample_grid import step_words
from diffusionforce.gui.widgets.sample_layout import Cell

EDGE_PX, CLIP_EDGE_PX, FOOT_PX = 1600, 960, 52
_MOVES = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}
_BACK = {Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter}
KEYS = noted("← → steps · ↑ ↓ prompts · F favourite · F11 whole screen · Esc back")
CLIP_KEYS = noted("← → steps · ↑ ↓ prompts · Space play · , . frames · F favourite · F11 whole screen · Esc back")


class LargeView(QWidget):
    """Shows one cell of a table."""

    closed = Signal()
    moved = Signal()
    marked = Signal()
    screen_asked = Signal()

    def __init__(self, store: PictureStore, clips: ClipStore) -> None:
        super().__init__()
        self._store = store
        self._player = ClipPlayer(clips, self, edge_px=CLIP_EDGE_PX)
        self._player.changed.connect(self.update)
        self._table, self._root = SampleTable(), Path()
        self._favourites: Favourites | None = None
        self.cell = Cell(0, 0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Preview, large"))
        store.arrived.connect(self._on_arrived)

    @Slot(str)
    def _on_arrived(self, _path: str) -> None:
        self.update()

    def show_table(self, table: SampleTable, root: Path, favourites: Favourites | None) -> None:
        """Take another table, or the same one after it has grown."""
        self._table, self._root, self._favourites = table, root, favourites
        self.update()

    def choose(self, cell: Cell) -> None:
        """Show a cell."""
        self.cell = cell
        rows, steps = self._table.rows, self._table.steps
        if cell.row < len(rows) and cell.column < len(steps):
            self.setAccessibleDescription(f"{rows[cell.row].prompt}, {step_words(steps[cell.column])}")
        self._player.choose(self.path)
        self.update()

    @property
    def path(self) -> Path | None:
        """The file that is shown, None where there is none."""
        steps = self._table.steps
        return self._table.path(self._root, self.cell.row, steps[self.cell.column]) if steps else None

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the picture, its step and prompt, and the keys."""
        rows, steps = self._table.rows, self._table.steps
        if self.cell.row >= len(rows) or self.cell.column >= len(steps):
            return
        painter, step, row, path = paint.begin(self), steps[self.cell.column], rows[self.cell.row], self.path
        self._paint_picture(painter, QRectF(self.rect()).adjusted(0, 0, 0, -FOOT_PX), path)
        foot = QRectF(0, self.height() - FOOT_PX + 10, self.width(), 20)
        seed = f", seed {row.seed}" if row.seed is not None else ""
        title = f"{tr(step_words(step))} · {row.prompt}{seed}"
        paint.text(painter, foot, title, font=theme.font(13, 600), colour="text", align=paint.CENTRE)
        keys = CLIP_KEYS if path is not None and is_clip(path) else KEYS
        paint.text(painter, foot.translated(0, 20), tr(keys), font=theme.font(12), colour="text3", align=paint.CENTRE)
        painter.end()

    def _paint_picture(self, painter: paint.QPainter, area: QRectF, path: Path | None) -> None:
        picture = None
        if path is not None:
            picture = self._player.frame(path) or self._store.get(path, edge_px=EDGE_PX)
        if picture is None:
            broken = path is not None and self._store.is_broken(path, edge_px=EDGE_PX)
            gone = noted("The file is gone") if broken else noted("Reading the picture")
            words = noted("Not drawn yet") if path is None else gone
            paint.text(painter, area, tr(words), font=theme.font(13), colour="text3", align=paint.CENTRE)
            return
        frame = paint.contained(area, picture.width(), picture.height())
        painter.setClipPath(paint.rounded(frame, 8))
        painter.drawPixmap(frame, picture, QRectF(picture.rect()))
        painter.setClipping(False)
        relative = self._table.rows[self.cell.row].paths.get(self._table.steps[self.cell.column], "")
        if self._favourites is not None and relative in self._favourites:
            paint_badge(painter, frame, "star", corner="right")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move, play, mark, or go back."""
        key = Qt.Key(event.key())
        moves = self.path is not None and is_clip(self.path)
        if key in _MOVES:
            down, across = _MOVES[key]
            row = max(0, min(len(self._table.rows) - 1, self.cell.row + down))
            column = max(0, min(len(self._table.steps) - 1, self.cell.column + across))
            self.choose(Cell(row, column))
            self.moved.emit()
        elif key in {Qt.Key.Key_Comma, Qt.Key.Key_Period} and moves:
            self._player.transport.pause()
            self._player.transport.step(1 if key == Qt.Key.Key_Period else -1)
        elif key == Qt.Key.Key_Space and moves:
            self._player.transport.toggle()
        elif key == Qt.Key.Key_F:
            self.marked.emit()
            self.update()
        elif key == Qt.Key.Key_F11:
            self.screen_asked.emit()
        elif key in _BACK or key == Qt.Key.Key_Space:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, _event: QMouseEvent) -> None:
        """Go back."""
        self.closed.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        """Nothing plays unseen."""
        self._player.transport.pause()
        super().hideEvent(event)
