"""Pictures of a dataset as a wall of squares, as many as fit into two rows; the caption is in the tool tip."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QRectF, Slot
from PySide6.QtGui import QHelpEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.sample_cell import paint_sample

GAP_PX, EDGE_PX = 8, 320
ROWS, USUAL_PX = 2, 108


class PictureStrip(QWidget):
    """Shows the first pictures; the last square tells how many more there are."""

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self._store = store
        self._pictures: tuple[tuple[Path, str], ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(ROWS * USUAL_PX + GAP_PX)
        # A method of its own, which Qt lets go of together with the widget; a lambda would be called on a dead one.
        store.arrived.connect(self._on_arrived)

    @Slot(str)
    def _on_arrived(self, _path: str) -> None:
        self.update()

    def show_pictures(self, pictures: Sequence[tuple[Path, str]]) -> None:
        """Show pictures with their captions."""
        self._pictures = tuple(pictures)
        self.setAccessibleName(tr(f"{len(self._pictures)} pictures of the dataset"))
        self._fit()
        self.update()

    def _columns(self) -> int:
        wanted = -(-len(self._pictures) // ROWS)
        most = max(1, int((self.width() + GAP_PX) // (USUAL_PX + GAP_PX)))
        return max(4, min(most, wanted)) if self._pictures else most

    def _edge(self) -> float:
        columns = self._columns()
        return min(160.0, (self.width() - GAP_PX * (columns - 1)) / columns)

    def _fit(self) -> None:
        rows = 1 if len(self._pictures) <= self._columns() else ROWS
        self.setFixedHeight(max(60, int(rows * self._edge() + (rows - 1) * GAP_PX)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the new width."""
        super().resizeEvent(event)
        self._fit()

    def _boxes(self) -> list[QRectF]:
        columns, edge = self._columns(), self._edge()
        number = min(len(self._pictures), columns * ROWS)
        step = edge + GAP_PX
        return [QRectF((i % columns) * step, (i // columns) * step, edge, edge) for i in range(number)]

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the squares."""
        painter = paint.begin(self)
        boxes = self._boxes()
        if not boxes:
            words = "The pictures of the dataset appear here."
            paint.text(painter, QRectF(self.rect()), words, font=theme.font(12), colour="text3")
        for i, box in enumerate(boxes):
            paint_sample(painter, box, self._store.get(self._pictures[i][0], edge_px=EDGE_PX))
        more = len(self._pictures) - len(boxes)
        if more > 0:
            paint.box(painter, boxes[-1], radius=6, fill=theme.colour("#000000", 0.62))
            words, bold = f"+{more + 1:,}", theme.font(15, 600)
            paint.text(painter, boxes[-1], words, font=bold, colour="#ffffff", align=paint.CENTRE)
        painter.end()

    def event(self, event: QEvent) -> bool:
        """Show the caption of the picture under the mouse."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            for i, box in enumerate(self._boxes()):
                if box.contains(event.pos()):
                    path, caption = self._pictures[i]
                    QToolTip.showText(event.globalPos(), f"{path.name}\n{caption}", self)
                    return True
            QToolTip.hideText()
            return True
        return super().event(event)
