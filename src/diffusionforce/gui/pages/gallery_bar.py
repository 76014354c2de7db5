"""What can be done with the sample that is chosen in the grid, in one line under it."""

from PySide6.QtWidgets import QFrame

from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import row

FIXED = "This run was started without prompts, so nothing that draws previews is loaded."


class GalleryBar(QFrame):
    """Step and prompt of the chosen sample, and the buttons."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("bar")
        self._step, self._prompt = Label("", "strong"), Elided("", "body2")
        self.favourite = Button("Favourite", "star", kind="ghost", tip="F")
        self.compare = Button("Compare with before", "compare", tip="C")
        self.whole = Button("Whole screen", "expand", kind="ghost", tip="F11")
        self.copy = Button("Copy prompt", "copy", kind="ghost", tip="Copy the prompt")
        self.edit = Button("Edit prompts", "sliders", kind="ghost", tip="The prompts of the previews to come")
        self.setLayout(
            row(
                self._step,
                (self._prompt, 1),
                self.edit,
                self.favourite,
                self.compare,
                self.copy,
                self.whole,
                gap=8,
                margins=(14, 8, 10, 8),
            )
        )

    @property
    def prompt(self) -> str:
        """The prompt that is shown."""
        return self._prompt.text()

    def show_cell(self, step: str, prompt: str, *, is_drawn: bool, is_marked: bool) -> None:
        """Show another sample."""
        self._step.set_text(step)
        self._prompt.set_text(prompt)
        self.favourite.set_text("Remove favourite" if is_marked else "Favourite")
        self.favourite.allow(is_drawn, reason="It is not drawn yet.")
        self.whole.allow(is_drawn, reason="It is not drawn yet.")

    def show_edit(self, session: RunSession) -> None:
        """Offer to edit the prompts while the run goes on."""
        self.edit.setVisible(not session.is_over and session.model.outcome is None)
        takes = session.model.takes_prompts
        self.edit.allow(takes, reason="" if takes else FIXED)

    def set_compact(self, compact: bool) -> None:
        """Leave room for the prompt in a narrow window."""
        for button in (self.copy, self.whole):
            # Its name for screen readers stays.
            button.setText("" if compact else f" {button.accessibleName()}")
