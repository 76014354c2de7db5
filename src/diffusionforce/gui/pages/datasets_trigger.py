"""The panel with the trigger word: which captions have it, and a click that adds it to the others."""

from PySide6.QtWidgets import QLineEdit

from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import words
from diffusionforce.gui.model.caption_book import adding_trigger
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.datasets_panel import Panel
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import row


class TriggerPanel(Panel):
    """The word that calls the subject: which captions have it, and a click that adds it to the others."""

    def __init__(self, desk: DatasetDesk) -> None:
        super().__init__("Trigger word", "The word in your prompts that calls what is trained.")
        self._desk = desk
        self.word = QLineEdit()
        self.word.setAccessibleName(tr("Trigger word"))
        self.word.setPlaceholderText(tr("A word that means nothing yet"))
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
        pictures = desk.book.written(desk.table.captioned)
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
        missing = desk.book.without(word, desk.book.written(desk.table.captioned))
        desk.apply_captions("Add the trigger word", desk.book.plan(missing, adding_trigger(word)))
        self._refresh()
