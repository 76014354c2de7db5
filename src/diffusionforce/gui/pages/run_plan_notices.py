"""What is in the way of a plan, in banners, each with the button that helps."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from diffusionforce.gui.model.plan import Plan
from diffusionforce.gui.model.plan_notices import PlanNotice, notices
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.layout import clear
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.wire import JobChange


class PlanNotices(QWidget):
    """Shows the banners of a plan; takes no room without any."""

    bring_asked = Signal()
    """What is lacking is to be brought."""
    place_asked = Signal(str)
    """A place of the window is to be opened."""
    profile_asked = Signal(str)
    """Another profile, by its name, is to be taken."""
    change_taken = Signal(object)
    """Other settings, a `JobChange`, are to be taken."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(12)
        self._shown: list[PlanNotice] = []
        self.hide()

    def show_plan(self, plan: Plan) -> None:
        """Show what is in the way of a plan."""
        self.show_notices(notices(plan))

    def show_notices(self, told: list[PlanNotice]) -> None:
        """Show banners, from top to bottom."""
        if told == self._shown:
            return
        self._shown = told
        clear(self._layout)
        for notice in told:
            banner = Banner(notice.tone, notice.title, notice.text, actions=tuple(self._buttons(notice)))
            self._layout.addWidget(banner)
        self.setVisible(bool(told))

    def _buttons(self, notice: PlanNotice) -> list[Button]:
        buttons = [self._change(change) for change in notice.changes]
        if notice.profile:
            use = Button("Use the pocket demo", "arrow", kind="primary")
            use.clicked.connect(lambda: self.profile_asked.emit(notice.profile))
            buttons.append(use)
        if notice.bring:
            bring = Button(notice.bring, "download", kind="" if notice.profile else "primary")
            bring.clicked.connect(self.bring_asked)
            buttons.append(bring)
        if notice.leads_to:
            lead = Button("Set it up", "download", kind="primary")
            lead.clicked.connect(lambda: self.place_asked.emit(notice.leads_to))
            buttons.append(lead)
        if notice.command:
            copy = Button("Copy the command", "copy", tip=notice.command)
            copy.clicked.connect(lambda: QApplication.clipboard().setText(notice.command))
            buttons.append(copy)
        return buttons

    def _change(self, change: JobChange) -> Button:
        button = Button(f"Use {change.words.partition(' (')[0]}", tip=change.words)
        button.clicked.connect(lambda: self.change_taken.emit(change))
        return button
