"""The Run place before a run: choose profile, dataset and output, see what will happen, start."""

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui import background, dataset_reading
from diffusionforce.gui.forecaster import Forecaster
from diffusionforce.gui.model import plan_checks, run_time
from diffusionforce.gui.model.forecast_desk import Machine
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.model.plan import Plan
from diffusionforce.gui.model.readiness import CHECKING
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.pages.run_forecast import ForecastCard
from diffusionforce.gui.pages.run_going import GoingLine
from diffusionforce.gui.pages.run_picks import RunPicks
from diffusionforce.gui.pages.run_plan_cards import ChecksCard, EventsCard, PicturesCard, RunCard
from diffusionforce.gui.pages.run_plan_notices import PlanNotices
from diffusionforce.gui.pages.run_ways import WaysCard
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import FIRST_PROFILE, Preferences
from diffusionforce.gui.readiness_desk import ReadinessDesk
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.layout import column, holder, row, scrolling
from diffusionforce.job import find_profile, read_profile, with_absolute_weights
from diffusionforce.rig import RigReport
from diffusionforce.runs import runs_root
from diffusionforce.wire import JobChange
from diffusionforce.wire.interpreter import is_environment_needed

RIGHT_PX, RIGHT_COMPACT_PX = 352, 304
READ_DELAY_MS = 60
BUSY = noted("A run goes on already. Add this one to the queue: it starts when that has ended.")

WAITS_FOR_RUNS = noted("The run starts when those before it have ended.")
WAITS_FOR_START = noted("The run waits in the queue until you start that.")


class RunPlanPage(Page):
    """Plans the next run."""

    start_asked = Signal(object)
    enqueue_asked = Signal(object)
    standing_changed = Signal(object)
    """Whether the plan could start, a `Standing`."""
    place_asked = Signal(str)
    """A place of the window, where something that is lacking is put right."""

    def __init__(self, preferences: Preferences, store: PictureStore, devices: QWidget) -> None:
        super().__init__()
        self.plan = Plan()
        self._preferences, self._store = preferences, store
        self._reading = 0
        self._is_behind = False
        """Whether nothing was looked for when the plan was asked for last, because it was not in sight."""
        self.standing = plan_checks.standing(self.plan)
        self._devices = devices
        self._machine = Machine()
        self.forecaster = Forecaster(self)
        self.readiness = ReadinessDesk(self)
        quitting = QApplication.instance()
        assert quitting is not None
        quitting.aboutToQuit.connect(self.readiness.close)

    def build(self) -> Iterator[None]:
        """Build the header and what was picked, then both columns, and choose what was chosen last."""
        self._build_header()
        self.picks, self.going, self.notices = RunPicks(self._preferences, self._store), GoingLine(), PlanNotices()
        left, lower = column(None, gap=14), row(gap=14)
        content = holder(column(self.going, self.picks, self.notices, holder(lower), None, gap=14))
        self.body.addWidget(self.header)
        self.body.addWidget(scrolling(content, name="clear"), 1)
        yield
        lower.addWidget(holder(left), 1)
        right = column(None, gap=14)
        self._right = holder(right)
        self._right.setFixedWidth(RIGHT_COMPACT_PX if self.compact else RIGHT_PX)
        lower.addWidget(self._right)
        self.run, self.checks = RunCard(), ChecksCard()
        for part in (self.run, self.checks, self._devices):
            right.insertWidget(right.count() - 1, part)
        yield
        self.events, self.pictures = EventsCard(), PicturesCard(self._store)
        left.insertWidget(0, self.events)
        left.insertWidget(1, self.pictures)
        yield
        self.forecast, self.ways = ForecastCard(), WaysCard()
        left.insertWidget(0, self.forecast)
        right.insertWidget(0, self.ways)
        self._connect()
        yield
        last = self._preferences.dataset
        if last and (last.startswith("demo:") or Path(last).is_dir()):
            self.plan.choose_dataset(last)
        self.choose_profile(self._preferences.profile or FIRST_PROFILE)

    def _build_header(self) -> None:
        self.header = Header("New run", "Choose what to train. Nothing is loaded before you start.")
        self.start = Button("Start training", "play", kind="primary", size="big", tip="Ctrl+Enter")
        self.start.setShortcut("Ctrl+Return")
        self.start.clicked.connect(self._on_start)
        self.enqueue = Button("Add to queue", "queue")
        self.enqueue.clicked.connect(self._on_enqueue)
        self.header.add_actions(self.enqueue, self.start)
        for button in (self.start, self.enqueue):
            button.allow(False)  # Until it is known what would be started.

    def _connect(self) -> None:
        self.picks.profile_chosen.connect(self.choose_profile)
        self.picks.dataset_chosen.connect(self.choose_dataset)
        self.picks.output_chosen.connect(self.choose_output)
        self.notices.change_taken.connect(self._on_change_taken)
        self.notices.profile_asked.connect(self.choose_profile)
        self.notices.place_asked.connect(self.place_asked)
        self.notices.bring_asked.connect(self.readiness.bring)
        self.run.steps_changed.connect(self._on_steps_changed)
        self.run.trigger_changed.connect(self._on_trigger_changed)
        self.ways.way_picked.connect(self._on_way_picked)
        self.forecast.cut_picked.connect(self._on_cut_picked)
        self.forecast.retry_asked.connect(self.forecaster.again)
        self.forecaster.changed.connect(self._on_forecast)
        self.readiness.changed.connect(self._on_readiness)

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
            self.run.set_steps(profile.training.steps)
            self._look_back()
        self._read_dataset()

    def _look_back(self) -> None:
        """Look on a thread how fast the last runs of the profile were, while somebody sees the plan."""
        if not self.isVisible():
            return
        name, root = self.plan.job_profile_name, runs_root()

        def take(pace_s: float | None) -> None:
            if name == self.plan.job_profile_name:
                self.plan.pace_before_s = pace_s
                self._show()

        background.run(self, lambda: run_time.pace_before(root, name), done=take, failed=lambda _error: None)

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
        base, profile = self.plan.dataset_base, self.plan.profile

        def progress(done: int, total: int) -> None:
            background.tell(self, self._on_progress, (asked, done, total))

        if asked == self._reading:
            background.run(
                self,
                lambda: dataset_reading.read(choice, profile=profile, base=base, progress=progress),
                done=lambda dataset: self._on_dataset(asked, dataset),
                failed=lambda error: self._on_dataset(asked, error),
            )

    def _on_progress(self, news: tuple[int, int, int]) -> None:
        asked, done, total = news
        if asked == self._reading and self.plan.is_checking:
            self.pictures.show_progress(done, total)

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
        self.plan.has_no_card = not report.cards
        self.look_at_cards((card.index, card.used_bytes) for card in report.cards)
        self._show()

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
        self._is_behind = not self.isVisible()
        self.plan.needs_environment = is_environment_needed()
        self._ask_for_forecast()
        self._look_for_engine()
        self._show()

    def _show(self) -> None:
        plan = self.plan
        self.forecast.show_status(plan.memory, is_held_up=plan.holds_up_forecast)
        self.ways.show_status(plan.memory, picked=plan.cut or plan.way)
        for part in (self.picks, self.notices, self.events, self.run, self.pictures):
            part.show_plan(plan)
        before, self.standing = self.standing, plan_checks.standing(plan)
        self.checks.show_checks(plan_checks.checks(plan), self.standing)
        self._show_buttons()
        if self.standing != before:
            self.standing_changed.emit(self.standing)

    def show_going(self, title: str, *, is_paused: bool) -> None:
        """Take the run that goes on, by its title: this one can only wait behind it. Empty where none does."""
        self.going.show_run(title, is_paused=is_paused)
        self._show_buttons()

    def _show_buttons(self) -> None:
        reason, is_busy = self.standing.reason, bool(self.going.text)
        self.enqueue.allow(not reason, reason=reason)
        if not reason:
            self.enqueue.setToolTip(tr(WAITS_FOR_RUNS if is_busy else WAITS_FOR_START))
        self.enqueue.set_kind("primary" if is_busy else "")
        reason = tr(BUSY) if is_busy else reason
        self.start.allow(not reason, reason=reason)
        self.start.set_kind("" if is_busy else "primary")

    def _on_change_taken(self, change: JobChange) -> None:
        self.plan.change_settings(change.settings)
        self.refresh()

    def _on_way_picked(self, name: str) -> None:
        self.plan.pick_way(name)
        self.refresh()

    def _on_cut_picked(self, name: str) -> None:
        self.plan.cut = name
        self.refresh()

    def _on_steps_changed(self, steps: int) -> None:
        self.plan.set_steps(steps)
        self.refresh()

    def _on_trigger_changed(self) -> None:
        # While a dataset is read the field is switched off, which looks like the end of an edit.
        if self.plan.dataset is not None and self.run.trigger.text() != self.plan.trigger:
            self.plan.choose_trigger(self.run.trigger.text())
            self.refresh()

    def _on_start(self) -> None:
        self._on_trigger_changed()  # The shortcut comes in the midst of typing.
        if not plan_checks.standing(self.plan).reason and not self.going.text:
            self.start_asked.emit(self.plan.job())

    def _on_enqueue(self) -> None:
        self._on_trigger_changed()
        if not plan_checks.standing(self.plan).reason:
            self.enqueue_asked.emit(self.plan.job())

    def set_compact(self, compact: bool) -> None:
        """Narrow the right column in a narrow window."""
        super().set_compact(compact)
        if self.is_complete:
            self._right.setFixedWidth(RIGHT_COMPACT_PX if compact else RIGHT_PX)

    def showEvent(self, event: QShowEvent) -> None:
        """Look for what was not looked for while nobody saw the plan, whichever way it comes into sight."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self._catch_up)

    def _catch_up(self) -> None:
        if self._is_behind and self.is_complete and self.isVisible():
            self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Give up the forecast under way: a training that starts needs the processor."""
        super().hideEvent(event)
        self._is_behind = True
        self.forecaster.close()
        if not self.readiness.view.doing:  # A download goes on.
            self.readiness.close()

    def shown(self) -> None:
        """Look again at what may have changed since."""
        self.plan.output = None if self.plan.output is not None and self.plan.output.exists() else self.plan.output
        self._take_opened()
        self._look_back()
        self.refresh()

    def _take_opened(self) -> None:
        """Choose the dataset of the user's own that was looked at since the plan was seen last."""
        opened, self._preferences.opened_dataset = self._preferences.opened_dataset, ""
        if opened and opened != self.plan.dataset_choice and Path(opened).is_dir():
            self.choose_dataset(opened)
