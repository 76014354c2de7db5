"""The newest previews, as many rows of squares as fit."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QRectF, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.sample_cell import paint_sample

GAP_PX = 8
EDGE_PX, ICON_PX = 320, 18


class PreviewGrid(QWidget):
    """Small previews; a click on one is reported."""

    clicked = Signal(int)

    def __init__(self, store: PictureStore, *, empty: str, icon: str = "") -> None:
        """Make an empty grid.

        Args:
            store: Gives the pictures.
            empty: What is said while there are none.
            icon: What stands for them in a place too small for words.
        """
        super().__init__()
        self._store, self._empty, self._icon = store, empty, icon
        self._paths: tuple[Path | None, ...] = ()
        self.setMinimumHeight(96)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Latest previews"))
        # A method of its own, which Qt lets go of together with the widget; a lambda would be called on a dead one.
        store.arrived.connect(self._on_arrived)

    @Slot(str)
    def _on_arrived(self, path: str) -> None:
        if any(str(own) == path for own in self._paths):
            self.update()

    def show_paths(self, paths: Sequence[Path | None]) -> None:
        """Show other previews; None is one that is being drawn."""
        if tuple(paths) != self._paths:
            self._paths = tuple(paths)
            self.setCursor(Qt.CursorShape.PointingHandCursor if paths else Qt.CursorShape.ArrowCursor)
            self.update()

    def _boxes(self) -> list[QRectF]:
        """Return squares, as large as they can be while all fit; rows that do not fit are left out."""
        number, width, height = len(self._paths), float(self.width()), float(self.height())
        best_edge, best_columns = 0.0, 1
        for columns in range(1, min(number, 4) + 1):
            rows = -(-number // columns)
            edge = min((width - GAP_PX * (columns - 1)) / columns, (height - GAP_PX * (rows - 1)) / rows)
            if edge > best_edge:
                best_edge, best_columns = edge, columns
        step = best_edge + GAP_PX
        left = (width - best_columns * step + GAP_PX) / 2
        places = (divmod(i, best_columns) for i in range(number))
        return [QRectF(left + column * step, row * step, best_edge, best_edge) for row, column in places]

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the previews, or what to expect."""
        painter = paint.begin(self)
        if not self._paths and self._icon:
            paint.box(painter, QRectF(self.rect()), radius=5, fill="raised")
            centre = QRectF(0, 0, ICON_PX, ICON_PX)
            centre.moveCenter(QRectF(self.rect()).center())
            icons.paint(painter, self._icon, centre, theme.colour("text3").name())
        elif not self._paths:
            words = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.setFont(theme.font(12))
            painter.setPen(theme.colour("text3"))
            painter.drawText(QRectF(self.rect()).adjusted(16, 0, -16, 0), int(words), tr(self._empty))
        missing = self._paths.index(None) if None in self._paths else -1
        for i, (box, path) in enumerate(zip(self._boxes(), self._paths, strict=True)):
            picture = self._store.get(path, edge_px=EDGE_PX) if path is not None else None
            words = "" if path is not None else noted("Drawing") if i == missing else noted("waiting")
            paint_sample(painter, box, picture, words=words)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Report the preview under the mouse."""
        for i, box in enumerate(self._boxes()):
            if box.contains(event.position()):
                self.clicked.emit(i)
