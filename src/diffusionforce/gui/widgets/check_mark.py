"""A box to tick, with or without words."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QAbstractButton

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.focus import shows_ring

BOX_PX, HEIGHT_PX, GAP_PX = 18, 28, 8


class CheckMark(QAbstractButton):
    """Ticked or not.

    Args:
        text: What is ticked, in words; empty for the box alone, which then needs a `name`.
        name: What it is called where there are no words to see.
    """

    def __init__(self, text: str = "", *, name: str = "") -> None:
        super().__init__()
        text, name = tr(text), tr(name)
        self.setText(text)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover, True)
        self.setAccessibleName(text or name)
        self.setToolTip("" if text else name)
        width = BOX_PX + 10 + (GAP_PX + paint.text_width(text, theme.font(13)) if text else 0)
        self.setFixedSize(width, HEIGHT_PX)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint box, tick and words."""
        painter = paint.begin(self)
        box = QRectF(5, (self.height() - BOX_PX) / 2, BOX_PX, BOX_PX)
        if self.isChecked():
            paint.box(painter, box, radius=4, fill="accent")
            icons.paint(painter, "check", box.adjusted(2, 2, -2, -2), theme.current().on_accent)
        else:
            edge = "edge" if self.isEnabled() else "line"
            fill = "hover" if self.underMouse() else None
            paint.box(painter, box.adjusted(0.75, 0.75, -0.75, -0.75), radius=4, fill=fill, line=edge, line_px=1.5)
        if self.text():
            left = box.right() + GAP_PX
            area = QRectF(left, 0, self.width() - left, self.height())
            ink = "text" if self.isEnabled() else "off"
            paint.text(painter, area, self.text(), font=theme.font(13), colour=ink, elide=None)
        if shows_ring(self):
            paint.ring(painter, self.rect())
        painter.end()
