"""What all pages share: margins, a header with actions at its right, content that scrolls where it must."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import add, column, row

MARGIN_X, MARGIN_TOP, MARGIN_BOTTOM = 24, 18, 16
# Below this width of the window the sidebar becomes a rail and words on the page get shorter.
COMPACT_PX = 1200


class Header(QWidget):
    """Title, a line under it, and room for a chip and for actions."""

    def __init__(
        self, title: str, note: str = "", *, note_mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight
    ) -> None:
        """Make a header; `note_mode` says where a note that is too long is shortened: paths in the middle."""
        super().__init__()
        self.setObjectName("clear")
        # Names that begin alike often differ at their end.
        self.title = Elided(tr(title), "title", mode=Qt.TextElideMode.ElideMiddle)
        self.title.setSizePolicy(self.title.sizePolicy().Policy.Maximum, self.title.sizePolicy().Policy.Preferred)
        self.note = Elided(tr(note), "body2", mode=note_mode)
        self._notes = (tr(note), tr(note))
        self.chips = row(gap=10)
        self.buttons = row(gap=8)
        first = row(self.title, self.chips, None, gap=10)
        layout = row(gap=12)
        add(layout, (column(first, self.note, gap=3), 1), self.buttons)
        self.setLayout(layout)
        self.setMinimumHeight(44)

    def add_actions(self, *widgets: QWidget) -> None:
        """Append buttons at the right."""
        for widget in widgets:
            self.buttons.addWidget(widget)

    def set_title(self, title: str, note: str, *, short_note: str = "") -> None:
        """Change both lines; the short note takes the place of one that is too long for the window."""
        self.title.set_text(tr(title))
        self._notes = (note, short_note or note)
        self._fit_note()

    def _fit_note(self) -> None:
        note, short = self._notes
        fits = self.note.fontMetrics().horizontalAdvance(note) <= self.note.width()
        self.note.set_text(note if fits else short)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Say more or less under the title, as there is room."""
        super().resizeEvent(event)
        layout = self.layout()
        if layout is not None and self._notes[0] != self._notes[1]:
            layout.activate()
            self._fit_note()


class Page(QWidget):
    """One place of the window."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("page")
        self.compact = False
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(MARGIN_X, MARGIN_TOP, MARGIN_X, MARGIN_BOTTOM)
        self.body.setSpacing(14)

    def set_compact(self, compact: bool) -> None:
        """Take the layout for a narrow, or for a wide window."""
        self.compact = compact

    def shown(self) -> None:
        """Called whenever the place is opened, to look again at what may have changed."""


def fact(name: str, value: str) -> tuple[Label, Elided]:
    """Return the two labels of one fact in a list of facts."""
    return Label(name, "small"), Elided(value)
