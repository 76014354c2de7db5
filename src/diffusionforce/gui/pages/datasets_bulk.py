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
        # The button before the examples: in a low window these scroll out of sight first.
        add(layout, self.kind, self.first, self.second, self.summary, row(self.apply, None))
        add(layout, holder(self._preview), None)
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
        num_written = len(self._desk.book.written(self._pictures))
        if self.first.text().strip():
            num_changed = len(self._desk.book.written(planned))
            self.summary.set_text(_effect(num_changed, num_written, num_new=len(planned) - num_changed))
        else:
            self.summary.set_text(_whole(num_written, num_bare=len(self._pictures) - num_written))
        reason = "It comes with the app and stays as it is." if self._desk.is_read_only else "Nothing would change."
        self.apply.allow(allowed, reason=reason)

    def _apply(self) -> None:
        planned = self._planned()
        if planned and self._desk.can_repair:
            if self.kind.currentIndex() == _TRIGGER:
                self._desk.set_trigger(self.first.text())
            self._desk.apply_captions(EDITS[self.kind.currentIndex()][0], planned)
            self.refresh()


def _whole(num_written: int, *, num_bare: int) -> str:
    """Return what an edit would be for: captions, and pictures that have none yet."""
    said = f"For {words.count(num_written, 'caption')}."
    if not num_bare:
        return said
    return f"{said} " + (f"{num_bare:,} pictures have none." if num_bare > 1 else "1 picture has none.")


def _effect(num_changed: int, num_written: int, *, num_new: int) -> str:
    """Return what an edit would do: to the captions that there are, and to pictures without one."""
    said = f"Changes {num_changed:,} of {words.count(num_written, 'caption')}."
    if not num_new:
        return said
    new = f"{num_new:,} pictures without a caption get one." if num_new > 1 else "1 picture without a caption gets one."
    return f"{said} {new}" if num_written else new
