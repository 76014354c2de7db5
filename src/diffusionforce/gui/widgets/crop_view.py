"""A picture with what is trained on of it: the whole dimmed, the crop bright."""

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPaintEvent, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from diffusionforce.datasets.framing import Framing
from diffusionforce.gui import icons, paint, theme


class CropView(QWidget):
    """Shows one picture and its framing."""

    def __init__(self) -> None:
        super().__init__()
        self._picture: QPixmap | None = None
        self._framing: Framing | None = None
        self._icon = "image"
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(200)

    def sizeHint(self) -> QSize:
        """Return a size that shows usual pictures well."""
        return QSize(272, 200)

    def show_picture(
        self, picture: QPixmap | None, framing: Framing | None, *, icon: str = "image", spoken: str = ""
    ) -> None:
        """Show a picture; None for one that is being read or cannot be."""
        self._picture, self._framing, self._icon = picture, framing, icon
        self.setAccessibleName(spoken)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the picture dimmed, and the crop over it."""
        painter, area = paint.begin(self), QRectF(self.rect())
        if self._picture is None:
            paint.box(painter, area, radius=8, fill="raised")
            size = 28.0
            box = QRectF(area.center().x() - size / 2, area.center().y() - size / 2, size, size)
            icons.paint(painter, self._icon, box, theme.colour("off").name())
            painter.end()
            return
        size = self._picture.deviceIndependentSize()
        box = paint.contained(area, size.width(), size.height())
        painter.save()
        painter.setClipPath(paint.rounded(box, 6))
        painter.drawPixmap(box, self._picture, QRectF(self._picture.rect()))
        kept = box
        if self._framing is not None:
            left, top, right, bottom = self._framing.crop
            kept = QRectF(
                box.left() + left * box.width(),
                box.top() + top * box.height(),
                (right - left) * box.width(),
                (bottom - top) * box.height(),
            )
            dim = theme.colour("bg", 0.62)
            for part in (
                QRectF(box.left(), box.top(), box.width(), kept.top() - box.top()),
                QRectF(box.left(), kept.bottom(), box.width(), box.bottom() - kept.bottom()),
                QRectF(box.left(), kept.top(), kept.left() - box.left(), kept.height()),
                QRectF(kept.right(), kept.top(), box.right() - kept.right(), kept.height()),
            ):
                painter.fillRect(part, dim)
        painter.restore()
        if kept != box:  # Two lines, so that one of them is seen on any picture.
            paint.box(painter, kept.adjusted(1.5, 1.5, -1.5, -1.5), radius=2, line="bg", line_px=3)
            paint.box(painter, kept.adjusted(0.8, 0.8, -0.8, -0.8), radius=2, line="text", line_px=1.6)
        painter.end()
