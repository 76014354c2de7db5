"""A switch: on or off at once, with its state in words beside it."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QAbstractButton

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.focus import shows_ring

TRACK_PX, HEIGHT_PX = 36, 20


class Toggle(QAbstractButton):
    """A switch, used by click and by Space. The words On and Off say the state without colour."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setCheckable(True)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover, True)
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        """Return room for the track and the word."""
        return QSize(TRACK_PX + 48, 32)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint track, knob and word."""
        painter, on, enabled = paint.begin(self), self.isChecked(), self.isEnabled()
        track = QRectF(1, (self.height() - HEIGHT_PX) / 2, TRACK_PX, HEIGHT_PX)
        fill = ("accent" if on else "raised") if enabled else "line"
        paint.box(painter, track, radius=HEIGHT_PX / 2, fill=fill, line=None if on or not enabled else "edge")
        left = track.right() - HEIGHT_PX + 3 if on else track.left() + 3
        knob = QRectF(left, track.top() + 3, HEIGHT_PX - 6, HEIGHT_PX - 6)
        paint.box(painter, knob, radius=knob.height() / 2, fill="on_accent" if on and enabled else "edge")
        word = QRectF(TRACK_PX + 10, 0, self.width() - TRACK_PX - 10, self.height())
        paint.text(painter, word, tr("On") if on else tr("Off"), font=theme.font(), colour="text" if enabled else "off")
        if shows_ring(self):
            paint.ring(painter, track.adjusted(-1, -2, 2, 2), HEIGHT_PX / 2 + 2)
        painter.end()
