"""The Run place while a run goes on, and after it has ended: the same page with another header and another notice."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence, QShortcut

from diffusionforce.errors import UserError
from diffusionforce.gui.model import again, measured
from diffusionforce.gui.model.chart_table import file_stem
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.link_traffic import LinkTraffic
from diffusionforce.gui.model.log_file import log_with_words
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.pages.page import Page
from diffusionforce.gui.pages.run_cards import LogCard, LossCard, PreviewsCard, StepCard
from diffusionforce.gui.pages.run_header import RunHeader
from diffusionforce.gui.pages.run_notice import RunNotice
from diffusionforce.gui.pages.run_tiles import RunTiles
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.device_card import DeviceCard
from diffusionforce.gui.widgets.layout import add, clear, column, holder, row, scrolling
from diffusionforce.gui.widgets.links_card import LinksCard
from diffusionforce.gui.widgets.measured_card import MeasuredCard
from diffusionforce.gui.widgets.toast import Toasts
from diffusionforce.job import Job
from diffusionforce.rig import Traffic
from diffusionforce.wire import Command

RIGHT_PX, RIGHT_COMPACT_PX = 348, 316
LAST_MOMENTS_MS = 100


class RunLivePage(Page):
    """Shows one session."""

    gallery_asked = Signal()
    new_run_asked = Signal()
    again_asked = Signal(object)
    """The job of a run that is to be started again."""
    run_asked = Signal(Path)
    """Another run is to be seen."""
    failed = Signal(object)
    """A `UserError`: what was asked for could not be done."""

    def __init__(self, store: PictureStore, preferences: Preferences, *, ram_bytes: int) -> None:
        super().__init__()
        self._store, self._preferences, self._ram_bytes = store, preferences, ram_bytes
        self._session: RunSession | None = None
        self._rebalances = False
        self.body.setSpacing(12)
        self.traffic = LinkTraffic()
        self._device_cards: list[DeviceCard] = []
        self._devices = column(gap=12)
        self.toasts = Toasts()

    def build(self) -> Iterator[None]:
        """Build the page from its top down, the right column last."""
        self.header, self.notice, self.tiles = RunHeader(self), RunNotice(), RunTiles()
        left, both = column(gap=12), row(gap=12)
        content = holder(column(self.notice, self.tiles, (holder(both), 1), gap=12))
        self.body.addWidget(self.header)
        self.body.addWidget(scrolling(content, name="clear"), 1)
        self.body.addWidget(self.toasts)
        yield
        both.addWidget(holder(left), 1)
        self.loss, self.step, self.log = LossCard(self._preferences), StepCard(), LogCard()
        add(left, (self.loss, 5), self.step, (self.log, 3))
        yield
        self.previews, self.measured, self.links = PreviewsCard(self._store), MeasuredCard(), LinksCard()
        self._right = holder(column(self._devices, self.links, self.measured, (self.previews, 1), gap=12))
        self._right.setFixedWidth(RIGHT_COMPACT_PX if self.compact else RIGHT_PX)
        both.addWidget(self._right)
        self._connect()

    def _connect(self) -> None:
        header, notice = self.header, self.notice
        header.preview.clicked.connect(lambda: self._send("sample"))
        header.save.clicked.connect(lambda: self._send("save"))
        header.pause.clicked.connect(self._pause_or_go_on)
        header.stop.clicked.connect(lambda: notice.ask_stop())
        header.new_run.clicked.connect(self.new_run_asked)
        header.open_folder.clicked.connect(lambda: self._open(self.session.root))
        notice.stop_confirmed.connect(lambda: self.session.stop())
        notice.force_confirmed.connect(lambda: self.session.end_by_force())
        notice.gallery_asked.connect(self.gallery_asked)
        notice.folder_asked.connect(lambda: self._open(self.session.root))
        notice.again_asked.connect(self._start_again)
        notice.onward_asked.connect(self._go_on)
        notice.run_asked.connect(self.run_asked)
        notice.log_asked.connect(self._open_log)
        self.loss.due.connect(self.refresh)
        for menu in (self.loss.menu, self.step.menu):
            menu.saved.connect(lambda path: self.toasts.say("ok", tr("Saved"), path))
            menu.failed.connect(self.failed)
        QShortcut(QKeySequence("Ctrl+F"), self).activated.connect(self.log.search.start)
        self.log.file_asked.connect(self._open_log)
        self.previews.gallery_asked.connect(self.gallery_asked)
        self.measured.rebalance_asked.connect(self._rebalance)

    @property
    def session(self) -> RunSession:
        """The session that is shown."""
        assert self._session is not None
        return self._session

    def show_session(self, session: RunSession) -> None:
        """Show another session."""
        if self._session is not None:
            self._session.changed.disconnect(self.refresh)
            self._session.ended.disconnect(self._on_ended)
        self._session = session
        session.changed.connect(self.refresh)
        session.ended.connect(self._on_ended)
        self.log.forget()
        self.loss.forget()
        for card, name, stem in ((self.loss, tr("Loss"), "loss"), (self.step, tr("Last step"), "last-step")):
            card.chart_name = (f"{name} · {session.long_title}", file_stem(session.root.name, stem))
        self._rebalances = False
        self._forget_devices()
        self.traffic.forget()
        self.notice.reset()
        self.refresh()

    def refresh(self) -> None:
        """Show the session as it is now. Nothing is repainted while the page is hidden."""
        if self._session is None or not self.isVisible():
            return
        model = self.session.model
        self.header.show_session(self.session, compact=self.compact)
        self.notice.show_model(model, compact=self.compact, root=self.session.root)
        self.tiles.show_model(model, compact=self.compact)
        for card in (self.loss, self.step, self.log):
            card.show_model(model)
        self.log.allow_file(log_with_words(self.session.root) is not None)
        self._show_devices(model)
        self._show_links()
        self.measured.show_lines(measured.measured_lines(model), measured.causes(model))
        may_rebalance = self.session.is_own and model.outcome is None and not model.stop_asked
        self.measured.rebalance.setVisible(may_rebalance and again.teaches(model))
        self.previews.show_model(model, self.session.root)

    def _pause_or_go_on(self) -> None:
        waits = self.session.model.is_paused or self.session.model.pause_asked
        self.session.send(Command(command="resume" if waits else "pause"))
        self.refresh()

    def _show_devices(self, model: RunModel) -> None:
        if len(self._device_cards) != len(model.devices.views):
            self._forget_devices()
            for view in model.devices.views:
                card = DeviceCard(view, fallback_total_bytes=self._ram_bytes)
                self._device_cards.append(card)
                self._devices.addWidget(card)
        for card, view in zip(self._device_cards, model.devices.views, strict=True):
            card.show_view(view)

    def show_traffic(self, readings: Sequence[Traffic]) -> None:
        """Take what goes over the links of the cards now."""
        self.traffic.read(readings)
        if self._session is not None and self.isVisible():
            self._show_links()

    def _show_links(self) -> None:
        """Show the links while the run goes on: what goes over them later is not the run's."""
        model = self.session.model
        going = model.outcome is None and model.step > 0
        self.links.show_lines(self.traffic.lines(model.devices.views) if going else ())

    def _forget_devices(self) -> None:
        clear(self._devices)
        self._device_cards = []

    def _rebalance(self) -> None:
        """Stop the run, which then remembers what it saw, and start it again when it has ended."""
        self._rebalances = True
        self.session.stop()
        self.refresh()

    def _on_ended(self) -> None:
        result = self.session.model.outcome
        rebalances, self._rebalances = self._rebalances, False
        if rebalances and result is not None and result.kind == "stopped":
            # Later, because others are told of this end, too, before another session takes its place.
            QTimer.singleShot(0, lambda: self._start_again({}))

    def _start_again(self, settings: Mapping[str, bool | int | float | str]) -> None:
        self._start(lambda root: again.job_again(root, settings))

    def _go_on(self, state: Path) -> None:
        self._start(lambda root: again.job_onward(root, state))

    def _start(self, make_job: Callable[[Path], Job]) -> None:
        """Start a job that is made from the folder of the run."""
        if not self.session.is_over:
            # Its last word is here, and its process is not quite gone.
            QTimer.singleShot(LAST_MOMENTS_MS, lambda: self._start(make_job))
            return
        try:
            self.again_asked.emit(make_job(self.session.root))
        except UserError as error:
            self.failed.emit(error)

    def _send(self, command: str) -> None:
        self.session.send(Command.model_validate({"command": command}))
        wish = "A preview" if command == "sample" else "A save"
        self.session.model.write_log(f"{wish} was asked for; it comes after this step.")
        self.refresh()

    def _open_log(self) -> None:
        log = log_with_words(self.session.root)
        if log is not None:
            self._open(log)

    @staticmethod
    def _open(path: Path) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))

    def set_compact(self, compact: bool) -> None:
        """Narrow the right column in a narrow window."""
        super().set_compact(compact)
        if self.is_complete:
            self._right.setFixedWidth(RIGHT_COMPACT_PX if compact else RIGHT_PX)
            self.refresh()

    def shown(self) -> None:
        """Show what happened while the page was hidden."""
        self.loss.menu.take_scale()
        self.refresh()
