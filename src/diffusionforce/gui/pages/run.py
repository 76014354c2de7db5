"""The Run place: the plan, the run of the window, and another run that is looked at while that one goes on."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QStackedWidget

from diffusionforce.gui.pages.rig_cards import DevicesCard
from diffusionforce.gui.pages.run_plan import RunPlanPage
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.rig_watch import Vitals
from diffusionforce.gui.session import RunSession
from diffusionforce.rig import RigReport

if TYPE_CHECKING:
    from diffusionforce.gui.pages.run_live import RunLivePage


class RunPlace(QStackedWidget):
    """Shows the run of the window, or the plan for the next."""

    start_asked = Signal(object)
    enqueue_asked = Signal(object)
    gallery_asked = Signal()
    run_asked = Signal()
    """The run that goes on is to be seen."""
    open_asked = Signal(Path)
    """Another run is to be seen."""
    other_again_asked = Signal(object)
    """The job of a run that is looked at, to be done again: at once, or after the one that goes on."""
    failed = Signal(object)
    """A `UserError`: what was asked of a run could not be done."""
    other_gallery_asked = Signal(Path)
    """The gallery of a run that is looked at is to be seen."""

    def __init__(self, preferences: Preferences, store: PictureStore, *, ram_bytes: int) -> None:
        super().__init__()
        self.devices = DevicesCard()
        self.planner = RunPlanPage(preferences, store, self.devices)
        """The page that plans; it may still be being built, see `plan`."""
        self._store, self._preferences, self._ram_bytes = store, preferences, ram_bytes
        self._live: RunLivePage | None = None
        self._other: RunLivePage | None = None
        self._compact = self._next_waits = False
        self._report: RigReport | None = None
        self.addWidget(self.planner)
        self.planner.start_asked.connect(self.start_asked)
        self.planner.enqueue_asked.connect(self.enqueue_asked)
        self.planner.when_complete(lambda: self.planner.going.show_asked.connect(self.run_asked))

    @property
    def plan(self) -> RunPlanPage:
        """The page that plans the next run, complete."""
        self.planner.complete()
        return self.planner

    @property
    def live(self) -> "RunLivePage":
        """The face of a run, built by the time that the first one is shown."""
        self.planner.complete()
        self.prepare()
        assert self._live is not None
        self._live.complete()
        return self._live

    def prepare(self) -> None:
        """Begin to build the face of a run, for whoever starts or opens one next; after that of the plan."""
        if not self.planner.is_complete:
            # In a turn of its own: what is loaded for it takes as long as the last parts of the plan.
            self.planner.when_complete(lambda: QTimer.singleShot(0, self, self.prepare))
        elif self._live is None:
            page = self._live = self._run_page()
            page.when_complete(lambda: self.note_queue(next_waits=self._next_waits))
            page.gallery_asked.connect(self.gallery_asked)
            page.again_asked.connect(self.start_asked)

    @property
    def is_prepared(self) -> bool:
        """Whether the face of a run is built."""
        return self._live is not None and self._live.is_complete

    @property
    def other(self) -> "RunLivePage":
        """The face of a run that is looked at, a page of its own: what is asked on the live one stays there."""
        if self._other is None:
            page = self._other = self._run_page()
            page.complete()
            page.gallery_asked.connect(lambda: self.other_gallery_asked.emit(page.session.root))
            page.again_asked.connect(self.other_again_asked)
        return self._other

    def _run_page(self) -> "RunLivePage":
        # Loaded late: the window comes first.
        from diffusionforce.gui.pages.run_live import RunLivePage  # noqa: PLC0415

        page = RunLivePage(self._store, self._preferences, ram_bytes=self._ram_bytes)
        self.addWidget(page)
        page.set_compact(self._compact)
        if self._report is not None:
            page.traffic.take_cards(self._report.cards)
        page.new_run_asked.connect(self.show_plan)
        page.run_asked.connect(self.open_asked)
        page.failed.connect(self.failed)
        return page

    @property
    def shows_plan(self) -> bool:
        """Whether the plan is in sight, and not a run."""
        return self.currentWidget() is self.planner

    @property
    def shows_other(self) -> bool:
        """Whether another run than the window's is in sight."""
        return self._other is not None and self.currentWidget() is self._other

    @property
    def shown_run(self) -> Path | None:
        """The folder of the run in sight; None where the plan is."""
        return None if self.shows_plan else (self.other if self.shows_other else self.live).session.root

    def show_session(self, session: RunSession, *, opens: bool = True) -> None:
        """Take another run.

        Args:
            session: The run.
            opens: Whether it is shown at once; if not, what is in sight stays there.
        """
        live = self.live
        if opens:
            self.setCurrentWidget(live)
        live.show_session(session)

    def show_run(self) -> None:
        """Show the run that was taken last."""
        self.setCurrentWidget(self.live)
        self.live.shown()

    def show_other(self, session: RunSession) -> None:
        """Show another run beside the one that goes on."""
        self.setCurrentWidget(self.other)
        self.other.show_session(session)

    def note_queue(self, *, next_waits: bool) -> None:
        """Take whether a run of the queue starts as soon as the one in sight has ended."""
        self._next_waits = next_waits
        if self._live is not None and self.is_prepared:
            self._live.notice.next_waits = next_waits

    def show_plan(self) -> None:
        """Show the plan for the next run."""
        self.setCurrentWidget(self.plan)
        self.plan.opened()  # Not before: a plan that is not in sight looks for nothing.

    def show_report(self, report: RigReport) -> None:
        """Show the devices of the machine."""
        self._report = report
        for page in (self._live, self._other):
            if page is not None:
                page.traffic.take_cards(report.cards)
        self.devices.show_report(report)
        self.planner.when_complete(lambda: self.planner.show_machine(report))

    def show_vitals(self, vitals: Vitals) -> None:
        """Take the newest readings of the cards."""
        if self.planner.is_complete:
            self.planner.look_at_cards((card.index, card.used_bytes or 0) for card in vitals.cards)
        for page in (self._live, self._other):
            if page is not None:
                page.show_traffic(vitals.traffic)

    def set_compact(self, compact: bool) -> None:
        """Take the layout for a narrow, or for a wide window."""
        self._compact = compact
        self.planner.set_compact(compact)
        for page in (self._live, self._other):
            if page is not None:
                page.set_compact(compact)

    def opened(self) -> None:
        """Called whenever the place is opened."""
        if not self.shows_plan:
            (self.other if self.shows_other else self.live).shown()
        else:
            self.planner.opened()

    def choose_dataset(self, folder: Path) -> None:
        """Plan a run with a dataset."""
        self.plan.choose_dataset(str(folder))
        self.show_plan()
