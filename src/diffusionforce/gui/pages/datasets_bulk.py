"""Editing many captions at once: an edit, what it would change, and one step to undo it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import words
from diffusionforce.gui.model.caption_book import (
    adding_after,
    adding_before,
    adding_trigger,
    removing,
    replacing,
)
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import add, clear, column, holder, row

NUM_PREVIEWED = 3
EDITS = (
    ("Add the trigger word", "Trigger word"),
    ("Add before", "Words to put at the front"),
    ("Add after", "Words to put at the end"),
    ("Replace", "Words to look for"),
    ("Remove", "Words to take out"),
)
_TRIGGER, _BEFORE, _AFTER, _REPLACE, _REMOVE = range(len(EDITS))


class BulkEdit(QWidget):
    """Asks for an edit, shows what it does to the first captions, and applies it."""

    def __init__(self, desk: DatasetDesk) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._desk = desk
        self._pictures: Sequence[Path] = ()
        self._filled = ""
        self.kind = QComboBox()
        self.kind.setAccessibleName(tr("Edit"))
        self.kind.addItems([tr(name) for name, _ in EDITS])
        self.first, self.second = QLineEdit(), QLineEdit()
        self.second.setAccessibleName(tr("Words to put in their place"))
        self.second.setPlaceholderText(tr("Words to put in their place"))
        self.summary = Label("", "small", wrap=True)
        self._preview = column(gap=6)
        self.apply = Button("Apply", "check")
        self.apply.clicked.connect(self._apply)
        self.kind.currentIndexChanged.connect(self._on_kind)
        self.first.textChanged.connect(self.refresh)
        self.second.textChanged.connect(self.refresh)
        self.first.returnPressed.connect(self._apply)
        self.second.returnPressed.connect(self._apply)
        layout = column(gap=8)
        add(layout, self.kind, self.first, self.second, self.summary)
        add(layout, holder(self._preview), row(self.apply, None))
        self.setLayout(layout)
        self._on_kind()

    def show_pictures(self, pictures: Sequence[Path]) -> None:
        """Edit the captions of these pictures."""
        self._pictures = pictures
        self._fill_trigger()
        self.refresh()

    def take_words(self, text: str) -> None:
        """Take words into the field, as when a part of the captions is chosen."""
        if self.kind.currentIndex() in {_TRIGGER, _BEFORE, _AFTER}:
            self.kind.setCurrentIndex(_REPLACE)
        self.first.setText(text)

    def _on_kind(self) -> None:
        index = self.kind.currentIndex()
        self.first.setPlaceholderText(tr(EDITS[index][1]))
        self.first.setAccessibleName(EDITS[index][1])
        self.second.setVisible(index == _REPLACE)
        if index != _TRIGGER and self.first.text() == self._filled:
            self.first.clear()  # It was not typed, and would now mean something else.
        self._fill_trigger()
        self.refresh()

    def _fill_trigger(self) -> None:
        """Take the word that the captions have already, unless somebody typed one."""
        if self.kind.currentIndex() == _TRIGGER and self.first.text() in {"", self._filled}:
            self._filled = self._desk.trigger
            self.first.setText(self._filled)

    def _edit(self) -> Callable[[str], str]:
        index, first = self.kind.currentIndex(), self.first.text()
        edits: dict[int, Callable[[], Callable[[str], str]]] = {
            _TRIGGER: lambda: adding_trigger(first),
            _BEFORE: lambda: adding_before(first),
            _AFTER: lambda: adding_after(first),
            _REPLACE: lambda: replacing(first, self.second.text()),
            _REMOVE: lambda: removing(first),
        }
        return edits[index]()

    def _planned(self) -> dict[Path, str]:
        if not self.first.text().strip():
            return {}
        return self._desk.book.plan(self._pictures, self._edit())

    def refresh(self) -> None:
        """Show what the edit would change now."""
        planned = self._planned()
        clear(self._preview)
        for picture, text in list(planned.items())[:NUM_PREVIEWED]:
            name = Elided(picture.name, "caption", mode=Qt.TextElideMode.ElideMiddle)
            self._preview.addLayout(column(name, Elided(text or "(empty)", "small"), gap=0))
        allowed = bool(planned) and self._desk.can_repair
        whole = words.count(len(self._pictures), "caption")
        if not self.first.text().strip():
            self.summary.set_text(f"For {whole}.")
        else:
            self.summary.set_text(f"Changes {len(planned):,} of {whole}.")
        reason = "It comes with the app and stays as it is." if self._desk.is_read_only else "Nothing would change."
        self.apply.allow(allowed, reason=reason)

    def _apply(self) -> None:
        planned = self._planned()
        if planned and self._desk.can_repair:
            if self.kind.currentIndex() == _TRIGGER:
                self._desk.set_trigger(self.first.text())
            self._desk.apply_captions(EDITS[self.kind.currentIndex()][0], planned)
            self.refresh()
