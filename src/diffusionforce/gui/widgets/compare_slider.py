"""Two pictures of the same seed in one frame, with a handle between before and after."""

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.widgets.focus import shows_ring

STEP = 0.02
_SHADE, _WHITE, _INK = "#000000", "#ffffff", "#16191f"


class CompareSlider(QWidget):
    """Left of the handle the first picture, right of it the second. Drag, or press the arrow keys."""

    prompt_moved = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._pictures: tuple[QPixmap | None, QPixmap | None] = (None, None)
        self._labels = ("", "")
        self.share = 0.5
        self.setMinimumSize(240, 200)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.SplitHCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Before and after slider")

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
        self.setAccessibleDescription(f"{self._labels[0]} left of {self.share:.0%}, {self._labels[1]} right of it")

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
                painter.drawPixmap(frame, picture, QRectF(picture.rect()))
            painter.restore()
        self._paint_handle(painter, frame, x)
        self._paint_labels(painter, frame)
        painter.end()

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

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the handle to the mouse."""
        self._move_to(event.position().x())
        self.setFocus(Qt.FocusReason.MouseFocusReason)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the handle."""
        self._move_to(event.position().x())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the handle with left and right, the prompt with up and down."""
        match Qt.Key(event.key()):
            case Qt.Key.Key_Left:
                self.set_share(self.share - STEP)
            case Qt.Key.Key_Right:
                self.set_share(self.share + STEP)
            case Qt.Key.Key_Up:
                self.prompt_moved.emit(-1)
            case Qt.Key.Key_Down:
                self.prompt_moved.emit(1)
            case _:
                super().keyPressEvent(event)
