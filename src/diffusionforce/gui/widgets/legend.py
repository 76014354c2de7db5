"""A legend: swatches with words, in as many lines as the width asks for."""

from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr

SWATCH_PX, GAP_PX, LINE_PX = 12, 16, 20
Swatch = Callable[[QPainter, QRectF], None]


class Legend(QWidget):
    """Paints its items in a row, and goes on in the next line where they do not fit."""

    def __init__(self, items: Sequence[tuple[Swatch, str]] = ()) -> None:
        super().__init__()
        self._items: tuple[tuple[Swatch, str], ...] = ()
        self.setMinimumWidth(120)
        self.show_items(items)

    def show_items(self, items: Sequence[tuple[Swatch, str]]) -> None:
        """Show other items; each swatch paints itself into a square box."""
        self._items = tuple((swatch, tr(text)) for swatch, text in items)
        self.setAccessibleName(", ".join(text for _, text in self._items))
        self._fit()
        self.update()

    def _boxes(self) -> Iterator[tuple[QRectF, Swatch, str]]:
        left, top, font = 0.0, 0.0, theme.font(11, 500)
        for swatch, text in self._items:
            width = SWATCH_PX + 6 + paint.text_width(text, font) + 2
            if left and left + width > self.width():
                left, top = 0.0, top + LINE_PX
            yield QRectF(left, top, width, LINE_PX), swatch, text
            left += width + GAP_PX

    def _fit(self) -> None:
        bottom = max((box.bottom() for box, _, _ in self._boxes()), default=0.0)
        self.setFixedHeight(int(bottom))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Break the lines anew."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint swatches and words."""
        painter = paint.begin(self)
        for box, swatch, text in self._boxes():
            square = QRectF(box.left(), box.top() + (LINE_PX - SWATCH_PX) / 2, SWATCH_PX, SWATCH_PX)
            painter.save()
            painter.setClipPath(paint.rounded(square, 2))
            swatch(painter, square)
            painter.restore()
            area = box.adjusted(SWATCH_PX + 6, 0, 2, 0)
            paint.text(painter, area, text, font=theme.font(11, 500), colour="text2", elide=None)
        painter.end()
