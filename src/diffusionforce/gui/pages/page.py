"""What all pages share: margins, a header with actions at its right, content that scrolls where it must.

A page of many parts is built in pieces, from its top down, while it is in sight already: see `Page.build`.
"""

from collections.abc import Callable, Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QHideEvent, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pieces import Pieces
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
        self._waiting: list[Callable[[], object]] = []
        self._is_opened = False
        self._pieces = Pieces(self)
        self._pieces.finished.connect(self._on_complete)
        if type(self).build is not Page.build:
            self._pieces.start(self.build())

    def build(self) -> Iterator[bool | None]:
        """Build the parts of the page, and yield after each that takes some milliseconds.

        It begins once the page has its place in the window, so whatever it adds is seen at once; `compact` is known
        then. A page that is small enough builds all of itself when it is made. See `pieces`.
        """
        yield from ()

    @property
    def is_complete(self) -> bool:
        """Whether all parts of the page are built."""
        return self._pieces.is_complete

    def complete(self) -> None:
        """Build at once what is left to be built."""
        self._pieces.finish()

    def when_complete(self, deed: Callable[[], object]) -> None:
        """Do something with the parts of the page: now, or as soon as all of them are there."""
        if self.is_complete:
            deed()
        else:
            self._waiting.append(deed)

    def opened(self) -> None:
        """Called whenever the place is opened. A window that nobody sees yet keeps nobody waiting."""
        self._is_opened = True
        if self.is_complete:
            self.shown()
        elif self.window().isVisible():
            self._pieces.go_on()
        else:
            self._pieces.finish_sight()

    def _on_complete(self) -> None:
        waiting, self._waiting = self._waiting, []
        for deed in waiting:
            deed()
        if self._is_opened:
            self.shown()

    def hideEvent(self, event: QHideEvent) -> None:
        """Look at nothing again that nobody sees any more."""
        self._is_opened = False
        super().hideEvent(event)

    def set_compact(self, compact: bool) -> None:
        """Take the layout for a narrow, or for a wide window."""
        self.compact = compact

    def shown(self) -> None:
        """Called whenever the place is opened and complete, to look again at what may have changed."""


def fact(name: str, value: str) -> tuple[Label, Elided]:
    """Return the two labels of one fact in a list of facts."""
    return Label(name, "small"), Elided(value)
