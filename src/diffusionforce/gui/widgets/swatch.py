"""The little square before a word of a legend."""

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme


class Swatch(QWidget):
    """A square in a token's colour, or `faint`, `pale` and `hatch` for the looks that charts derive."""

    def __init__(self, colour: str) -> None:
        super().__init__()
        self._colour = colour
        self.setFixedSize(10, 10)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the square."""
        painter, rect = paint.begin(self), QRectF(self.rect())
        if self._colour == "hatch":
            paint.hatch(painter, rect, theme.mixed("edge", "card", 0.3), radius=2)
        else:
            derived = {"faint": theme.mixed("text3", "card", 0.45), "pale": theme.mixed("text2", "card", 0.5)}
            paint.box(painter, rect, radius=2, fill=derived.get(self._colour, self._colour))
        painter.end()
