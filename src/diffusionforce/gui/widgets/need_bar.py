"""The memory that a training needs of one card, as a bar of segments, and the swatches that explain them.

Cards differ by hue, segments by lightness and pattern, so that neither rests on colour alone.
"""

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from diffusionforce.gui import paint, theme, tokens
from diffusionforce.gui.model import words
from diffusionforce.gui.model.forecast_bars import KIND_WORDS, Kind, NeedBar, Segment
from diffusionforce.gui.model.language import figures, tr
from diffusionforce.gui.widgets.legend import Swatch

CARD_PX, RAM_PX, CAPTION_PX = 26, 12, 17
STRIPE_PX = 4
DIMMED = 0.5
_NAMED: frozenset[Kind] = frozenset({"weights", "activations"})


def base_colour(index: int | None) -> str:
    """Return the colour that the segments of a bar are derived from, `#rrggbb`; neutral for RAM."""
    return theme.colour("text3").name() if index is None else theme.device_fill(index)


def fill_colour(kind: Kind, base: str) -> QColor:
    """Return the ground of a segment."""
    is_dark = theme.current().is_dark
    match kind:
        case "weights" | "ram":
            return QColor(base)
        case "trained":
            return theme.mixed(base, "#ffffff" if is_dark else "#000000", 0.55 if is_dark else 0.45)
        case "activations":
            return theme.mixed(base, "card", 0.42)
        case "paging" | "constant":
            return theme.mixed(base, "card", 0.7)
        case "other":
            return theme.mixed("edge", "card", 0.35)
        case _:
            return theme.colour("raised" if is_dark else "line")


def paint_segment(painter: QPainter, rect: QRectF, kind: Kind, base: str) -> None:
    """Paint one segment with its pattern."""
    if kind in {"reserve", "too_much"}:
        paint.hatch(painter, rect, theme.colour("err") if kind == "too_much" else QColor(base))
        return
    painter.fillRect(rect, fill_colour(kind, base))
    if kind in {"paging", "constant"}:
        _stripe(painter, rect, QColor(base), upright=kind == "paging")


def _stripe(painter: QPainter, rect: QRectF, colour: QColor, *, upright: bool) -> None:
    painter.save()
    painter.setClipRect(rect)
    painter.setPen(QPen(colour, 1.3))
    length = rect.width() if upright else rect.height()
    for i in range(int(length / STRIPE_PX) + 1):
        at = 1.5 + i * STRIPE_PX
        if upright:
            painter.drawLine(QPointF(rect.left() + at, rect.top()), QPointF(rect.left() + at, rect.bottom()))
        else:
            painter.drawLine(QPointF(rect.left(), rect.top() + at), QPointF(rect.right(), rect.top() + at))
    painter.restore()


class NeedBarView(QWidget):
    """Draws a `NeedBar`: its segments, a tick where its memory ends, and how much that is."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: NeedBar | None = None
        self._is_dimmed = False
        self._limit = ""
        self._height = CARD_PX
        self.setMinimumWidth(120)

    def show_bar(self, bar: NeedBar, *, dimmed: bool = False) -> None:
        """Show a bar, dimmed when it may no longer hold."""
        self._bar, self._is_dimmed = bar, dimmed
        self._height = RAM_PX if bar.index is None else CARD_PX
        self.setFixedHeight(self._height + (CAPTION_PX if bar.limit_words else 0))
        self.setAccessibleName(tr(bar.spoken))
        self.setToolTip(tr(bar.tip))
        self._limit = tr(bar.limit_words)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint segments, names of those that have room, tick and caption."""
        if self._bar is None:
            return
        painter = paint.begin(self)
        painter.setOpacity(DIMMED if self._is_dimmed else 1.0)
        whole = QRectF(0, 0, self.width(), self._height)
        painter.save()
        painter.setClipPath(paint.rounded(whole, 5))
        painter.fillRect(whole, fill_colour("free", "#000000"))
        base = base_colour(self._bar.index)
        for segment in self._bar.segments:
            left, width = segment.start * whole.width(), segment.share * whole.width()
            rect = QRectF(left, 0, max(1.0, width - (1.5 if segment.kind != "other" else 0)), self._height)
            paint_segment(painter, rect, segment.kind, base)
            self._paint_name(painter, rect, segment, base)
        painter.restore()
        self._paint_limit(painter, self._bar)
        painter.end()

    @staticmethod
    def _paint_name(painter: QPainter, rect: QRectF, segment: Segment, base: str) -> None:
        if segment.kind not in _NAMED:
            return
        size, font = figures(words.size(segment.num_bytes)), theme.font(12, 600)
        ink = QColor(tokens.ink_on(fill_colour(segment.kind, base).name()))
        for text in (f"{tr(KIND_WORDS[segment.kind])} {size}", size):
            if paint.text_width(text, font) + 14 <= rect.width():
                paint.text(painter, rect.adjusted(7, 0, 0, 0), text, font=font, colour=ink, elide=None)
                return

    def _paint_limit(self, painter: QPainter, bar: NeedBar) -> None:
        if not bar.other_bytes and bar.spare_bytes >= 0:
            return
        x = min(bar.limit_share * self.width(), self.width() - 1.0)
        painter.setPen(QPen(theme.colour("err" if bar.spare_bytes < 0 else "text"), 2))
        painter.drawLine(QPointF(x, 0), QPointF(x, self._height + 3))
        font = theme.font(11, 500)
        width = paint.text_width(self._limit, font) + 2
        left = max(0.0, min(x - width - 5, self.width() - width))
        box = QRectF(left, self._height + 1, width, CAPTION_PX - 2)
        paint.text(painter, box, self._limit, font=font, colour="text3", align=paint.RIGHT, elide=None)


def kind_swatch(kind: Kind) -> Swatch:
    """Return what paints the swatch of a kind: neutral in colour, with its pattern."""
    return lambda painter, rect: paint_segment(painter, rect, kind, theme.colour("text2").name())
