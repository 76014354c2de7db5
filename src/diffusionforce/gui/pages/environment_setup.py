"""Setting up the training environment: how it stands, what would be brought and why, the steps, the buttons.

The same part is in the first steps and on the page of its own.
"""

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QFileDialog, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from diffusionforce.environment.backends import CPU, NEW_CUDA, OLD_CUDA
from diffusionforce.gui.environment_desk import AUTO, EnvironmentDesk
from diffusionforce.gui.model import environment_view
from diffusionforce.gui.model.language import figures, tr
from diffusionforce.gui.pages.environment_steps import StepsCard
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Icon, Label, set_property
from diffusionforce.gui.widgets.layout import add, column, hairline, holder, row
from diffusionforce.gui.widgets.path_line import PathLine
from diffusionforce.gui.widgets.segmented import Segmented

BUILDS = ((AUTO, "Automatic"), (NEW_CUDA, "CUDA 13.0"), (OLD_CUDA, "CUDA 12.6"), (CPU, "Processor only"))
FIELD_PX = 320


class HeadlinePanel(QFrame):
    """How it stands, large, with the buttons that belong to that."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("banner")
        self._icon = Icon("info", "info", 24)
        self.title, self.text = Label("", "section", wrap=True), Label("", "body2", wrap=True)
        self.buttons = QHBoxLayout()
        self.buttons.setSpacing(8)
        words = column(self.title, self.text, gap=3)
        self.setLayout(row(self._icon, (words, 1), self.buttons, gap=14, margins=(18, 16, 16, 16)))

    def show_headline(self, shown: environment_view.Headline) -> None:
        """Show it."""
        set_property(self, "tone", shown.tone)
        self._icon.set(shown.tone, shown.tone)
        self.title.set_text(shown.title)
        self.text.set_text(shown.text)
        self.text.setVisible(bool(shown.text))
        self.setAccessibleName(f"{tr(shown.title)} {tr(shown.text)}".strip())


class FactTile(QWidget):
    """One number of the plan, without a surface of its own: it stands in a card."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("clear")
        self.name, self.context = Label("", "muted"), Label("", "small")
        self.value, self.unit = Label("–", "value"), Label("", "muted")
        self.setLayout(column(self.name, row(self.value, self.unit, None, gap=5), self.context, gap=1))

    def show_fact(self, fact: environment_view.Fact) -> None:
        """Show it."""
        self.name.set_text(fact.name)
        self.value.set_text(f"{'≈ ' if fact.is_about else ''}{figures(fact.value)}")
        self.unit.set_text(fact.unit)
        self.context.set_text(fact.context, tone=fact.tone)
        self.setAccessibleName(f"{tr(fact.name)}: {fact.value} {fact.unit}. {tr(fact.context)}")


class PlanCard(Card):
    """What would be brought, where to, for what, and from where."""

    def __init__(self, desk: EnvironmentDesk) -> None:
        super().__init__("What is brought", gap=12)
        self._desk = desk
        self.facts = [FactTile() for _ in range(3)]
        self.build = Segmented(tuple(words for _, words in BUILDS), 0)
        self.build.chosen.connect(lambda index: desk.choose(BUILDS[index][0]))
        self.reason = Label("", "small", wrap=True)
        self.folder = PathLine("", name=tr("Folder"))
        self.wheels = Label("", "small", wrap=True)
        self.choose = Button("Choose wheels", "folder", size="small", tip="For a computer without internet")
        self.choose.clicked.connect(self._browse)
        self.forget = Button("Download instead", "download", size="small")
        self.forget.clicked.connect(lambda: desk.use_wheels(None))
        self._choices = holder(column(gap=12))
        tiles = row(*((tile, 1) for tile in self.facts), gap=20)
        about_build = column(Label(tr("Build"), "strong"), self.reason, gap=1)
        about_wheels = column(Label(tr("Source"), "strong"), self.wheels, gap=1)
        self.folder.setMinimumWidth(FIELD_PX)
        about_folder = column(Label(tr("Folder"), "strong"), Label("In the data folder.", "small"), gap=1)
        layout = self._choices.layout()
        assert isinstance(layout, QVBoxLayout)
        add(layout, hairline(), row((about_build, 1), self.build, gap=16))
        add(layout, hairline(), row((about_folder, 1), self.folder))
        add(layout, hairline(), row((about_wheels, 1), self.choose, self.forget))
        self.add(tiles, self._choices)

    def show_view(self, view: environment_view.EnvironmentView) -> None:
        """Show the plan."""
        for tile, fact in zip(self.facts, environment_view.facts(view), strict=True):
            tile.show_fact(fact)
        self.title.set_text("What it holds" if view.state == "ready" else "What is brought")
        self._choices.setVisible(not view.is_busy)
        # There may be another card like this one, and the choice is older than a change of language.
        self.build.choose([backend for backend, _ in BUILDS].index(self._desk.backend))
        plan = view.plan
        refused = tr("None suits as things are; another may do.") if view.plan_problem is not None else ""
        self.reason.set_text(plan.reason if plan is not None else refused)
        self.folder.show_path(view.status.folder if view.status is not None else "")
        from_wheels = plan is not None and bool(plan.wheels)
        self.wheels.set_text(
            tr("From the folder {path}").format(path=plan.wheels)
            if plan is not None and from_wheels
            else tr("From the internet: the package index, and PyTorch's own.")
        )
        self.forget.setVisible(self._desk.wheels is not None)

    def _browse(self) -> None:
        path = QFileDialog.getExistingDirectory(self, tr("Choose the folder with the wheels"))
        if path:
            self._desk.use_wheels(Path(path))


class EnvironmentSetup(QWidget):
    """Everything about setting the environment up.

    Args:
        desk: Who does it.
        leads_on: Whether a button leads on to a run once it is ready.
    """

    leave_asked = Signal()
    """It is ready, and the user wants to go on."""

    def __init__(self, desk: EnvironmentDesk, *, leads_on: bool = False) -> None:
        super().__init__()
        self._leads_on = leads_on
        self.setObjectName("clear")
        self.desk = desk
        self._parts = column(gap=14)
        self.setLayout(self._parts)

    def build(self) -> Iterator[None]:
        """Build it in pieces, once it has its place in the window."""
        self.headline = HeadlinePanel()
        self.start = Button("Set up now", "download", kind="primary", size="big")
        self.start.clicked.connect(self._on_start)
        self.cancel = Button("Cancel", "stop", kind="danger")
        self.cancel.clicked.connect(self.desk.cancel)
        self.copy = Button("Copy log", "copy")
        self.copy.clicked.connect(self._copy)
        self.leave = Button("Plan a run", "play", kind="primary", size="big")
        self.leave.clicked.connect(self.leave_asked)
        for button in (self.copy, self.cancel, self.start, self.leave):
            self.headline.buttons.addWidget(button)
        self._show_headline()
        self._parts.addWidget(self.headline)
        yield
        self.plan = PlanCard(self.desk)
        self.plan.show_view(self.desk.view)
        self._parts.addWidget(self.plan)
        yield
        self.steps = StepsCard()
        self._parts.addWidget(self.steps)
        self.desk.changed.connect(self._show)
        self._show()

    def _on_start(self) -> None:
        self.desk.start(self.desk.view.start()[0])

    def _show(self) -> None:
        view = self.desk.view
        self._show_headline()
        self.plan.show_view(view)
        self.steps.show_view(view)
        # What goes on, or went, is of more interest than what was going to be done.
        first = self.steps if view.is_building else self.plan
        self.steps.setVisible(view.state != "ready" or view.action in {"create", "repair"})
        if self._parts.indexOf(first) != 1:
            self._parts.removeWidget(first)
            self._parts.insertWidget(1, first)

    def _show_headline(self) -> None:
        view = self.desk.view
        self.headline.show_headline(environment_view.headline(view))
        action, words = view.start()
        self.start.set_text(words, icon="check" if action == "verify" else "download")
        leads_on = self._leads_on and view.state == "ready" and not view.is_busy and view.problem is None
        self.start.set_kind("" if action == "verify" or leads_on or view.is_spare else "primary")
        self.leave.setVisible(leads_on)
        self.copy.setVisible(view.problem is not None and not view.is_busy)
        self.start.setVisible(not view.is_busy)
        reason = view.plan_problem.sentence if view.plan_problem is not None else ""
        is_known = view.status is not None and (view.plan is not None or action == "verify")
        self.start.allow(is_known, reason=tr(reason) or tr("Looking at the environment"))
        self.cancel.setVisible(view.is_busy)
        self.cancel.allow(view.phase == "running", reason=tr("Stopping"))

    def _copy(self) -> None:
        QApplication.clipboard().setText(self.desk.told())
