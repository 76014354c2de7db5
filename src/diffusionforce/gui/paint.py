"""Strokes that several painted widgets share: text in a box, rounded boxes, hatching, rings, pictures that cover."""

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPaintDevice, QPainter, QPainterPath, QPen, QPixmap

from diffusionforce.gui import theme
from diffusionforce.gui.model.direction import in_line
from diffusionforce.gui.model.language import figures

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
CENTRE = Qt.AlignmentFlag.AlignCenter


def begin(device: QPaintDevice) -> QPainter:
    """Return a painter with smooth edges and pictures. End it before the paint event returns."""
    painter = QPainter(device)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
    return painter


def text_width(text: str, font: QFont) -> int:
    """Return how many pixels a text takes."""
    return QFontMetrics(font).horizontalAdvance(figures(text))


def text(
    painter: QPainter,
    rect: QRectF,
    string: str,
    *,
    font: QFont,
    colour: str | QColor,
    align: Qt.AlignmentFlag = LEFT,
    elide: Qt.TextElideMode | None = Qt.TextElideMode.ElideRight,
) -> None:
    """Write one line of text into a box; a text that is too long is shortened with an ellipsis."""
    string = in_line(figures(string))
    painter.setFont(font)
    painter.setPen(theme.colour(colour) if isinstance(colour, str) else colour)
    if elide is not None:
        string = QFontMetrics(font).elidedText(string, elide, int(rect.width()) + 1)
    painter.drawText(rect, align, string)


def lines(string: str, *, width_px: int, max_lines: int, font: QFont) -> str:
    """Return a text broken into lines of at most `width_px`; the last one ends with an ellipsis if need be."""
    broken: list[str] = [""]
    for word in string.split():
        longer = f"{broken[-1]} {word}".strip()
        if text_width(longer, font) <= width_px or not broken[-1]:
            broken[-1] = longer
        else:
            broken.append(word)
    if len(broken) > max_lines:
        broken = broken[:max_lines]
        while text_width(broken[-1] + "…", font) > width_px and " " in broken[-1]:
            broken[-1] = broken[-1].rpartition(" ")[0]
        broken[-1] += "…"
    return "\n".join(broken)


def two_lines(string: str, *, width_px: int, font: QFont) -> tuple[str, str]:
    """Return a name over two lines of `width_px`, the second empty where one will do.

    The second is shortened in the middle: names that begin alike often differ at their end.
    """
    if text_width(string, font) <= width_px:
        return string, ""
    fits = 1
    while fits < len(string) and text_width(string[: fits + 1], font) <= width_px:
        fits += 1
    # Between words where there are some, behind a hyphen or the like, or else wherever the line is full.
    end = string.rfind(" ", 0, fits + 1)
    if end <= 0:
        end = max(string.rfind(sign, 0, fits) for sign in "-_.") + 1
    end = end if end > 0 else fits
    rest = QFontMetrics(font).elidedText(string[end:].strip(), Qt.TextElideMode.ElideMiddle, width_px)
    return string[:end].strip(), rest


def rounded(rect: QRectF, radius: float) -> QPainterPath:
    """Return the outline of a rounded box."""
    path = QPainterPath()
    path.addRoundedRect(rect, radius, radius)
    return path


def box(
    painter: QPainter,
    rect: QRectF,
    *,
    radius: float,
    fill: str | QColor | None = None,
    line: str | QColor | None = None,
    line_px: float = 1.0,
    dashed: bool = False,
) -> None:
    """Paint a rounded box with a fill, an outline, or both."""
    if line is None:
        painter.setPen(Qt.PenStyle.NoPen)
    else:
        pen = QPen(theme.colour(line) if isinstance(line, str) else line, line_px)
        if dashed:
            pen.setDashPattern([4, 3])
        painter.setPen(pen)
    if fill is None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
    else:
        painter.setBrush(theme.colour(fill) if isinstance(fill, str) else fill)
    painter.drawRoundedRect(rect, radius, radius)


def hatch(painter: QPainter, rect: QRectF, colour: QColor, *, radius: float = 0.0) -> None:
    """Fill a box with diagonal lines on a pale ground: reserved, or waiting."""
    painter.save()
    path = rounded(rect, radius)
    painter.setClipPath(path, Qt.ClipOperation.IntersectClip)
    painter.fillPath(path, theme.mixed(colour.name(), "card", 0.72))
    painter.setPen(QPen(colour, 1.4))
    x = rect.left() - rect.height()
    while x < rect.right():
        painter.drawLine(QPointF(x, rect.bottom()), QPointF(x + rect.height(), rect.top()))
        x += 5
    painter.restore()


def ring(painter: QPainter, rect: QRectF | QRect, radius: float = 6.0) -> None:
    """Paint the focus ring just inside a box."""
    inside = QRectF(rect).adjusted(1, 1, -1, -1)
    box(painter, inside, radius=radius, line="focus", line_px=2)


def cover(painter: QPainter, rect: QRectF, picture: QPixmap, *, radius: float = 6.0) -> None:
    """Paint a picture so that it fills a rounded box, cut at the sides where the shapes differ."""
    painter.save()
    painter.setClipPath(rounded(rect, radius), Qt.ClipOperation.IntersectClip)
    size = picture.deviceIndependentSize()
    scale = max(rect.width() / max(1.0, size.width()), rect.height() / max(1.0, size.height()))
    width, height = size.width() * scale, size.height() * scale
    target = QRectF(rect.center().x() - width / 2, rect.center().y() - height / 2, width, height)
    painter.drawPixmap(target, picture, QRectF(picture.rect()))
    painter.restore()


def contained(rect: QRectF, width: float, height: float) -> QRectF:
    """Return the largest box of the shape `width` x `height` in the middle of `rect`."""
    scale = min(rect.width() / max(1.0, width), rect.height() / max(1.0, height))
    w, h = width * scale, height * scale
    return QRectF(rect.center().x() - w / 2, rect.center().y() - h / 2, w, h)
