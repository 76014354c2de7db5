"""A chart as a picture for a file: under a title, beside what its colours mean."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRectF, QSize
from PySide6.QtGui import QImage, QRegion
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme

PICTURE_SCALE = 2
"""Pixels of a saved picture for each on the screen."""
TITLE_PX, EDGE_PX, LEGEND_PX = 34, 16, 150


def chart_picture(chart: QWidget, title: str, *, legend: Sequence[tuple[str, str]]) -> QImage:
    """Return a chart as it is on the screen, with more pixels.

    Args:
        chart: The chart.
        title: What stands over it.
        legend: Colours, and what each means.
    """
    size = QSize(chart.width() + 2 * EDGE_PX, chart.height() + TITLE_PX + EDGE_PX)
    image = QImage(size * PICTURE_SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(PICTURE_SCALE)
    image.fill(theme.colour("card"))
    painter = paint.begin(image)
    right, small = float(size.width() - EDGE_PX), theme.font(11)
    for colour, words in reversed(legend):
        width = min(float(LEGEND_PX), paint.text_width(words, small) + 2.0)
        box = QRectF(right - width, 10, width, 18)
        paint.text(painter, box, words, font=small, colour="text2")
        paint.box(painter, QRectF(box.left() - 18, 16, 12, 6), radius=2, fill=colour)
        right = box.left() - 32
    paint.text(painter, QRectF(EDGE_PX, 8, right - EDGE_PX, 22), title, font=theme.font(14, 600), colour="text")
    chart.render(painter, QPoint(EDGE_PX, TITLE_PX), QRegion(), QWidget.RenderFlag.DrawChildren)
    painter.end()
    return image
