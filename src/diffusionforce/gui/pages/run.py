"""The Run place: one page with two faces, the plan and the run."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget

from diffusionforce.gui.pages.rig_cards import DevicesCard
from diffusionforce.gui.pages.run_live import RunLivePage
from diffusionforce.gui.pages.run_plan import RunPlanPage
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.session import RunSession
from diffusionforce.rig import RigReport


class RunPlace(QStackedWidget):
    """Shows the run of the window, or the plan for the next."""

    start_asked = Signal(object)
    gallery_asked = Signal()

    def __init__(self, preferences: Preferences, store: PictureStore, *, ram_bytes: int) -> None:
        super().__init__()
        self.devices = DevicesCard()
        self.plan = RunPlanPage(preferences, store, self.devices)
        self.live = RunLivePage(store, ram_bytes=ram_bytes)
        self.addWidget(self.plan)
        self.addWidget(self.live)
        self.plan.start_asked.connect(self.start_asked)
        self.live.gallery_asked.connect(self.gallery_asked)
        self.live.new_run_asked.connect(self.show_plan)

    def show_session(self, session: RunSession) -> None:
        """Show a run."""
        self.setCurrentWidget(self.live)
        self.live.show_session(session)

    def show_plan(self) -> None:
        """Show the plan for the next run."""
        self.plan.shown()
        self.setCurrentWidget(self.plan)

    def show_report(self, report: RigReport) -> None:
        """Show the devices of the machine."""
        self.devices.show_report(report)

    def set_compact(self, compact: bool) -> None:
        """Take the layout for a narrow, or for a wide window."""
        self.plan.set_compact(compact)
        self.live.set_compact(compact)

    def shown(self) -> None:
        """Called whenever the place is opened."""
        page = self.currentWidget()
        if page is self.plan:
            self.plan.shown()
        else:
            self.live.shown()

    def choose_dataset(self, folder: Path) -> None:
        """Plan a run with a dataset."""
        self.plan.choose_dataset(str(folder))
        self.show_plan()
