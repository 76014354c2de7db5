"""A small tag: icon and word on a tint. The icon carries the meaning together with the colour."""

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFont, QPaintEvent
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.language import tr


class Chip(QWidget):
    """A tag. `tone` is `ok`, `warn`, `err`, `info`, `accent`, `primary` (the full accent) or empty for neutral."""

    def __init__(self, text: str = "", tone: str = "", icon: str = "") -> None:
        super().__init__()
        self._text, self._tone, self._icon = "", "", ""
        self.set(text, tone, icon)

    def set(self, text: str, tone: str = "", icon: str = "") -> None:
        """Show another text."""
        text = tr(text)
        if (text, tone, icon) == (self._text, self._tone, self._icon) and text:
            return
        self._text, self._tone, self._icon = text, tone, icon
        width = paint.text_width(text, self._font()) + 14 + (15 if icon else 0)
        self.setFixedSize(width, 20)
        self.setAccessibleName(text)
        self.update()

    @property
    def text(self) -> str:
        """What the chip says."""
        return self._text

    def _font(self) -> QFont:
        return theme.font(11, 600 if self._tone else 500)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint tint, icon and word."""
        ink = {"": "text2", "accent": "text", "primary": "on_accent"}.get(self._tone, self._tone)
        fill = {"": "raised", "primary": "accent"}.get(self._tone, f"{self._tone}_bg")
        painter = paint.begin(self)
        paint.box(painter, QRectF(self.rect()), radius=4, fill=fill)
        left = 7.0
        if self._icon:
            icons.paint(painter, self._icon, QRectF(5, 4, 12, 12), theme.colour(ink).name())
            left = 21.0
        box = QRectF(left, 0, self.width() - left, 20)
        paint.text(painter, box, self._text, font=self._font(), colour=ink, elide=None)
        painter.end()
