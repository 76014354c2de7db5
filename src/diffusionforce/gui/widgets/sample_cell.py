"""How one sample looks, wherever it is shown: the picture, or what it waits for."""

from typing import Literal

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPixmap

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.language import tr

DRAWING = "Drawing"
LINE_PX = 18


def paint_sample(
    painter: QPainter,
    rect: QRectF,
    picture: QPixmap | None,
    *,
    words: str = "",
    detail: str = "",
    chosen: bool = False,
) -> None:
    """Paint one sample.

    Args:
        painter: Paints with smooth edges.
        rect: Where.
        picture: The picture; None shows `words` in a dashed box.
        words: What the place waits for.
        detail: How far that is, on a line below.
        chosen: Whether it is the chosen one.
    """
    if picture is not None:
        paint.cover(painter, rect, picture)
    else:
        inside = rect.adjusted(0.8, 0.8, -0.8, -0.8)
        edge = "edge" if words == DRAWING else "line"
        paint.box(painter, inside, radius=6, fill="card", line=edge, line_px=1.2, dashed=True)
        font = theme.font(12, 600) if words == DRAWING else theme.font(11)
        ink = "text" if words == DRAWING else "text3"
        middle = rect.adjusted(4, 0, -4, -LINE_PX if detail else 0)
        paint.text(painter, middle, tr(words), font=font, colour=ink, align=paint.CENTRE)
        if detail:
            below = rect.adjusted(4, LINE_PX, -4, 0)
            paint.text(painter, below, detail, font=theme.font(11), colour="text2", align=paint.CENTRE)
    if chosen:
        paint.box(painter, rect.adjusted(3, 3, -3, -3), radius=4, line="bg", line_px=2)
        paint.box(painter, rect.adjusted(1.3, 1.3, -1.3, -1.3), radius=6, line="focus", line_px=2.6)


def paint_badge(painter: QPainter, rect: QRectF, icon: str, *, corner: Literal["left", "right"]) -> None:
    """Paint a small mark into an upper corner of a sample; a star is filled.

    Args:
        painter: Paints with smooth edges.
        rect: Where the sample is.
        icon: Name of the icon.
        corner: Which corner.
    """
    size = 22.0 if rect.width() >= 90 else 18.0
    left = rect.left() + 6 if corner == "left" else rect.right() - size - 6
    box = QRectF(left, rect.top() + 6, size, size)
    # Over a picture, whose colours nobody knows, the mark brings its own ground in both themes.
    paint.box(painter, box, radius=5, fill=theme.colour("#101318", 0.78))
    colour, filled = ("#ffd166", True) if icon == "star" else ("#ffffff", False)
    icons.paint(painter, icon, box.adjusted(4, 4, -4, -4), colour, filled=filled)
