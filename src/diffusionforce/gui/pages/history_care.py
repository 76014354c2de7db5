"""What is asked in the history before it is done: how much of a run goes to the trash, and what it is called."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model import history
from diffusionforce.gui.model.history import PastRun
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import clear, column, row
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.runs.labels import MAX_NAME, MAX_NOTES, RunLabel, write_label

NOTES_PX = 84


class LabelEditor(QFrame):
    """A name and notes for one run."""

    kept = Signal(object)
    """The `RunLabel` as it was typed."""
    closed = Signal()

    def __init__(self, run: PastRun) -> None:
        super().__init__()
        self.setObjectName("bar")
        self.name, self.notes = QLineEdit(run.label.name), QPlainTextEdit(run.label.notes)
        self.name.setMaxLength(MAX_NAME)
        self.name.setPlaceholderText(run.title or run.state.title)
        self.name.setAccessibleName(tr("Name"))
        self.name.returnPressed.connect(self._keep)
        self.notes.setPlaceholderText(tr("What was tried, and how it came out"))
        self.notes.setAccessibleName(tr("Notes"))
        self.notes.setTabChangesFocus(True)
        self.notes.setFixedHeight(NOTES_PX)
        keep, cancel = Button("Save", "check", kind="primary"), Button("Cancel")
        keep.clicked.connect(self._keep)
        cancel.clicked.connect(self.closed)
        head = row(Label("Name and notes", "strong"), Label(run.when, "muted"), None)
        self.setLayout(
            column(head, self.name, self.notes, row(None, cancel, keep), gap=8, margins=(14, 10, 14, 12)),
        )

    def _keep(self) -> None:
        notes = self.notes.toPlainText().strip()[:MAX_NOTES]
        self.kept.emit(RunLabel(name=self.name.text().strip(), notes=notes))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close with Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)


class RunCare(QWidget):
    """Shows one question at a time above the list of runs."""

    changed = Signal()
    """A run was renamed or deleted: the list is to be read again."""
    renamed = Signal(object)
    """The `PastRun` as it was before its name or notes were changed."""
    deleted = Signal(object)
    """A `PastRun` is to go to the trash."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._place = QVBoxLayout(self)
        self._place.setContentsMargins(0, 0, 0, 0)
        self._asked = 0
        self.editor: LabelEditor | None = None
        self.hide()

    def close_question(self) -> None:
        """Take the question away."""
        self._asked += 1
        self.editor = None
        clear(self._place)
        self.hide()

    def edit(self, run: PastRun) -> None:
        """Let the user name a run."""
        self.close_question()
        self.editor = LabelEditor(run)
        self.editor.kept.connect(lambda label: self._keep(run, label))
        self.editor.closed.connect(self.close_question)
        self._show(self.editor)
        self.editor.name.setFocus()

    def _keep(self, run: PastRun, label: RunLabel) -> None:
        def done() -> None:
            self.changed.emit()
            if label != run.label:
                self.renamed.emit(run)

        self._work(lambda: write_label(run.root, label), done=done)

    def put_back_label(self, run: PastRun) -> None:
        """Give a run the name and the notes again that it had."""
        self._work(lambda: write_label(run.root, run.label), done=self.changed.emit)

    def ask_delete(self, run: PastRun, *, needed_by: str) -> None:
        """Say how much a run holds, and ask whether it goes to the trash.

        Args:
            run: The run.
            needed_by: Name of a waiting run that goes on from it; empty for none.
        """
        self.close_question()
        if needed_by:
            text = "Remove that one from the queue first."
            self.say("warn", f"{run.name} is needed: {needed_by} waits to go on from it.", text)
            return
        asked = self._asked
        background.run(
            self,
            lambda: history.delete_words(run),
            done=lambda text: self._ask(asked, run, text),
            failed=lambda error: self._refuse(error),
        )

    def _ask(self, asked: int, run: PastRun, text: str) -> None:
        if asked != self._asked:
            return
        keep = Button("Keep it")
        delete = Button("Move to the trash", "trash", kind="danger")
        keep.clicked.connect(self.close_question)
        delete.clicked.connect(lambda: self.delete(run))
        self._show(Banner("warn", f"Delete {run.name}, {run.when}?", text, icon="trash", actions=(keep, delete)))
        keep.setFocus()

    def delete(self, run: PastRun) -> None:
        """Delete a run without another question."""
        self.close_question()
        self.deleted.emit(run)

    def _work(self, work: Callable[[], None], *, done: Callable[[], None]) -> None:
        self.close_question()
        background.run(self, work, done=lambda _: done(), failed=self._refuse)

    def _refuse(self, error: UserError) -> None:
        self.say("err", error.sentence, error.hint)
        self.changed.emit()

    def say(self, tone: str, title: str, text: str = "") -> None:
        """Show a message that goes when it was read."""
        self.close_question()
        close = Button("", "x", kind="ghost", size="small", tip="Close")
        close.clicked.connect(self.close_question)
        self._show(Banner(tone, title, text, actions=(close,)))

    def _show(self, part: QWidget) -> None:
        self._place.addWidget(part)
        self.show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close with Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.close_question()
        else:
            super().keyPressEvent(event)
