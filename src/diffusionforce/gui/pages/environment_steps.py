"""The steps of building the environment as a list: what is done, what is being done and how far, what is to come."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from diffusionforce.gui.model import environment_view
from diffusionforce.gui.model.environment_view import EnvironmentView, StepView
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.bars import ProgressBar
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Elided, Icon, Label, set_property
from diffusionforce.gui.widgets.layout import column, hairline, row
from diffusionforce.wire.environment import BUILD_STEPS

_ICONS = {
    "done": ("ok", "ok"),
    "now": ("play", "focus"),
    "later": ("clock", "text3"),
    "stopped": ("pause", "text2"),
    "failed": ("err", "err"),
}
ROW_MARGIN_PX = 9
_WORDS = {"done": "done", "now": "going on", "later": "to come", "stopped": "stopped", "failed": "failed"}


class StepRow(QWidget):
    """One step: icon, title, what it is for or how far it is, a bar while it goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._icon = Icon("clock", "text3", 18)
        self.title, self.note, self.amount = Label("", "strong"), Elided("", "small"), Label("", "small")
        self.bar = ProgressBar(height=6)
        layout = row(gap=12, margins=(0, ROW_MARGIN_PX, 0, ROW_MARGIN_PX))
        layout.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        heading = row(self.title, None, self.amount, gap=8)
        layout.addLayout(column(heading, self.note, 3, self.bar, gap=1), 1)
        self.setLayout(layout)
        self.bar.hide()

    def show_step(self, step: StepView) -> None:
        """Show how a step stands."""
        self._icon.set(*_ICONS[step.state])
        set_property(self.title, "role", "body2" if step.state == "later" else "strong")
        self.title.set_text(step.title)
        self.title.updateGeometry()  # A heavier font needs more room.
        self.note.set_text(tr(step.note))
        self.amount.set_text(step.amount)
        self.bar.setVisible(step.share is not None)
        if step.share is not None:
            self.bar.show_share(step.share)
        self.setAccessibleName(f"{tr(step.title)}: {tr(_WORDS[step.state])}. {tr(step.note)} {step.amount}".strip())


class StepsCard(Card):
    """All steps."""

    def __init__(self) -> None:
        super().__init__("Steps", gap=0)
        self.rows = [StepRow() for _ in BUILD_STEPS]
        for i, one in enumerate(self.rows):
            if i:
                self.add(hairline())
            self.add(one)
        left, top, right, bottom = self.body.getContentsMargins()  # type: ignore[misc]
        self.body.setContentsMargins(left, top, right, bottom - ROW_MARGIN_PX)

    def show_view(self, view: EnvironmentView) -> None:
        """Show how each step stands."""
        for one, step in zip(self.rows, environment_view.steps(view), strict=True):
            one.show_step(step)
