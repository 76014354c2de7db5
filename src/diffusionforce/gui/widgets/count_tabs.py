"""A row of exclusive choices with a count beside each word."""

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.focus import shows_ring
from diffusionforce.gui.widgets.layout import row

WIDE_PX, NARROW_PX = 12, 8


class CountTab(QAbstractButton):
    """One choice; a count of None is not shown."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._count: int | None = None
        self._padding = WIDE_PX
        self.setText(tr(text))
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover, True)
        self.set_count(None)

    def set_count(self, count: int | None) -> None:
        """Change the count."""
        self._count = count
        self.setAccessibleName(self.text() if count is None else f"{self.text()}, {count}")
        self.setFixedSize(self._word_px() + 2 * self._padding + (self._pill_px() + 8 if count is not None else 0), 30)
        self.update()

    def set_compact(self, compact: bool) -> None:
        """Take less room."""
        self._padding = NARROW_PX if compact else WIDE_PX
        self.set_count(self._count)

    def _word_px(self) -> int:
        return paint.text_width(self.text(), theme.font(13, 600))

    def _pill_px(self) -> int:
        return max(20, paint.text_width(f"{self._count:,}", theme.font(11, 500)) + 12)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint word and count, and surface and underline of the chosen one."""
        painter, chosen = paint.begin(self), self.isChecked()
        if chosen or self.underMouse():
            paint.box(painter, QRectF(self.rect()), radius=6, fill="raised")
        font, ink = theme.font(13, 600 if chosen else 500), "text" if chosen else "text2"
        paint.text(
            painter, QRectF(self._padding, 0, self._word_px() + 4, 30), self.text(), font=font, colour=ink, elide=None
        )
        if self._count is not None:
            pill = QRectF(self._padding + self._word_px() + 8, 6, self._pill_px(), 18)
            paint.box(painter, pill, radius=9, fill="hover")
            paint.text(
                painter,
                pill,
                f"{self._count:,}",
                font=theme.font(11, 500),
                colour="text2",
                align=paint.CENTRE,
                elide=None,
            )
        if chosen:
            paint.box(
                painter,
                QRectF(self._padding, self.height() - 2.5, self.width() - 2 * self._padding, 2.5),
                radius=1,
                fill="focus",
            )
        if shows_ring(self):
            paint.ring(painter, self.rect())
        painter.end()


class CountTabs(QWidget):
    """Exclusive choices in a row; arrow keys move between them."""

    chosen = Signal(str)

    def __init__(self, choices: tuple[tuple[str, str], ...]) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self._tabs: dict[str, CountTab] = {}
        layout = row(gap=2)
        for key, text in choices:
            tab = CountTab(text)
            tab.clicked.connect(lambda _checked=False, key=key: self.chosen.emit(key))
            self._tabs[key] = tab
            self._group.addButton(tab)
            layout.addWidget(tab)
        self.setLayout(layout)
        self.choose(choices[0][0])

    def choose(self, key: str) -> None:
        """Choose without reporting it."""
        self._tabs[key].setChecked(True)

    def set_compact(self, compact: bool) -> None:
        """Take less room."""
        for tab in self._tabs.values():
            tab.set_compact(compact)

    @property
    def key(self) -> str:
        """Which one is chosen."""
        return next((key for key, tab in self._tabs.items() if tab.isChecked()), "")

    def show_counts(self, counts: dict[str, int]) -> None:
        """Show counts by key; the others stay."""
        for key, count in counts.items():
            if key in self._tabs:
                self._tabs[key].set_count(count)
