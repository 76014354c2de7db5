"""Two panels that open under the page's header: the trigger word, and the folders of the dataset with their repeats."""

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFileDialog, QFrame, QLineEdit, QSpinBox, QVBoxLayout, QWidget

from diffusionforce.datasets.sets import MAX_REPEATS, SetFolder
from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import words
from diffusionforce.gui.model.caption_book import adding_trigger
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import add, clear, column, row


class _Panel(Card):
    """A card that closes with Esc or its button."""

    turned = Signal()
    """It was opened or closed."""

    def __init__(self, title: str, note: str) -> None:
        super().__init__(title, note, gap=10)
        self.close_panel = Button("", "x", kind="ghost", size="small", tip="Close")
        self.close_panel.clicked.connect(self.hide)
        self.header.addWidget(self.close_panel)
        self.hide()

    def setVisible(self, visible: bool) -> None:
        """Open or close."""
        super().setVisible(visible)
        self.turned.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close with Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)


class TriggerPanel(_Panel):
    """The word that calls the subject: which captions have it, and a click that adds it to the others."""

    def __init__(self, desk: DatasetDesk) -> None:
        super().__init__("Trigger word", "The word in your prompts that calls what is trained.")
        self._desk = desk
        self.word = QLineEdit()
        self.word.setAccessibleName("Trigger word")
        self.word.setPlaceholderText("A word that means nothing yet")
        self.word.setMaximumWidth(240)
        self.word.textChanged.connect(self._refresh)
        self.word.returnPressed.connect(self._keep)
        self.state = Label("", "body2")
        self.add_missing = Button("Add to the others", "tag")
        self.add_missing.clicked.connect(self._add)
        self.keep = Button("Use this word", "check")
        self.keep.clicked.connect(self._keep)
        self.add(row(self.word, self.keep, self.add_missing, None, gap=8), self.state)

    def open(self) -> None:
        """Show the panel."""
        self.word.setText(self._desk.trigger)
        self._refresh()
        self.show()
        self.word.setFocus()
        self.word.selectAll()

    def _refresh(self) -> None:
        desk, word = self._desk, self.word.text().strip()
        pictures = desk.table.captioned
        missing = desk.book.without(word, pictures)
        have = len(pictures) - len(missing)
        self.keep.allow(bool(word) and word != desk.trigger, reason="This is the trigger word already.")
        self.add_missing.allow(bool(word and missing) and desk.can_repair, reason="Nothing is missing.")
        self.add_missing.set_text(f"Add to the other {len(missing):,}" if missing else "Add to the others")
        self.state.set_text(
            f"In {have:,} of {words.count(len(pictures), 'caption')}." if word else "No word is in most captions."
        )

    def _keep(self) -> None:
        self._desk.set_trigger(self.word.text())
        self._refresh()

    def _add(self) -> None:
        desk, word = self._desk, self.word.text().strip()
        desk.set_trigger(word)
        missing = desk.book.without(word, desk.table.captioned)
        desk.apply_captions("Add the trigger word", desk.book.plan(missing, adding_trigger(word)))
        self._refresh()


class FoldersPanel(_Panel):
    """The folders that are trained on together, and how many times each counts."""

    def __init__(self, desk: DatasetDesk) -> None:
        super().__init__("Folders", "Repeats: how many times its pictures count in one pass over the data.")
        self._desk = desk
        self._folders: list[SetFolder] = []
        self._rows = QVBoxLayout()
        self._rows.setSpacing(6)
        self.add_folder = Button("Add a folder", "plus", size="small")
        self.add_folder.clicked.connect(self._browse)
        self.keep = Button("Use these folders", "check", size="small")
        self.keep.clicked.connect(self._keep)
        self.add(self._rows, row(self.add_folder, None, self.keep))

    def open(self) -> None:
        """Show the folders of the open dataset."""
        self._folders = list(self._desk.folders)
        self._fill()
        self.show()
        self.add_folder.setFocus()

    def take(self, path: str) -> None:
        """Add a folder to the list."""
        if path and all(folder.path != path for folder in self._folders):
            self._folders.append(SetFolder(path=path))
            self._fill()

    def _fill(self) -> None:
        clear(self._rows)
        for index, folder in enumerate(self._folders):
            self._rows.addWidget(self._line(index, folder))
        changed = self._folders != list(self._desk.folders) and bool(self._folders)
        self.keep.allow(changed and not self._desk.is_read_only, reason="Nothing has changed.")
        self.add_folder.allow(not self._desk.is_read_only, reason="It comes with the app and stays as it is.")

    def _line(self, index: int, folder: SetFolder) -> QWidget:
        repeats = QSpinBox()
        repeats.setRange(1, MAX_REPEATS)
        repeats.setPrefix("× ")
        repeats.setValue(folder.repeats)
        repeats.setFixedWidth(84)
        repeats.setAccessibleName(f"Repeats of {folder.path}")
        repeats.setEnabled(not self._desk.is_read_only)
        repeats.valueChanged.connect(lambda value: self._set_repeats(index, value))
        remove = Button("", "x", kind="ghost", size="small", tip="Take this folder out")
        remove.clicked.connect(lambda: self._remove(index))
        remove.allow(len(self._folders) > 1, reason="A dataset needs a folder.")
        number = sum(r.path.parent == Path(folder.path) for r in self._desk.table.used)
        note = words.count(number, "picture") if number else "not read yet"
        line = row(gap=10)
        name = Elided(folder.path, "body", mode=Qt.TextElideMode.ElideMiddle)
        add(line, Icon("folder", "text2", 16), (column(name, Label(note, "caption"), gap=0), 1), repeats, remove)
        holder = QFrame()
        holder.setObjectName("clear")
        holder.setLayout(line)
        return holder

    def _set_repeats(self, index: int, value: int) -> None:
        self._folders[index] = SetFolder(path=self._folders[index].path, repeats=value)
        self.keep.allow(self._folders != list(self._desk.folders), reason="Nothing has changed.")

    def _remove(self, index: int) -> None:
        del self._folders[index]
        self._fill()

    def _browse(self) -> None:
        self.take(QFileDialog.getExistingDirectory(self, "Choose a folder to train on together with the others"))

    def _keep(self) -> None:
        self.hide()
        self._desk.change_folders(self._folders)
