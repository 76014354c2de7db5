"""A row of exclusive choices: the tabs inside a place, and short settings."""

from collections.abc import Collection

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.focus import shows_ring
from diffusionforce.gui.widgets.layout import row


class Segment(QAbstractButton):
    """One choice of a row."""

    def __init__(self, text: str) -> None:
        super().__init__()
        text = tr(text)
        self.setText(text)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover, True)
        self.setAccessibleName(text)
        self.setFixedSize(paint.text_width(text, theme.font(13, 600)) + 24, 30)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the word, and surface and underline of the chosen one."""
        painter, chosen = paint.begin(self), self.isChecked()
        if chosen or self.underMouse():
            paint.box(painter, QRectF(self.rect()), radius=6, fill="raised")
        font, ink = theme.font(13, 600 if chosen else 500), "text" if chosen else "text2"
        paint.text(painter, QRectF(self.rect()), self.text(), font=font, colour=ink, align=paint.CENTRE, elide=None)
        if chosen:
            line = QRectF(12, self.height() - 2.5, self.width() - 24, 2.5)
            paint.box(painter, line, radius=1, fill="focus")
        if shows_ring(self):
            paint.ring(painter, self.rect())
        painter.end()


class Segmented(QWidget):
    """Exclusive choices in a row; arrow keys move between them."""

    chosen = Signal(int)

    def __init__(self, texts: tuple[str, ...], current: int = 0) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        layout = row(gap=2)
        for i, text in enumerate(texts):
            segment = Segment(text)
            segment.setChecked(i == current)
            self._group.addButton(segment, i)
            layout.addWidget(segment)
        self.setLayout(layout)
        self._group.idClicked.connect(self.chosen)

    def choose(self, index: int) -> None:
        """Choose without reporting it."""
        self._group.button(index).setChecked(True)

    def offer(self, indices: Collection[int]) -> None:
        """Offer only some of the choices; if the chosen one is not among them, the first that is gets chosen."""
        for button in self._group.buttons():
            button.setVisible(self._group.id(button) in indices)
        if indices and self.index not in indices:
            self.choose(min(indices))

    def retitle(self, index: int, text: str) -> None:
        """Change the words of a choice, for a number in it, say."""
        segment, text = self._group.button(index), tr(text)
        if segment.text() != text:
            segment.setText(text)
            segment.setAccessibleName(text)
            segment.setFixedWidth(paint.text_width(text, theme.font(13, 600)) + 24)

    @property
    def index(self) -> int:
        """Which one is chosen."""
        return self._group.checkedId()
