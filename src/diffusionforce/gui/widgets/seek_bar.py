"""The place in a clip: a track with a round handle, and a row with play, time, and step buttons around it."""

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.clips import Transport
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.focus import shows_ring
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import row

HANDLE_PX = 8


class SeekBar(QWidget):
    """A track to drag on; the arrow keys go on by a frame."""

    sought = Signal(float)
    stepped = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.share = 0.0
        self.setFixedHeight(24)
        self.setMinimumWidth(120)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Place in the clip"))

    def show_share(self, share: float, spoken: str) -> None:
        """Put the handle at a share from 0 to 1."""
        self.share = min(1.0, max(0.0, share))
        self.setAccessibleDescription(spoken)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint track and handle."""
        painter = paint.begin(self)
        track = QRectF(HANDLE_PX, self.height() / 2 - 2, self.width() - 2 * HANDLE_PX, 4)
        x = track.left() + track.width() * self.share
        paint.box(painter, track, radius=2, fill="line")
        paint.box(painter, QRectF(track.left(), track.top(), x - track.left(), 4), radius=2, fill="focus")
        painter.setPen(QPen(theme.colour("card"), 1.5))
        painter.setBrush(theme.colour("focus"))
        painter.drawEllipse(QPointF(x, track.center().y()), HANDLE_PX, HANDLE_PX)
        if shows_ring(self):
            paint.ring(painter, self.rect())
        painter.end()

    def _seek(self, event: QMouseEvent) -> None:
        self.sought.emit((event.position().x() - HANDLE_PX) / max(1, self.width() - 2 * HANDLE_PX))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go there."""
        self._seek(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag."""
        self._seek(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go on by a frame, or back."""
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if by is None:
            super().keyPressEvent(event)
        else:
            self.stepped.emit(by)


class TransportBar(QWidget):
    """Play, where it is, the track, how long it is."""

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._transport = transport
        self.play = Button("", "play", tip="Play or pause (Space)")
        self.play.clicked.connect(transport.toggle)
        self.back = Button("", "chev-left", kind="ghost", tip="Back by a frame (,)")
        self.back.clicked.connect(lambda: transport.step(-1))
        self.on = Button("", "chev-right", kind="ghost", tip="On by a frame (.)")
        self.on.clicked.connect(lambda: transport.step(1))
        self._at, self._length = Label("0.0 s", "strong"), Label("", "small")
        self._at.setFixedWidth(48)
        self.seek = SeekBar()
        self.seek.sought.connect(transport.seek)
        self.seek.stepped.connect(transport.step)
        transport.moved.connect(self._show)
        self.setLayout(row(self.play, self.back, self.on, self._at, (self.seek, 1), self._length, gap=8))
        self._show()

    def _show(self) -> None:
        transport = self._transport
        last = max(1, transport.num_frames - 1)
        frame = f"Frame {transport.index + 1} of {transport.num_frames}"
        self._at.set_text(f"{transport.seconds:.1f} s")
        self._length.set_text(f"{transport.num_frames / transport.fps:.1f} s")
        self.seek.show_share(transport.index / last, frame)
        self.play.set_icon("pause" if transport.is_playing else "play")
