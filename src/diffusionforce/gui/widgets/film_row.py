"""The pictures of one prompt from left to right: before training, then step by step, the next ones as empty places."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QRectF, Slot
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.sample_cell import paint_sample

GAP_PX, MAX_EDGE_PX, CAPTION_PX, EDGE_PX = 12, 190, 22, 512


class FilmRow(QWidget):
    """Pictures in a row, with a word under each."""

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self._store = store
        self._places: tuple[tuple[str, Path | None], ...] = ()
        self._pending = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        store.arrived.connect(self._on_arrived)

    @Slot(str)
    def _on_arrived(self, _path: str) -> None:
        self.update()

    def show_places(self, places: Sequence[tuple[str, Path | None]], *, pending: str = "") -> None:
        """Show places: a word and a picture each, or None where it is still to come.

        Args:
            places: From left to right.
            pending: The word of the place that is being drawn.
        """
        self._places, self._pending = tuple(places), pending
        number = sum(path is not None for _, path in places)
        self.setAccessibleName(tr(f"{number} of {len(self._places)} pictures of the same prompt and seed"))
        self._fit()
        self.update()

    def _edge(self) -> float:
        number = max(1, len(self._places))
        return min(MAX_EDGE_PX, (self.width() - GAP_PX * (number - 1)) / number)

    def _fit(self) -> None:
        self.setFixedHeight(int(self._edge()) + CAPTION_PX)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the new width."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint pictures and words."""
        painter, edge = paint.begin(self), self._edge()
        for i, (word, path) in enumerate(self._places):
            box = QRectF(i * (edge + GAP_PX), 0, edge, edge)
            picture = self._store.get(path, edge_px=EDGE_PX) if path is not None else None
            waits = "Drawing" if word == self._pending else "waiting"
            paint_sample(painter, box, picture, words="" if path is not None else waits)
            caption = QRectF(box.left(), box.bottom() + 4, edge, CAPTION_PX - 4)
            paint.text(painter, caption, word, font=theme.font(12), colour="text2")
        painter.end()
