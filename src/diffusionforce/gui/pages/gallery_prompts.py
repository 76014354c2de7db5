"""The prompts of the samples to come, changed while the run goes on: one a line, as many as the profile may have."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import column, row

MAX_PROMPTS = 64
HEIGHT_PX = 118


class PromptEditor(QFrame):
    """A place to edit prompts; it is shown where somebody asks for it."""

    applied = Signal(tuple, bool)
    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("bar")
        self.editor = QPlainTextEdit()
        self.editor.setAccessibleName(tr("Prompts for the next previews, one a line"))
        self.editor.setFixedHeight(HEIGHT_PX)
        self.editor.textChanged.connect(self._check)
        self._note = Label("", "small", wrap=True)
        self.apply = Button("Use from the next previews on", "check")
        self.apply.clicked.connect(lambda: self._apply(draws=False))
        self.draw = Button("Draw them now", "camera", kind="primary")
        self.draw.clicked.connect(lambda: self._apply(draws=True))
        cancel = Button("Cancel")
        cancel.clicked.connect(self.closed)
        title = Label("Prompts for the next previews, one a line", "strong")
        foot = row((self._note, 1), cancel, self.apply, self.draw, gap=8)
        self.setLayout(column(title, self.editor, foot, gap=8, margins=(14, 10, 14, 12)))

    def edit(self, prompts: tuple[str, ...]) -> None:
        """Start from these prompts."""
        self.editor.setPlainText("\n".join(prompts))
        self._check()
        self.editor.setFocus()

    @property
    def prompts(self) -> tuple[str, ...]:
        """What stands there, without empty lines."""
        return tuple(line.strip() for line in self.editor.toPlainText().splitlines() if line.strip())

    def _check(self) -> None:
        number = len(self.prompts)
        reason = ""
        if not number:
            reason = "Write at least one prompt."
        elif number > MAX_PROMPTS:
            reason = f"{number} prompts are too many: {MAX_PROMPTS} are possible."
        self._note.set_text(
            reason or "Changed prompts get rows of their own; the rows there are keep their pictures.",
            tone="err" if reason else "",
        )
        self.apply.allow(not reason, reason=reason)
        self.draw.allow(not reason, reason=reason)

    def _apply(self, *, draws: bool) -> None:
        self.applied.emit(self.prompts, draws)
        self.closed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close with Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)
