"""First steps, the choices: a model that suits the cards, and the first pictures of one's own."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QHideEvent
from PySide6.QtWidgets import QApplication, QButtonGroup, QFileDialog, QFrame, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.forecaster import Forecaster
from diffusionforce.gui.model import forecast_strip, profile_shelf
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.plan_notices import lack_notice
from diffusionforce.gui.model.profile_shelf import ShelfItem
from diffusionforce.gui.model.readiness import ReadinessView
from diffusionforce.gui.pages.profile_pane import ENGINE_NOTES
from diffusionforce.gui.pages.run_plan_notices import PlanNotices
from diffusionforce.gui.readiness_desk import ReadinessDesk
from diffusionforce.gui.rig_watch import RigWatch
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.forecast_strip import ForecastStrip
from diffusionforce.gui.widgets.labels import Label, set_property
from diffusionforce.gui.widgets.layout import clear, column, holder, scrolling
from diffusionforce.gui.widgets.list_item import ListItem
from diffusionforce.gui.widgets.notices import Banner, Empty
from diffusionforce.gui.widgets.pick_card import dropped_path, is_folder
from diffusionforce.job import with_absolute_weights

CARD_PX = 320
POCKET = "pocket"


class ModelStep(QWidget):
    """Lists the built-in profiles; the forecast says whether the chosen one suits the cards."""

    chosen = Signal(str)

    def __init__(self, watch: RigWatch) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._watch = watch
        self.name = ""
        self._items: tuple[ShelfItem, ...] = ()
        self._group = QButtonGroup(self)
        self.forecaster = Forecaster(self)
        self.forecaster.changed.connect(self._show_forecast)
        self.strip = ForecastStrip()
        self.strip.retry_asked.connect(self.forecaster.again)
        self.readiness = ReadinessDesk(self)
        self.readiness.changed.connect(self._show_lack)
        quitting = QApplication.instance()
        assert quitting is not None
        quitting.aboutToQuit.connect(self.readiness.close)
        self.lack = PlanNotices()
        self.lack.bring_asked.connect(self.readiness.bring)
        self.lack.profile_asked.connect(self.choose)
        self._shown = ReadinessView()
        self._names = column(Label(tr("Reading the profiles"), "body2"), None, gap=2, margins=(0, 0, 8, 0))
        card = Card("Models", "choose one to see whether it fits your cards", gap=8)
        card.add((scrolling(holder(self._names), name="clear"), 1))
        self._about = Label("", "body2", wrap=True)
        self.setLayout(column((card, 1), self._about, self.lack, self.strip, gap=12))

    def shown(self) -> None:
        """Read the profiles, the first time."""
        if not self._items:
            background.run(self, profile_shelf.read_shelf, done=self._on_shelf, failed=self._on_failed)

    def _on_failed(self, error: UserError) -> None:
        clear(self._names)
        self._names.addWidget(Banner("err", error.sentence, error.hint))

    def _on_shelf(self, items: tuple[ShelfItem, ...]) -> None:
        self._items = tuple(item for item in items if item.profile is not None and not item.is_own)
        clear(self._names)
        for item in self._items:
            assert item.profile is not None
            needs = tr(ENGINE_NOTES[item.profile.model.engine])
            line = ListItem(item.title, f"{needs} · {tr(item.profile.description)}")
            line.setObjectName(item.name)
            line.clicked.connect(lambda _checked=False, name=item.name: self.choose(name))
            self._group.addButton(line)
            self._names.addWidget(line)
        self._names.addStretch(1)
        self.choose(self.name or self._items[0].name)

    def choose(self, name: str) -> None:
        """Choose a model, and have its forecast made."""
        self.name = name
        for button in self._group.buttons():
            button.setChecked(button.objectName() == name)
        item = next((item for item in self._items if item.name == name), None)
        if item is None or item.profile is None:
            return
        self._about.set_text(item.profile.description)
        whole = with_absolute_weights(item.profile, base=item.path.parent)
        if self.isVisible():
            job = forecast_strip.job_of(name, whole)
            self.forecaster.want(job)
            self.readiness.want(job if whole.model.engine != POCKET else None)
        self.chosen.emit(name)
        self._show_forecast()

    def _show_forecast(self) -> None:
        item = next((item for item in self._items if item.name == self.name), None)
        if item is not None and item.profile is not None:
            self.strip.show_view(forecast_strip.view_of(self.forecaster.status, profile=item.profile))

    def _show_lack(self) -> None:
        """Say what the model lacks here, with the button that brings it; a forecast has to wait for the engine."""
        view, before = self.readiness.view, self._shown
        if view == before:
            return
        self._shown = view
        report, problem = self._watch.report, view.problem
        has_no_card = report is not None and not report.cards
        told = [] if problem is None else [lack_notice(view, problem, has_no_card=has_no_card, tone="info")]
        self.lack.show_notices(told)
        self.strip.setVisible(view.lack != "engine")
        if view.is_ready and before.problem is not None:
            self.forecaster.again()

    def hideEvent(self, event: QHideEvent) -> None:
        """Give up the forecast under way; an engine that is being brought comes all the same."""
        super().hideEvent(event)
        self.forecaster.close()
        if not self.readiness.view.doing:
            self.readiness.close()


class DatasetStep(QWidget):
    """Takes a folder of pictures, dropped or chosen; one can do without."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("clear")
        self.folder = ""
        self.setAcceptDrops(True)
        self._card = QFrame()
        self._card.setObjectName("card")
        self._card.setMinimumHeight(CARD_PX)
        self._inside = column(gap=0)
        self._card.setLayout(self._inside)
        self.setLayout(column(self._card, None))
        text = tr(
            "A caption for each is a text file with the same name. 10 to 50 pictures are plenty. Your files are only "
            "read, never changed without asking."
        )
        self._say("images", tr("Drop a folder of pictures here"), text, action="Choose a folder")

    def _say(self, icon: str, title: str, text: str, *, action: str) -> None:
        choose = Button(action, "folder")
        choose.clicked.connect(self._browse)
        clear(self._inside)
        self._inside.addWidget(Empty(icon, title, text, actions=(choose,)))

    def _browse(self) -> None:
        path = QFileDialog.getExistingDirectory(self, tr("Choose a folder of captioned pictures"))
        if path:
            self.take(path)

    def take(self, path: str) -> None:
        """Take a folder."""
        self.folder = path
        text = tr("Its pictures are looked at when you finish.")
        self._say("ok", Path(path).name, text, action="Choose another folder")
        self.chosen.emit(path)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Welcome a dragged folder."""
        if is_folder(event):
            set_property(self._card, "dropping", "1")
            event.acceptProposedAction()

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:
        """Forget the dragged folder."""
        set_property(self._card, "dropping", "")

    def dropEvent(self, event: QDropEvent) -> None:
        """Take the dropped folder."""
        set_property(self._card, "dropping", "")
        event.acceptProposedAction()
        self.take(dropped_path(event))
