"""Two pictures of the same seed in one frame, with a handle between before and after, both looked at equally near."""

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.zoom import STEP as ZOOM_STEP
from diffusionforce.gui.model.zoom import Zoom
from diffusionforce.gui.widgets.focus import shows_ring

STEP = 0.02
GRIP_PX = 26
"""How near to the handle it is the handle that is dragged, and not a picture that is looked at from near."""
NOTCH = 120
"""What a notch of a mouse wheel counts, in eighths of a degree."""
_PANS = {
    Qt.Key.Key_Left: (0.1, 0.0),
    Qt.Key.Key_Right: (-0.1, 0.0),
    Qt.Key.Key_Up: (0.0, 0.1),
    Qt.Key.Key_Down: (0.0, -0.1),
}
_SHADE, _WHITE, _INK = "#000000", "#ffffff", "#16191f"


class CompareSlider(QWidget):
    """Left of the handle the first picture, right of it the second. Drag, or press the arrow keys.

    The wheel, + and - look at both from nearer; the picture is then moved by dragging it, or with Shift and the arrow
    keys, and 0 shows all of it again.
    """

    prompt_moved = Signal(int)
    zoomed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._pictures: tuple[QPixmap | None, QPixmap | None] = (None, None)
        self._labels = ("", "")
        self.share = 0.5
        self.zoom = Zoom()
        self._dragged_from: QPointF | None = None
        self.setMinimumSize(240, 200)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.SplitHCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Before and after slider"))

    def show_pair(self, left: QPixmap | None, right: QPixmap | None, *, labels: tuple[str, str]) -> None:
        """Show two pictures; None for one that is not there (yet)."""
        self._pictures, self._labels = (left, right), labels
        self._describe()
        self.update()

    @property
    def pictures(self) -> tuple[QPixmap, QPixmap] | None:
        """Both pictures, None while one of them is not there."""
        left, right = self._pictures
        return (left, right) if left is not None and right is not None else None

    def _describe(self) -> None:
        near = f", {self.zoom.scale:.1f} times as near" if self.zoom.is_near else ""
        self.setAccessibleDescription(
            f"{self._labels[0]} left of {self.share:.0%}, {self._labels[1]} right of it{near}"
        )

    def _frame(self) -> QRectF:
        picture = self._pictures[1] or self._pictures[0]
        size = picture.size() if picture is not None else self.size()
        return paint.contained(QRectF(self.rect()), size.width(), size.height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint both halves, the handle and the labels."""
        painter, frame = paint.begin(self), self._frame()
        x = frame.left() + frame.width() * self.share
        halves = (
            QRectF(frame.left(), frame.top(), x - frame.left(), frame.height()),
            QRectF(x, frame.top(), frame.right() - x, frame.height()),
        )
        for half, picture in zip(halves, self._pictures, strict=True):
            painter.save()
            painter.setClipPath(paint.rounded(frame, 8))
            painter.setClipRect(half, Qt.ClipOperation.IntersectClip)
            if picture is None:
                painter.fillRect(frame, theme.colour("raised"))
            else:
                painter.drawPixmap(frame, picture, self._seen(picture))
            painter.restore()
        self._paint_handle(painter, frame, x)
        self._paint_labels(painter, frame)
        painter.end()

    def _seen(self, picture: QPixmap) -> QRectF:
        """The part of a picture that is seen."""
        width, height, zoom = picture.width(), picture.height(), self.zoom
        return QRectF(zoom.left * width, zoom.top * height, zoom.span * width, zoom.span * height)

    def _paint_handle(self, painter: QPainter, frame: QRectF, x: float) -> None:
        for colour, width in ((theme.colour(_SHADE, 0.47), 5.0), (theme.colour(_WHITE), 2.0)):
            painter.setPen(QPen(colour, width))
            painter.drawLine(QPointF(x, frame.top()), QPointF(x, frame.bottom()))
        centre = QPointF(x, frame.center().y())
        painter.setPen(QPen(theme.colour(_SHADE, 0.47), 2))
        painter.setBrush(theme.colour(_WHITE))
        painter.drawEllipse(centre, 18, 18)
        icons.paint(painter, "chev-left", QRectF(x - 16, centre.y() - 8, 16, 16), _INK)
        icons.paint(painter, "chev-right", QRectF(x, centre.y() - 8, 16, 16), _INK)
        if shows_ring(self):
            painter.setPen(QPen(theme.colour("focus"), 3))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(centre, 21, 21)

    def _paint_labels(self, painter: QPainter, frame: QRectF) -> None:
        bold = theme.font(12, 600)
        for i, label in enumerate(self._labels):
            width = paint.text_width(label, bold) + 20
            left = frame.left() + 12 if i == 0 else frame.right() - 12 - width
            box = QRectF(left, frame.top() + 12, width, 26)
            paint.box(painter, box, radius=6, fill=theme.colour(_SHADE, 0.75))
            paint.text(painter, box, label, font=bold, colour=_WHITE, align=paint.CENTRE, elide=None)

    def _move_to(self, x: float) -> None:
        frame = self._frame()
        self.set_share((x - frame.left()) / max(1.0, frame.width()))

    def set_share(self, share: float) -> None:
        """Put the handle at a share from 0 to 1 of the width."""
        self.share = max(0.0, min(1.0, share))
        self._describe()
        self.update()

    def zoom_by(self, factor: float, at: QPointF | None = None) -> None:
        """Come nearer, or go back, around a place of the widget; None is its middle."""
        frame = self._frame()
        place = at if at is not None else frame.center()
        x, y = (
            (place.x() - frame.left()) / max(1.0, frame.width()),
            (place.y() - frame.top()) / max(1.0, frame.height()),
        )
        self.zoom.by(factor, x=min(1.0, max(0.0, x)), y=min(1.0, max(0.0, y)))
        self._on_zoomed()

    def show_all(self) -> None:
        """Show all of the pictures."""
        self.zoom.reset()
        self._on_zoomed()

    def _on_zoomed(self) -> None:
        self.setCursor(Qt.CursorShape.OpenHandCursor if self.zoom.is_near else Qt.CursorShape.SplitHCursor)
        self._describe()
        self.zoomed.emit()
        self.update()

    def _is_at_handle(self, x: float) -> bool:
        frame = self._frame()
        return abs(x - frame.left() - frame.width() * self.share) <= GRIP_PX

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the handle to the mouse; from near, take the picture where the handle is not."""
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        if self.zoom.is_near and not self._is_at_handle(event.position().x()):
            self._dragged_from = event.position()
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        else:
            self._move_to(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the handle, or the picture."""
        if self._dragged_from is None:
            self._move_to(event.position().x())
            return
        moved, frame = event.position() - self._dragged_from, self._frame()
        self._dragged_from = event.position()
        self.zoom.pan(moved.x() / max(1.0, frame.width()), moved.y() / max(1.0, frame.height()))
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let the picture go."""
        if self._dragged_from is not None:
            self._dragged_from = None
            self.setCursor(Qt.CursorShape.OpenHandCursor)
        super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Come near, or show all again."""
        if self.zoom.is_near:
            self.show_all()
        else:
            self.zoom_by(ZOOM_STEP**4, event.position())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Look at both from nearer, or from farther away, around the mouse."""
        self.zoom_by(ZOOM_STEP ** (event.angleDelta().y() / NOTCH), event.position())
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the handle with left and right, the prompt with up and down; look from nearer with plus."""
        key = Qt.Key(event.key())
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self.zoom.is_near and key in _PANS:
            x, y = _PANS[key]
            self.zoom.pan(x, y)
            self.update()
            return
        match key:
            case Qt.Key.Key_Left:
                self.set_share(self.share - STEP)
            case Qt.Key.Key_Right:
                self.set_share(self.share + STEP)
            case Qt.Key.Key_Up:
                self.prompt_moved.emit(-1)
            case Qt.Key.Key_Down:
                self.prompt_moved.emit(1)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.zoom_by(ZOOM_STEP)
            case Qt.Key.Key_Minus:
                self.zoom_by(1 / ZOOM_STEP)
            case Qt.Key.Key_0:
                self.show_all()
            case _:
                super().keyPressEvent(event)
