"""The caption of the chosen file: typed beside the picture, saved by itself, and whether it has the trigger word."""

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import words
from diffusionforce.gui.model.caption_book import adding_trigger, num_words
from diffusionforce.gui.model.dataset_table import Row
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import column, hairline, row

SAVE_AFTER_MS = 1000
EDITOR_PX, EDITOR_COMPACT_PX = 124, 96


class CaptionEditor(QWidget):
    """Edits one caption at a time."""

    def __init__(self, desk: DatasetDesk) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._desk = desk
        self._row: Row | None = None
        self._original = ""
        self._saving = QTimer(self)
        self._saving.setSingleShot(True)
        self._saving.setInterval(SAVE_AFTER_MS)
        self._saving.timeout.connect(self._write)
        self._words = Label("", "muted")
        self.editor = QPlainTextEdit()
        self.editor.setAccessibleName(tr("Caption"))
        self.editor.setTabChangesFocus(True)
        self.editor.setPlaceholderText(tr("Write what the picture shows"))
        self.editor.setFixedHeight(EDITOR_PX)
        self.editor.textChanged.connect(self._on_typed)
        self.state = Label("", "muted")
        self.revert = Button("Revert", kind="ghost", size="small")
        self.revert.clicked.connect(self._revert)
        self.coverage = Label("", "small", wrap=True)
        self.add_missing = Button("Add it to the missing ones", "tag", size="small")
        self.add_missing.clicked.connect(self._add_missing)
        self.setLayout(
            column(
                hairline(),
                row(Label("Caption", "strong"), None, self._words),
                self.editor,
                row(self.state, None, self.revert),
                self.coverage,
                self.add_missing,
                gap=8,
            )
        )

    def show_row(self, shown: Row | None) -> None:
        """Show the caption of another file; what was typed for the last one has to be saved by then."""
        self._row = shown
        self._original = text = self._kept()
        self._set_text(text)
        self.editor.setReadOnly(self._desk.is_read_only)
        self.state.set_text("Comes with the app, so it stays as it is" if self._desk.is_read_only else "")
        self.revert.hide()
        self._show_coverage()

    def refresh(self, shown: Row | None) -> None:
        """Show what captions are now, unless the user is typing."""
        self._row = shown
        is_typing = shown is None or self._saving.isActive()
        if not is_typing and self.editor.toPlainText().split() != self._kept().split():
            self._set_text(self._kept())
        self._show_coverage()

    def save(self) -> None:
        """Save what was typed, where it was."""
        if self._saving.isActive():
            self._write()

    def _write(self) -> None:
        self._saving.stop()
        if self._row is not None and not self._desk.is_read_only:
            text = self.editor.toPlainText()
            self._desk.write_caption(self._row.path, text)
            self.state.set_text("Saved" if text.strip() else "Saved: empty, so it is left out")

    def take_focus(self) -> None:
        """Put the cursor into the caption."""
        self.editor.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def set_compact(self, compact: bool) -> None:
        """Lower the editor in a narrow window."""
        self.editor.setFixedHeight(EDITOR_COMPACT_PX if compact else EDITOR_PX)

    def _kept(self) -> str:
        return self._desk.book.text(self._row.path) if self._row is not None else ""

    def _set_text(self, text: str) -> None:
        if text != self.editor.toPlainText():
            self.editor.blockSignals(True)
            self.editor.setPlainText(text)
            self.editor.blockSignals(False)
        self._words.set_text(words.count(num_words(text), "word"))

    def _on_typed(self) -> None:
        text = self.editor.toPlainText()
        self._words.set_text(words.count(num_words(text), "word"))
        self.state.set_text("Not saved yet" if text.strip() else "Empty: it would be left out")
        self.revert.setVisible(text != self._original)
        self._saving.start()

    def _revert(self) -> None:
        self._set_text(self._original)
        self._write()
        self.revert.hide()
        self.state.set_text("As it was")

    def _show_coverage(self) -> None:
        desk = self._desk
        captions, missing = desk.book.written(desk.table.captioned), desk.missing_trigger
        self.coverage.setVisible(bool(desk.trigger))
        have = len(captions) - len(missing)
        if desk.trigger:
            whole = words.count(len(captions), "caption")
            self.coverage.set_text(
                f"Trigger word “{desk.trigger}” is in all {whole}."
                if not missing
                else f"Trigger word “{desk.trigger}” is in {have:,} of {whole}."
            )
        self.add_missing.setVisible(bool(desk.trigger and missing) and desk.can_repair)
        self.add_missing.set_text(
            "Add it to the missing one" if len(missing) == 1 else f"Add it to the {len(missing):,} missing"
        )

    def _add_missing(self) -> None:
        self.save()
        desk = self._desk
        missing = desk.missing_trigger
        desk.apply_captions("Add the trigger word", desk.book.plan(missing, adding_trigger(desk.trigger)))
