"""A line of a list: picture or icon, name, a second line, a mark."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QAbstractButton

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.language import unbroken
from diffusionforce.gui.widgets.focus import shows_ring

HEAD_PX, NARROW_HEAD_PX = 36, 32
NO_BREAK = "\N{NO-BREAK SPACE}"
NARROW_PX = 190
"""Below this width names come before everything else."""
ITEM_PX, LINE_PX, NOTE_LINE_PX = 52, 17, 14
"""Height of a line of the list, and what a second line of its name, or of the note under it, adds."""


class ListItem(QAbstractButton):
    """A line that can be chosen."""

    def __init__(
        self, name: str, note: str, *, icon: str = "", mark: str = "", tone: str = "", wraps: bool = False
    ) -> None:
        """Make a line; `tone` colours its mark. Where it wraps, a name that is too long takes a second line."""
        super().__init__()
        self._wraps = wraps
        self._note, self._icon, self._mark, self._tone = note, icon, mark, tone or "text3"
        self._picture: QPixmap | None = None
        self.setText(name)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover, True)
        self.setFixedHeight(ITEM_PX)
        self.setMinimumWidth(120)
        self.setAccessibleName(f"{name}. {note}")
        self.setToolTip(f"{name}\n{note}")

    def sizeHint(self) -> QSize:
        """Return the usual size of a line."""
        return QSize(220, ITEM_PX)

    def set_picture(self, picture: QPixmap) -> None:
        """Show a picture instead of the icon."""
        self._picture = picture
        self._fit()
        self.update()

    def set_note(self, note: str) -> None:
        """Change the second line."""
        self._note = note
        self.setAccessibleName(f"{self.text()}. {note}")
        self._fit()
        self.update()

    @property
    def _marks_head(self) -> bool:
        """Whether the mark sits on the picture: a narrow list needs its width for names."""
        return self.width() < NARROW_PX and (self._picture is not None or bool(self._icon))

    @property
    def _text_left(self) -> int:
        """Where the text begins."""
        if self._picture is None and not self._icon:
            return 10
        return 8 + (NARROW_HEAD_PX if self.width() < NARROW_PX else HEAD_PX) + 10

    @property
    def _text_px(self) -> int:
        """How wide the text may be."""
        return self.width() - self._text_left - (26 if self._mark and not self._marks_head else 8)

    def name_lines(self) -> tuple[str, str]:
        """Return the name as it is shown: a line, and a second one, or nothing."""
        font = theme.font(13, 600)  # The wider of the two, so that nothing moves when it is chosen.
        if not self._wraps:
            return self.text(), ""
        return paint.two_lines(unbroken(self.text()), width_px=self._text_px, font=font)

    def note_lines(self) -> tuple[str, str]:
        """Return the words under the name as they are shown: a line, and a second one, or nothing."""
        if not self._wraps:
            return self._note, ""
        first, mark, rest = unbroken(self._note).partition(" · ")
        # A line ends between its parts, not within the second.
        note = f"{first}{mark}{rest.replace(' ', NO_BREAK)}"
        return paint.two_lines(note, width_px=self._text_px, font=theme.font(11))

    def _fit(self) -> None:
        more = LINE_PX if self.name_lines()[1] else 0
        self.setFixedHeight(ITEM_PX + more + (NOTE_LINE_PX if self.note_lines()[1] else 0))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Take the height that the name needs at this width."""
        super().resizeEvent(event)
        self._fit()

    def _paint_head(self, painter: QPainter) -> None:
        """Paint picture or icon."""
        if self._picture is None and not self._icon:
            return
        edge = NARROW_HEAD_PX if self.width() < NARROW_PX else HEAD_PX
        frame = QRectF(8, (self.height() - edge) / 2, edge, edge)
        if self._picture is not None:
            paint.cover(painter, frame, self._picture, radius=5)
        else:
            paint.box(painter, frame, radius=5, fill="raised")
            icons.paint(painter, self._icon, frame.adjusted(9, 9, -9, -9), theme.current().text2)
        if self._mark and self._marks_head:
            badge = QRectF(frame.right() - 12, frame.bottom() - 12, 18, 18)
            paint.box(painter, badge, radius=9, fill="side")
            self._paint_mark(painter, badge.adjusted(2, 2, -2, -2))

    def _paint_mark(self, painter: QPainter, place: QRectF) -> None:
        icons.paint(painter, self._mark, place, theme.colour(self._tone).name())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint surface, picture, both lines and the mark."""
        painter, chosen = paint.begin(self), self.isChecked()
        rect = QRectF(self.rect()).adjusted(0, 1, 0, -1)
        if chosen or self.underMouse():
            paint.box(painter, rect, radius=6, fill="accent_bg" if chosen else "hover")
        self._paint_head(painter)
        left, width = self._text_left, self._text_px
        weight, top = 600 if chosen else 500, 7
        for line in filter(None, self.name_lines()):
            paint.text(painter, QRectF(left, top, width, 20), line, font=theme.font(13, weight), colour="text")
            top += LINE_PX
        ink = "text2" if chosen else "text3"
        top += 3
        for line in filter(None, self.note_lines()):
            paint.text(painter, QRectF(left, top, width, 16), line, font=theme.font(11), colour=ink)
            top += NOTE_LINE_PX
        if self._mark and not self._marks_head:
            self._paint_mark(painter, QRectF(self.width() - 24, (self.height() - 16) / 2, 16, 16))
        if shows_ring(self):
            paint.ring(painter, rect)
        painter.end()
