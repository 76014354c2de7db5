"""A grid of files with their pictures: thousands scroll like ten, because only what is in sight is painted."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
)

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.dataset_table import Row
from diffusionforce.gui.model.grid_choice import GridChoice, GridShape
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.thumbnails import Thumbnails
from diffusionforce.gui.widgets.focus import shows_ring
from diffusionforce.gui.widgets.painted_area import PaintedArea

USUAL_PX, TEXT_PX, GAP_PX, INSET_PX, BAR_PX = 140, 44, 10, 4, 12
_ICONS = {"picture": "image", "clip": "film", "caption": "log", "other": "image"}
_STEPS = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Right: 1,
}


class ThumbGrid(PaintedArea):
    """Shows rows of a `DatasetTable`. Arrow keys or the mouse choose; Shift and Ctrl choose several."""

    chosen = Signal()
    deleted = Signal()
    """Del was pressed."""

    def __init__(self, thumbnails: Thumbnails) -> None:
        super().__init__()
        self._thumbnails = thumbnails
        self.rows: Sequence[Row] = ()
        self.choice = GridChoice()
        self.setAccessibleName(tr("Files of the dataset"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumHeight(160)
        thumbnails.arrived.connect(self._on_arrived)

    def show_rows(self, rows: Sequence[Row], *, current: Path | None = None) -> None:
        """Show other rows; the chosen files stay chosen where they are still there.

        Args:
            rows: What to show.
            current: File to choose; None keeps the present one.
        """
        before = self.current
        wanted = current or (before.path if before is not None else None)
        kept = {row.path for row in self.chosen_rows}
        places = {row.path: index for index, row in enumerate(rows)}
        self.rows = rows
        at = places.get(wanted, -1) if wanted is not None else -1
        self.choice.reset(len(rows), current=at, chosen=[places[path] for path in kept if path in places and at >= 0])
        if current is not None and at >= 0:
            self.choice.choose(at)
        self._lay_out()
        if at >= 0:
            self._show_current()
        self._describe()
        self.viewport().update()
        self.chosen.emit()

    def take_rows(self, rows: Mapping[Path, Row]) -> None:
        """Take news of the rows in sight, in their present order."""
        self.rows = [rows.get(row.path, row) for row in self.rows]
        self.viewport().update()

    @property
    def current(self) -> Row | None:
        """The row that keys move from."""
        return self.rows[self.choice.current] if 0 <= self.choice.current < len(self.rows) else None

    @property
    def chosen_rows(self) -> list[Row]:
        """All chosen rows in order."""
        return [self.rows[index] for index in sorted(self.choice.chosen) if index < len(self.rows)]

    def choose(self, index: int, *, adds: bool = False, spans: bool = False) -> None:
        """Choose a cell and bring it into view; see `GridChoice.choose`."""
        self.choice.choose(index, adds=adds, spans=spans)
        self._show_current()
        self._describe()
        self.viewport().update()
        self.chosen.emit()

    def choose_all(self) -> None:
        """Choose every cell."""
        self.choice.choose_all()
        self._describe()
        self.viewport().update()
        self.chosen.emit()

    def step(self, by: int) -> None:
        """Move to a neighbour."""
        self.choose(max(0, self.choice.current) + by if self.choice.current >= 0 else 0)

    def _shape(self) -> GridShape:
        # Room for the scroll bar is kept whether it is there or not, so that cells never change with it.
        width = self.width() - BAR_PX - 2 * INSET_PX
        return GridShape(width=width, num_cells=len(self.rows), usual_px=USUAL_PX, text_px=TEXT_PX, gap_px=GAP_PX)

    def _lay_out(self) -> None:
        shape, bar = self._shape(), self.verticalScrollBar()
        page = self.viewport().height()
        bar.setRange(0, max(0, shape.height + INSET_PX - page))
        bar.setPageStep(page)
        bar.setSingleStep(max(24, int(shape.pitch_px // 4)))

    def _show_current(self) -> None:
        if self.choice.current < 0:
            return
        shape, bar = self._shape(), self.verticalScrollBar()
        _, top = shape.place(self.choice.current)
        bottom = top + shape.pitch_px
        if top < bar.value():
            bar.setValue(int(top))
        elif bottom > bar.value() + self.viewport().height():
            bar.setValue(int(bottom - self.viewport().height()) + 2)

    def _describe(self) -> None:
        row, number = self.current, len(self.choice.chosen)
        words = f"{row.path.name}. {tr(row.line)}" if row is not None else f"{len(self.rows)} files"
        self.setAccessibleDescription(f"{words}. {number} chosen" if number > 1 else words)

    def _on_arrived(self, path: str) -> None:
        """Paint the cell of a picture that has come, and no other."""
        shape, top = self._shape(), self.verticalScrollBar().value()
        for index in shape.in_sight(top, top + self.viewport().height()):
            if str(self.rows[index].path) == path:
                x, y = shape.place(index)
                self.viewport().update(int(x), int(y - top), int(shape.cell_px) + 12, int(shape.pitch_px) + 8)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Move what is painted already; only the strip that comes into sight is painted."""
        self.viewport().scroll(dx, dy)

    def sizeHint(self) -> QSize:
        """Return a size that shows some rows."""
        return QSize(560, 420)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the cells that are asked for."""
        painter, shape, top = paint.begin(self.viewport()), self._shape(), self.verticalScrollBar().value()
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        # From the last to the first: what is asked for last is made first.
        asked = event.region().boundingRect()
        for index in reversed(shape.in_sight(top + asked.top() - 8, top + asked.bottom() + 1)):
            x, y = shape.place(index)
            # On whole pixels a picture is copied; between them it would be blended anew.
            left, width = int(x + INSET_PX), int(shape.cell_px)
            box = QRectF(left, int(y) - top + INSET_PX, width, int(shape.picture_px))
            if event.region().intersects(box.adjusted(-5, -5, 5, TEXT_PX + 2).toAlignedRect()):
                self._paint_cell(painter, box, self.rows[index], index)
        painter.end()

    def _paint_cell(self, painter: QPainter, box: QRectF, row: Row, index: int) -> None:
        chosen = index in self.choice.chosen
        if chosen:
            paint.box(painter, box.adjusted(-4, -4, 4, TEXT_PX), radius=8, fill="accent_bg")
        scale = self.devicePixelRatioF()
        picture = None
        if row.is_readable:
            picture = self._thumbnails.cell(row.path, box.width(), box.height(), scale=scale)
        if picture is not None:
            painter.drawPixmap(box.topLeft(), picture)
        else:
            paint.box(painter, box, radius=6, fill="raised")
            size = int(min(24.0, box.height() / 3))
            tone = row.tone if row.is_checked and row.tone and not row.is_readable else "off"
            at = QPointF(box.center().x() - size / 2, box.center().y() - size / 2)
            painter.drawPixmap(at, _icon(_ICONS[row.facts.media], theme.colour(tone).name(), size))
        if chosen:
            paint.box(painter, box.adjusted(1, 1, -1, -1), radius=6, line="focus", line_px=2)
        if row.tone:
            self._paint_badge(painter, QRectF(box.right() - 24, box.top() + 4, 20, 20), row.tone, row.tone)
        if row.facts.media == "clip" and picture is not None:
            self._paint_badge(painter, QRectF(box.left() + 4, box.top() + 4, 20, 20), "film", "text")
        self._paint_words(painter, box, row, chosen=chosen)
        if index == self.choice.current and shows_ring(self):
            paint.ring(painter, box.adjusted(-4, -4, 4, TEXT_PX), 8)

    @staticmethod
    def _paint_words(painter: QPainter, box: QRectF, row: Row, *, chosen: bool) -> None:
        width = int(box.width()) - 4
        name = QRectF(box.left() + 3, box.bottom() + 4, width, 18)
        words = _shortened(row.path.name, 12, 600, width, Qt.TextElideMode.ElideMiddle)
        paint.text(painter, name, words, font=theme.font(12, 600), colour="text", elide=None)
        ink = row.tone if row.tone in {"err", "warn"} else "text2" if chosen else "text3"
        line = QRectF(box.left() + 3, box.bottom() + 22, width, 16)
        words = _shortened(tr(row.line), 11, 400, width, Qt.TextElideMode.ElideRight)
        paint.text(painter, line, words, font=theme.font(11), colour=ink, elide=None)

    @staticmethod
    def _paint_badge(painter: QPainter, box: QRectF, icon: str, tone: str) -> None:
        paint.box(painter, box, radius=4, fill=theme.colour("bg", 0.86))
        painter.drawPixmap(box.topLeft() + QPointF(3, 3), _icon(icon, theme.colour(tone).name(), 14))

    def _at(self, point: QPointF) -> int | None:
        return self._shape().at(point.x() - INSET_PX, point.y() - INSET_PX + self.verticalScrollBar().value())

    def words_at(self, point: QPointF) -> str:
        """Return name and finding of the file at a point."""
        at = self._at(point)
        return "" if at is None else f"{self.rows[at].path.name}\n{tr(self.rows[at].line)}".strip()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the cell under the mouse."""
        at = self._at(event.position())
        if at is not None and event.button() == Qt.MouseButton.LeftButton:
            keys = event.modifiers()
            self.choose(
                at,
                adds=bool(keys & Qt.KeyboardModifier.ControlModifier),
                spans=bool(keys & Qt.KeyboardModifier.ShiftModifier),
            )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move with the arrow keys, page keys, Home and End; choose all with Ctrl+A."""
        key, shape = Qt.Key(event.key()), self._shape()
        spans = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        rows_a_page = max(1, int(self.viewport().height() // shape.pitch_px))
        steps = _STEPS | {
            Qt.Key.Key_Up: -shape.columns,
            Qt.Key.Key_Down: shape.columns,
            Qt.Key.Key_PageUp: -shape.columns * rows_a_page,
            Qt.Key.Key_PageDown: shape.columns * rows_a_page,
        }
        if key in steps:
            self.choose(max(0, self.choice.current) + steps[key] if self.choice.current >= 0 else 0, spans=spans)
        elif key == Qt.Key.Key_Home:
            self.choose(0, spans=spans)
        elif key == Qt.Key.Key_End:
            self.choose(len(self.rows) - 1, spans=spans)
        elif key == Qt.Key.Key_A and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.choose_all()
        elif key == Qt.Key.Key_Delete:
            self.deleted.emit()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring; choose the first cell where none is."""
        super().focusInEvent(event)
        if self.choice.current < 0 and self.rows and event.reason() == Qt.FocusReason.TabFocusReason:
            self.choose(0)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Hide the ring."""
        super().focusOutEvent(event)
        self.viewport().update()


@lru_cache(maxsize=64)
def _icon(name: str, colour: str, size: int) -> QPixmap:
    """Return an icon as a picture: drawing its lines anew for each cell takes longer than all the rest."""
    return icons.pixmap(name, colour, size)


@lru_cache(maxsize=8192)
def _shortened(text: str, size_px: int, weight: int, width: int, mode: Qt.TextElideMode) -> str:
    """Return a text that fits a width, shortened with an ellipsis."""
    return QFontMetrics(theme.font(size_px, weight)).elidedText(text, mode, width + 1)
