"""The cards of a plan: what will happen, this run's own numbers, its pictures, and whether it could start."""

from PySide6.QtCore import QLocale, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLineEdit, QSpinBox

from diffusionforce.gui.model import language, plan_words, run_time
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.model.plan import Plan
from diffusionforce.gui.model.plan_checks import Check, Standing
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Elided, Icon, Label, Wrapped
from diffusionforce.gui.widgets.layout import add, clear, column, hairline, holder, row
from diffusionforce.gui.widgets.picture_strip import PictureStrip


class EventsCard(Card):
    """What the run will do, in order."""

    def __init__(self) -> None:
        super().__init__("What will happen")
        self._events = column(gap=12)
        self._shown: object = None
        self.add(self._events)

    def show_plan(self, plan: Plan) -> None:
        """Show it for a plan."""
        events = plan_words.what_will_happen(plan)
        if self._shown == (events, plan.profile is None):
            return
        self._shown = (events, plan.profile is None)
        clear(self._events)
        for icon, what, why in events:
            line = row(gap=12)
            line.addWidget(Icon(icon, "text2", 18), 0, Qt.AlignmentFlag.AlignTop)
            reason = Elided(tr(why), "small", mode=Qt.TextElideMode.ElideMiddle)
            add(line, (column(Elided(tr(what), "strong"), reason, gap=1), 1))
            self._events.addLayout(line)
        if plan.profile is None:
            self._events.addWidget(Label("Choose a profile to see it.", "body2"))


class RunCard(Card):
    """What can be set for this run alone, and the facts that people check."""

    steps_changed = Signal(int)
    trigger_changed = Signal()

    def __init__(self) -> None:
        super().__init__("This run", gap=10)
        self.steps = QSpinBox()
        self.steps.setRange(1, 1_000_000)
        self.steps.setGroupSeparatorShown(True)
        self.steps.setLocale(QLocale(language.current()))
        self.steps.setAccessibleName(tr("Steps of this run"))
        self.steps.setFixedSize(110, 32)
        self.steps.setKeyboardTracking(False)
        self.steps.valueChanged.connect(self.steps_changed)
        self.trigger = QLineEdit()
        self.trigger.setAccessibleName(tr("Trigger word of this run"))
        self.trigger.setToolTip(tr("The word that calls the subject: previews ask for it, and the LoRA file bears it."))
        self.trigger.setFixedSize(150, 32)
        self.trigger.setMaxLength(60)
        self.trigger.editingFinished.connect(self.trigger_changed)
        self._about = Label("", "small", wrap=True)
        self._facts = QGridLayout()
        self._facts.setHorizontalSpacing(8)
        self._facts.setVerticalSpacing(6)
        self._facts.setColumnStretch(1, 1)
        self._shown: object = None
        self.add(
            row(Label("Steps", "strong"), None, self.steps),
            row(Label("Trigger word", "strong"), None, self.trigger),
            self._about,
            hairline(),
            self._facts,
        )

    def set_steps(self, steps: int) -> None:
        """Show a number of steps that was not set here."""
        self.steps.blockSignals(True)
        self.steps.setValue(steps)
        self.steps.blockSignals(False)

    def show_plan(self, plan: Plan) -> None:
        """Show the numbers of a plan."""
        self.steps.setEnabled(plan.profile is not None)
        self._show_trigger(plan)
        facts = plan_words.facts_of_run(plan)
        if facts:
            facts.append((noted("Time"), run_time.told(plan)))
        if facts == self._shown:
            return
        self._shown = facts
        clear(self._facts)
        for i, (name, value) in enumerate(facts):
            words = Elided(tr(value))
            words.setAlignment(Qt.AlignmentFlag.AlignRight)
            self._facts.addWidget(Label(name, "small"), i, 0)
            self._facts.addWidget(words, i, 1)

    def _show_trigger(self, plan: Plan) -> None:
        is_known = plan.profile is not None and plan.dataset is not None
        self.trigger.setEnabled(is_known)
        self.trigger.setPlaceholderText(tr("none") if is_known else "")
        word = plan.trigger if is_known else ""
        if self.trigger.text() != word:
            self.trigger.setText(word)
            self.trigger.setCursorPosition(0)
        note = plan_words.about_trigger(plan)
        self._about.set_text(note)
        self._about.setVisible(bool(note))


class PicturesCard(Card):
    """Some pictures of the dataset, and where it lies."""

    def __init__(self, store: PictureStore) -> None:
        super().__init__("Pictures")
        self._where = Elided("", "muted", mode=Qt.TextElideMode.ElideMiddle)
        self._pictures = PictureStrip(store)
        self.header.removeWidget(self.note)
        self.header.addWidget(self._where, 1)
        self.add(self._pictures)

    def show_plan(self, plan: Plan) -> None:
        """Show the pictures of a plan."""
        dataset = plan.dataset
        items = dataset.items if dataset is not None else ()
        self._pictures.show_pictures([(item.picture, item.caption) for item in items])
        self.setVisible(bool(items) or plan.is_checking)
        place = str(dataset.root) if dataset is not None else plan.dataset_name
        self._where.set_text(tr("checking") if plan.is_checking else place)

    def show_progress(self, done: int, total: int) -> None:
        """Show how many pictures were looked at."""
        self._where.set_text(tr(f"checking {done} of {total}"))


class ChecksCard(Card):
    """Whether the run could start, and the checklist that says why."""

    def __init__(self) -> None:
        super().__init__(gap=8)
        self.headline = Label("", "section")
        self._lines = column(gap=8)
        self._shown: object = None
        self.add(self.headline, self._lines)

    def show_checks(self, checks: list[Check], standing: Standing) -> None:
        """Show a checklist and what it comes to."""
        self.headline.set_text(standing.title)
        if checks == self._shown:
            return
        self._shown = checks
        clear(self._lines)
        for check in checks:
            parts = row()
            parts.addWidget(Icon(check.tone, check.tone, 15), 0, Qt.AlignmentFlag.AlignTop)
            parts.addWidget(Wrapped(tr(check.text)), 1)
            line = holder(parts)
            line.setToolTip(tr(check.sentence))
            self._lines.addWidget(line)
