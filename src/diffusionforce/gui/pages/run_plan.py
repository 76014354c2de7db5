"""The Run place before a run: choose profile, dataset and output, see what will happen, start."""

import functools
from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QApplication, QGridLayout, QLineEdit, QSpinBox, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui import background, dataset_reading
from diffusionforce.gui.forecaster import Forecaster
from diffusionforce.gui.model import plan_words
from diffusionforce.gui.model.forecast_desk import Machine
from diffusionforce.gui.model.plan import Plan
from diffusionforce.gui.model.readiness import CHECKING, ReadinessView
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.pages.run_forecast import ForecastCard
from diffusionforce.gui.pages.run_picks import RunPicks
from diffusionforce.gui.pages.run_ways import WaysCard
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.readiness_desk import ReadinessDesk
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import add, clear, column, hairline, holder, row, scrolling
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.gui.widgets.picture_strip import PictureStrip
from diffusionforce.job import find_profile, read_profile, with_absolute_weights
from diffusionforce.rig import RigReport
from diffusionforce.wire import JobChange

RIGHT_PX, RIGHT_COMPACT_PX = 352, 304
READ_DELAY_MS = 60
MOST_CHANGES = 2
"""Of other settings that would fit, each with a button."""


class RunPlanPage(Page):
    """Plans the next run."""

    start_asked = Signal(object)
    enqueue_asked = Signal(object)

    def __init__(self, preferences: Preferences, store: PictureStore, devices: QWidget) -> None:
        super().__init__()
        self.plan = Plan()
        self._preferences = preferences
        self._reading = 0
        self._shown: dict[str, object] = {}
        self.header = Header("New run", "Choose what to train. Nothing is loaded before you start.")
        self.start = Button("Start training", "play", kind="primary", size="big")
        self.start.setShortcut("Ctrl+Return")
        self.start.clicked.connect(self._on_start)
        self.enqueue = Button("Add to queue", "queue", tip="The run starts when those before it have ended.")
        self.enqueue.clicked.connect(self._on_enqueue)
        self.header.add_actions(self.enqueue, self.start)
        self.picks = RunPicks(preferences, store)
        self.picks.profile_chosen.connect(self.choose_profile)
        self.picks.dataset_chosen.connect(self.choose_dataset)
        self.picks.output_chosen.connect(self.choose_output)
        self._notice = column(gap=12)
        self._events = column(gap=12)
        self._pictures = PictureStrip(store)
        self._dataset_note = Elided("", "muted")
        self._steps = QSpinBox()
        self._trigger = QLineEdit()
        self._trigger_note = Label("", "small", wrap=True)
        self._facts = QGridLayout()
        self._checks = column(gap=8)
        self._check_title = Label("Ready to start", "section")
        self._right = holder(column(gap=14))
        self._devices = devices
        self._machine = Machine()
        self.forecaster = Forecaster(self)
        self.forecast = ForecastCard()
        self.ways = WaysCard()
        self.ways.way_picked.connect(self._on_way_picked)
        self.forecaster.changed.connect(self._on_forecast)
        self.readiness = ReadinessDesk(self)
        self.readiness.changed.connect(self._on_readiness)
        quitting = QApplication.instance()
        assert quitting is not None
        quitting.aboutToQuit.connect(self.readiness.close)
        self.forecast.retry_asked.connect(self.forecaster.again)
        self._build()
        last = preferences.dataset
        if last and (last.startswith("demo:") or Path(last).is_dir()):
            self.plan.choose_dataset(last)
        self.choose_profile(preferences.profile or "pocket-demo")

    def _build(self) -> None:
        left = column(self.forecast, self._happening_card(), self._dataset_card(), None, gap=14)
        right = self._right.layout()
        assert right is not None
        for part in (self.ways, self._run_card(), self._checks_card(), self._devices):
            right.addWidget(part)
        right.addStretch(1)  # type: ignore[attr-defined]
        self._right.setFixedWidth(RIGHT_PX)
        lower = holder(row((holder(left), 1), self._right, gap=14))
        content = holder(column(self.picks, self._notice, lower, None, gap=14))
        self.body.addWidget(self.header)
        self.body.addWidget(scrolling(content, name="clear"), 1)

    def _happening_card(self) -> Card:
        card = Card("What will happen")
        return card.add(self._events)

    def _dataset_card(self) -> Card:
        card = self._pictures_card = Card("Pictures")
        card.header.removeWidget(card.note)
        card.header.addWidget(self._dataset_note, 1)
        return card.add(self._pictures)

    def _run_card(self) -> Card:
        card = Card("This run", gap=10)
        self._steps.setRange(1, 1_000_000)
        self._steps.setGroupSeparatorShown(True)
        self._steps.setAccessibleName("Steps of this run")
        self._steps.setFixedSize(110, 32)
        self._steps.setKeyboardTracking(False)
        self._steps.valueChanged.connect(self._on_steps_changed)
        self._trigger.setAccessibleName("Trigger word of this run")
        self._trigger.setToolTip("The word that calls the subject: previews ask for it, and the LoRA file bears it.")
        self._trigger.setFixedSize(150, 32)
        self._trigger.setMaxLength(60)
        self._trigger.editingFinished.connect(self._on_trigger_changed)
        self._facts.setHorizontalSpacing(12)
        self._facts.setVerticalSpacing(6)
        self._facts.setColumnStretch(1, 1)
        return card.add(
            row(Label("Steps", "strong"), None, self._steps),
            row(Label("Trigger word", "strong"), None, self._trigger),
            self._trigger_note,
            hairline(),
            self._facts,
        )

    def _checks_card(self) -> Card:
        card = Card(gap=8)
        return card.add(self._check_title, self._checks)

    def choose_profile(self, name: str) -> None:
        """Choose a profile by name or path; one that cannot be read is shown with what is wrong with it."""
        try:
            path = find_profile(name)
            profile = with_absolute_weights(read_profile(path), base=path.parent)
        except UserError as error:
            self.plan.profile_name, self.plan.profile, self.plan.profile_problem = name, None, error
        else:
            self.plan.choose_profile(name, profile, profile_dir=path.parent)
            self._preferences.profile = name
            self._steps.blockSignals(True)
            self._steps.setValue(profile.training.steps)
            self._steps.blockSignals(False)
        self._read_dataset()

    def choose_dataset(self, folder: str) -> None:
        """Choose a dataset: `demo:NAME` or the path of a folder."""
        self.plan.choose_dataset(folder)
        self._read_dataset()

    def choose_output(self, folder: str) -> None:
        """Choose the run folder; an empty text makes a new one among the others."""
        self.plan.output = Path(folder) if folder else None
        self.refresh()

    def _read_dataset(self) -> None:
        """Read the dataset on a thread; an answer that comes after another choice is dropped."""
        self._reading += 1
        asked = self._reading
        self.refresh()
        choice = self.plan.dataset_name
        if choice:
            # Not at once: when the window opens, its first picture comes first. So the wait begins with the event loop.
            later = functools.partial(QTimer.singleShot, READ_DELAY_MS, self, lambda: self._read(asked, choice))
            QTimer.singleShot(0, self, later)

    def _read(self, asked: int, choice: str) -> None:
        base = self.plan.dataset_base

        def progress(done: int, total: int) -> None:
            background.tell(self, self._on_progress, (asked, done, total))

        if asked == self._reading:
            background.run(
                self,
                lambda: dataset_reading.read(choice, base=base, progress=progress),
                done=lambda dataset: self._on_dataset(asked, dataset),
                failed=lambda error: self._on_dataset(asked, error),
            )

    def _on_progress(self, news: tuple[int, int, int]) -> None:
        asked, done, total = news
        if asked == self._reading and self.plan.is_checking:
            self._dataset_note.set_text(f"checking {done} of {total}")

    def _on_dataset(self, asked: int, answer: object) -> None:
        if asked != self._reading:
            return
        if isinstance(answer, UserError):
            self.plan.dataset_problem = answer
        else:
            self.plan.dataset = answer  # type: ignore[assignment]
            self._preferences.dataset = self.plan.dataset_choice
            if self.plan.dataset_choice:
                self._preferences.remember_folder(self.plan.dataset_choice)
        self.refresh()

    def show_machine(self, report: RigReport) -> None:
        """Take what the machine has. Its cards stand in the forecast; without any, the devices have a card here."""
        self.forecast.show_machine(report)
        self._devices.setVisible(not report.cards)
        self.look_at_cards((card.index, card.used_bytes) for card in report.cards)

    def look_at_cards(self, taken: Iterable[tuple[int, int]]) -> None:
        """Take the memory that other programs hold of each card, by index and in bytes; forecasts depend on it."""
        if self.isVisible() and self._machine.look(taken):
            self.refresh()

    def _ask_for_forecast(self) -> None:
        """Want the forecast of the present choice; while the page is hidden none is wanted."""
        if self.plan.is_checking and self.isVisible():
            self.forecaster.wait()
        else:
            dataset = self.plan.dataset
            job = self.plan.forecast_job() if self.isVisible() else None
            number = len(dataset.items) if dataset is not None else 0
            self.forecaster.want(job, machine=self._machine.words, num_pictures=number)
        self.plan.memory = self.forecaster.status

    def _look_for_engine(self) -> None:
        """Have it looked whether engine and files of the present choice are here, while the page is seen."""
        if self.isVisible():
            self.readiness.want(self.plan.readiness_job())
            self.plan.readiness = self.readiness.view
        elif self.plan.needs_engine:
            self.plan.readiness = CHECKING

    def _on_readiness(self) -> None:
        self.plan.readiness = self.readiness.view
        if self.plan.needs_engine and self.plan.readiness.is_ready and self.plan.memory.problem is not None:
            self.forecaster.again()  # What was lacking may have kept the forecast from being made.
        self._show()

    def _on_forecast(self) -> None:
        self.plan.memory = self.forecaster.status
        self._show()

    def refresh(self) -> None:
        """Show the plan as it is now, and have its forecast made."""
        self._ask_for_forecast()
        self._look_for_engine()
        self._show()

    def _show(self) -> None:
        self.picks.show_plan(self.plan)
        self._show_forecast()
        self._show_notice()
        self._show_events()
        self._show_facts()
        self._show_trigger()
        self._show_pictures()
        self._show_checks()
        reason = self.plan.start_reason()
        self.start.allow(not reason, reason=reason)
        self.enqueue.allow(not reason, reason=reason)
        self._steps.setEnabled(self.plan.profile is not None)

    def _is_new(self, what: str, value: object) -> bool:
        """Tell whether a part of the page shows something else than this; it is then built anew."""
        is_new = what not in self._shown or self._shown[what] != value
        self._shown[what] = value
        return is_new

    def _show_notice(self) -> None:
        notices: list[tuple[str, str, str, ReadinessView | tuple[JobChange, ...] | None]] = []
        problem, tone = self.plan.dataset_problem, "err"
        refusal = self.plan.refusal()
        if refusal is not None:
            problem, tone = refusal, "err" if self.plan.profile_problem is not None else "warn"
        if problem is not None:
            lacking = self.plan.readiness if problem is self.plan.readiness.problem else None
            text = lacking.doing if lacking is not None and lacking.doing else problem.hint
            notices.append((tone, problem.sentence, text, lacking))
        forecast = self.plan.memory.current
        if forecast is not None and forecast.refusal:
            notices.append(("err", *plan_words.memory_refusal(forecast), forecast.changes[:MOST_CHANGES]))
        if self._is_new("notices", notices):
            clear(self._notice)
            for tone, title, text, lacking in notices:
                self._notice.addWidget(Banner(tone, title, text, actions=self._remedies(lacking)))

    def _remedies(self, lacking: ReadinessView | tuple[JobChange, ...] | None) -> tuple[Button, ...]:
        """The buttons for what is lacking: to bring it, to copy the command that does, to do with other settings."""
        if lacking is None:
            return ()
        if isinstance(lacking, tuple):
            return tuple(map(self._change, lacking))
        if lacking.button:
            bring = Button(lacking.button, "download", kind="primary")
            bring.clicked.connect(self.readiness.bring)
            return (bring,)
        if lacking.copyable and not lacking.doing:
            copy = Button("Copy the command", "copy", tip=lacking.copyable)
            copy.clicked.connect(lambda: QApplication.clipboard().setText(lacking.copyable))
            return (copy,)
        return ()

    def _change(self, change: JobChange) -> Button:
        button = Button(f"Take {change.words.partition(' (')[0]}", tip=change.words)
        button.clicked.connect(lambda: self._on_change_taken(change))
        return button

    def _on_change_taken(self, change: JobChange) -> None:
        self.plan.change_settings(change.settings)
        self.refresh()

    def _show_forecast(self) -> None:
        memory = self.plan.memory
        self.forecast.show_status(memory)
        self.ways.show_status(memory, picked=self.plan.way)

    def _show_events(self) -> None:
        events = plan_words.what_will_happen(self.plan)
        if not self._is_new("events", (events, self.plan.profile is None)):
            return
        clear(self._events)
        for icon, what, why in events:
            line = row(gap=12)
            line.addWidget(Icon(icon, "text2", 18), 0, Qt.AlignmentFlag.AlignTop)
            add(
                line,
                (column(Elided(what, "strong"), Elided(why, "small", mode=Qt.TextElideMode.ElideMiddle), gap=1), 1),
            )
            self._events.addLayout(line)
        if self.plan.profile is None:
            self._events.addWidget(Label("Choose a profile to see it.", "body2"))

    def _show_facts(self) -> None:
        profile = self.plan.profile
        if not self._is_new("facts", profile):
            return
        clear(self._facts)
        if profile is None:
            return
        wanted = ("Rank", "Pictures a step", "Learning rate", "Previews", "LoRA files")
        sections = plan_words.facts(profile)
        known = {name: value for _, facts in sections for name, value in facts}
        for i, name in enumerate(wanted):
            value = Elided(known[name].removesuffix(" and at the end"))
            value.setAlignment(Qt.AlignmentFlag.AlignRight)
            self._facts.addWidget(Label(name, "small"), i, 0)
            self._facts.addWidget(value, i, 1)

    def _show_trigger(self) -> None:
        is_known = self.plan.profile is not None and self.plan.dataset is not None
        self._trigger.setEnabled(is_known)
        self._trigger.setPlaceholderText("none" if is_known else "")
        word = self.plan.trigger if is_known else ""
        if self._trigger.text() != word:
            self._trigger.setText(word)
            self._trigger.setCursorPosition(0)
        note = plan_words.about_trigger(self.plan)
        self._trigger_note.set_text(note)
        self._trigger_note.setVisible(bool(note))

    def _show_pictures(self) -> None:
        dataset = self.plan.dataset
        items = dataset.items if dataset is not None else ()
        self._pictures.show_pictures([(item.picture, item.caption) for item in items])
        self._pictures_card.setVisible(bool(items) or self.plan.is_checking)
        note = str(self.plan.dataset_name)
        if self.plan.is_checking:
            note = "checking"
        elif dataset is not None:
            note = str(dataset.root)
        self._dataset_note.set_text(note)

    def _show_checks(self) -> None:
        checks = self.plan.checks()
        if not self._is_new("checks", (checks, self.plan.is_checking)):
            return
        clear(self._checks)
        blockers = [check for check in checks if check.tone == "err"]
        number = len(blockers)
        title = f"Not ready: {number} thing{'s' if number != 1 else ''} to fix" if number else "Ready to start"
        self._check_title.set_text(title if not self.plan.is_checking or number else "Checking")
        for check in checks:
            text = Elided(check.text)
            line = holder(row(Icon(check.tone, check.tone, 15), (text, 1)))
            line.setToolTip(f"{check.text}. {check.hint}".strip())
            self._checks.addWidget(line)

    def _on_way_picked(self, name: str) -> None:
        self.plan.way = name
        self.refresh()

    def _on_steps_changed(self, steps: int) -> None:
        self.plan.set_steps(steps)
        self.refresh()

    def _on_trigger_changed(self) -> None:
        # While a dataset is read the field is switched off, which looks like the end of an edit.
        if self.plan.dataset is not None and self._trigger.text() != self.plan.trigger:
            self.plan.choose_trigger(self._trigger.text())
            self.refresh()

    def _on_start(self) -> None:
        self._on_trigger_changed()  # The shortcut comes in the midst of typing.
        if not self.plan.start_reason():
            self.start_asked.emit(self.plan.job())

    def _on_enqueue(self) -> None:
        self._on_trigger_changed()
        if not self.plan.start_reason():
            self.enqueue_asked.emit(self.plan.job())

    def set_compact(self, compact: bool) -> None:
        """Narrow the right column in a narrow window."""
        super().set_compact(compact)
        self._right.setFixedWidth(RIGHT_COMPACT_PX if compact else RIGHT_PX)

    def hideEvent(self, event: QHideEvent) -> None:
        """Give up the forecast under way: a training that starts needs the processor."""
        super().hideEvent(event)
        self.forecaster.close()
        if not self.readiness.view.doing:  # A download goes on.
            self.readiness.close()

    def shown(self) -> None:
        """Look again at what may have changed since."""
        self.plan.output = None if self.plan.output is not None and self.plan.output.exists() else self.plan.output
        self.refresh()
