"""The line of the plan that says which run goes on meanwhile, with the way to it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.layout import clear
from diffusionforce.gui.widgets.notices import Banner


class GoingLine(QWidget):
    """Names the run that goes on; takes no room where none does."""

    show_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self.text = ""
        self.hide()

    def show_run(self, title: str, *, is_paused: bool) -> None:
        """Show a run that goes on, by its title; an empty one where none does."""
        text = tr("{name} is paused") if is_paused else tr("{name} is training")
        text = text.format(name=title) if title else ""
        if text == self.text:
            return
        self.text = text
        clear(self._layout)
        if text:
            show = Button("Show it", "chev-right", size="small")
            show.clicked.connect(self.show_asked)
            self._layout.addWidget(Banner("info", text, actions=(show,)))
        self.setVisible(bool(text))
