"""The Run place while a run goes on, and after it has ended: the same page with another header and another notice."""

import time
from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QSizePolicy

from diffusionforce.errors import UserError
from diffusionforce.gui.dataset_reading import folder_title
from diffusionforce.gui.model import again, measured, words
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.model.run_title import day_and_time, started
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.pages.run_notice import RunNotice
from diffusionforce.gui.pages.run_tiles import RunTiles
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.device_card import DeviceCard
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import clear, column, holder, row, scrolling
from diffusionforce.gui.widgets.line_chart import ChartData, LineChart
from diffusionforce.gui.widgets.log_view import LogView
from diffusionforce.gui.widgets.measured_card import MeasuredCard
from diffusionforce.gui.widgets.preview_grid import PreviewGrid
from diffusionforce.gui.widgets.swatch import Swatch
from diffusionforce.gui.widgets.timeline import Timeline
from diffusionforce.wire import Command

RIGHT_PX, RIGHT_COMPACT_PX = 348, 316
CHART_REPAINT_S = 0.5
LAST_MOMENTS_MS = 100
MAX_NEW_LINES = 40
CHIP_LOOKS = {
    "training": ("ok", "play"),
    "sampling": ("info", "camera"),
    "measuring": ("info", "eye"),
    "preparing": ("info", "clock"),
    "starting": ("info", "clock"),
    "finishing": ("ok", "check"),
    "paused": ("warn", "pause"),
    "stopping": ("warn", "stop"),
}
END_LOOKS = {"ok": ("ok", "ok"), "info": ("info", "stop"), "err": ("err", "err")}


class RunLivePage(Page):
    """Shows one session."""

    gallery_asked = Signal()
    new_run_asked = Signal()
    again_asked = Signal(object)
    """The job of a run that is to be started again."""

    def __init__(self, store: PictureStore, *, ram_bytes: int) -> None:
        super().__init__()
        self._store, self._ram_bytes = store, ram_bytes
        self._session: RunSession | None = None
        self._log_count = 0
        self._chart_shown_s = 0.0
        # What comes within the wait is drawn after it, also when nothing follows.
        self._chart_later = QTimer(self)
        self._chart_later.setSingleShot(True)
        self._chart_later.timeout.connect(self.refresh)
        self._rebalances = False
        self.body.setSpacing(12)
        self.header = Header("", "")
        self.chip = Chip("Starting", "info", "clock")
        self.header.chips.addWidget(self.chip)
        self.preview = Button("Preview now", "camera", tip="Ctrl+Shift+P")
        self.save = Button("Save now", "download", tip="Ctrl+S")
        self.pause = Button("Pause", "pause", tip="Ctrl+P")
        self.stop = Button("Stop", "stop", kind="danger")
        self.new_run = Button("New run", "plus")
        self.open_folder = Button("Open folder", "folder")
        self.header.add_actions(self.preview, self.save, self.pause, self.stop, self.open_folder, self.new_run)
        self.preview.clicked.connect(lambda: self._send("sample"))
        self.save.clicked.connect(lambda: self._send("save"))
        self.pause.clicked.connect(self._pause_or_go_on)
        self.stop.clicked.connect(lambda: self.notice.ask_stop())
        for keys, button in (("Ctrl+Shift+P", self.preview), ("Ctrl+S", self.save), ("Ctrl+P", self.pause)):
            # Not the button's own shortcut: that goes away whenever its text changes.
            QShortcut(QKeySequence(keys), self).activated.connect(button.click)
        self.new_run.clicked.connect(self.new_run_asked)
        self.open_folder.clicked.connect(lambda: self._open(self.session.root))
        self.notice = RunNotice()
        self.notice.stop_confirmed.connect(lambda: self.session.stop())
        self.notice.gallery_asked.connect(self.gallery_asked)
        self.notice.folder_asked.connect(lambda: self._open(self.session.root))
        self.notice.again_asked.connect(self._start_again)
        self.notice.log_asked.connect(lambda: self._open(self.session.root / "log.txt"))
        self.tiles = RunTiles()
        self.chart = LineChart()
        self.timeline = Timeline()
        self.previews = PreviewGrid(store, empty="Previews appear here as they are drawn.")
        self.previews.clicked.connect(lambda _index: self.gallery_asked.emit())
        self.log = LogView()
        self._device_cards: list[DeviceCard] = []
        self._devices = column(gap=12)
        self.measured = MeasuredCard()
        self.measured.rebalance_asked.connect(self._rebalance)
        self._build()

    @property
    def session(self) -> RunSession:
        """The session that is shown."""
        assert self._session is not None
        return self._session

    def _build(self) -> None:
        self._timeline_card = self._make_timeline_card()
        self._left = holder(column((self._chart_card(), 5), self._timeline_card, (self._log_card(), 3), gap=12))
        self._right = holder(column(self._devices, self.measured, (self._preview_card(), 1), gap=12))
        self._right.setFixedWidth(RIGHT_PX)
        content = holder(
            column(self.notice, self.tiles, (holder(row((self._left, 1), self._right, gap=12)), 1), gap=12)
        )
        self.body.addWidget(self.header)
        self.body.addWidget(scrolling(content, name="clear"), 1)

    def _chart_card(self) -> Card:
        card = Card("Loss", gap=6)
        legend = (("focus", "Smoothed"), ("faint", "Each step"), ("warn", "Held-out"))
        for colour, text in legend:
            card.header.addLayout(row(Swatch(colour), Label(text, "caption"), gap=6))
        card.setMinimumHeight(216)
        return card.add((self.chart, 1))

    def _make_timeline_card(self) -> Card:
        card = Card("Last step", gap=8)
        for colour, text in (("pale", "Forward"), ("text2", "Backward"), ("hatch", "Waiting")):
            card.header.addLayout(row(Swatch(colour), Label(text, "caption"), gap=6))
        card.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        card.hide()
        return card.add(self.timeline)

    def _log_card(self) -> Card:
        card = Card("Log", gap=4)
        copy = Button("Copy", "copy", kind="ghost", size="small")
        copy.clicked.connect(lambda: QApplication.clipboard().setText("\n".join(self.session.model.log)))
        show = Button("Open file", "external", kind="ghost", size="small")
        show.clicked.connect(lambda: self._open(self.session.root / "log.txt"))
        card.header.addWidget(copy)
        card.header.addWidget(show)
        return card.add((self.log, 1))

    def _preview_card(self) -> Card:
        card = Card(padding=14, gap=8)
        self._preview_step = Label("", "muted")
        show = Button("Open gallery", "arrow", kind="ghost", size="small")
        show.clicked.connect(self.gallery_asked)
        card.add(row(Label("Latest previews", "strong"), self._preview_step, None, show), (self.previews, 1))
        card.setMinimumHeight(200)
        return card

    def show_session(self, session: RunSession) -> None:
        """Show another session."""
        if self._session is not None:
            self._session.changed.disconnect(self.refresh)
            self._session.ended.disconnect(self._on_ended)
        self._session = session
        session.changed.connect(self.refresh)
        session.ended.connect(self._on_ended)
        self.log.forget()
        self._log_count = 0
        self._chart_shown_s = 0.0
        self._rebalances = False
        self._forget_devices()
        self.notice.reset()
        self.refresh()

    def refresh(self) -> None:
        """Show the session as it is now. Nothing is repainted while the page is hidden."""
        if self._session is None or not self.isVisible():
            return
        model = self.session.model
        self._show_header(model)
        self.notice.show_model(model, own=self.session.is_own, compact=self.compact)
        self.tiles.show_model(model, compact=self.compact)
        self._show_chart(model)
        self._show_timeline(model)
        self._show_devices(model)
        self.measured.show_lines(measured.measured_lines(model), measured.causes(model))
        may_rebalance = self.session.is_own and model.outcome is None and not model.stop_asked
        self.measured.rebalance.setVisible(may_rebalance and again.teaches(model))
        self._show_previews(model)
        self._show_log(model)

    def _show_header(self, model: RunModel) -> None:
        moment = started(self.session.root)
        facts = [tr(day_and_time(moment)) if moment else "", self._dataset_words(model), tr(model.devices.sentence())]
        self.header.set_title(self.session.title, " · ".join(fact for fact in facts if fact))
        tone, icon = CHIP_LOOKS.get(model.phase, ("info", "clock"))
        if model.outcome is not None:
            tone, icon = END_LOOKS[model.outcome.tone]
        self.chip.set(model.phase_words, tone, icon)
        going = model.outcome is None
        for button in (self.preview, self.save, self.pause, self.stop):
            button.setVisible(going)
            reason = "The run is stopping." if model.stop_asked else ""
            if button in {self.preview, self.save} and not reason:
                reason = "Possible after the first step." if not model.last_step else self._while_paused(model)
            button.allow(not reason, reason=reason)
        waits = model.is_paused or model.pause_asked
        self.pause.set_text("Go on" if waits else "Pause", icon="play" if waits else "pause")
        self.new_run.setVisible(not going or not self.session.is_own)
        self.open_folder.setVisible(not going)
        self.preview.set_text("Preview" if self.compact else "Preview now")
        self.save.set_text("Save" if self.compact else "Save now")

    @staticmethod
    def _while_paused(model: RunModel) -> str:
        return "The run is paused." if model.is_paused else ""

    def _pause_or_go_on(self) -> None:
        waits = self.session.model.is_paused or self.session.model.pause_asked
        self.session.send(Command(command="resume" if waits else "pause"))
        self.refresh()

    @staticmethod
    def _dataset_words(model: RunModel) -> str:
        return folder_title(model.job.dataset_dir) if model.job else ""

    def _show_chart(self, model: RunModel) -> None:
        """Show the chart, twice a second at most: it is the one thing here that gets dearer with every step."""
        waited_s = time.monotonic() - self._chart_shown_s
        if model.outcome is None and waited_s < CHART_REPAINT_S:
            if not self._chart_later.isActive():
                self._chart_later.start(int(1000 * (CHART_REPAINT_S - waited_s)) + 1)
            return
        self._chart_later.stop()
        self._chart_shown_s = time.monotonic()
        losses = model.losses
        marks = [step for step in sorted(model.samples.drawn_steps) if step]
        self.chart.show_data(
            ChartData(
                steps=losses.steps,
                raw=losses.raw,
                smoothed=losses.smoothed,
                held_out=losses.held_out,
                marks=marks,
                last_step=model.num_steps or 1,
            )
        )

    def _show_timeline(self, model: RunModel) -> None:
        lanes = model.devices.timeline
        self._timeline_card.setVisible(bool(lanes))
        if lanes and model.last_step is not None:
            self.timeline.show_lanes(lanes, step_s=model.last_step.seconds)

    def _show_devices(self, model: RunModel) -> None:
        if len(self._device_cards) != len(model.devices.views):
            self._forget_devices()
            for view in model.devices.views:
                card = DeviceCard(view, fallback_total_bytes=self._ram_bytes)
                self._device_cards.append(card)
                self._devices.addWidget(card)
        for card, view in zip(self._device_cards, model.devices.views, strict=True):
            card.show_view(view)

    def _forget_devices(self) -> None:
        clear(self._devices)
        self._device_cards = []

    def _show_previews(self, model: RunModel) -> None:
        step, latest = model.samples.latest()
        by_row = {id(sample_row): path for sample_row, path in latest}
        is_growing = model.samples.pending_step == step and bool(latest)
        paths: list[Path | None] = []
        for sample_row in model.samples.rows if latest else []:
            relative = by_row.get(id(sample_row))
            if relative is not None:
                paths.append(self.session.root / relative)
            elif is_growing:
                paths.append(None)
        self.previews.show_paths(paths)
        self._preview_step.set_text(("before training" if step == 0 else f"step {step:,}") if latest else "")

    def _show_log(self, model: RunModel) -> None:
        new = model.log_count - self._log_count
        if new <= 0:
            return
        self._log_count = model.log_count
        lines = list(model.log)[-min(new, len(model.log), MAX_NEW_LINES) :]
        if new > len(lines):
            # Nobody reads more than that in a tenth of a second, and laying them out would hold up the window.
            lines.insert(0, f"… {words.count(new - len(lines), 'line')} more")
        self.log.add_lines(lines)

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
        if not self.session.is_over:
            # Its last word is here, and its process is not quite gone.
            QTimer.singleShot(LAST_MOMENTS_MS, lambda: self._start_again(settings))
            return
        try:
            self.again_asked.emit(again.job_again(self.session.root, settings))
        except UserError as error:
            self.session.model.write_log(f"The run cannot be started again. {error}")
            self.refresh()

    def _send(self, command: str) -> None:
        self.session.send(Command.model_validate({"command": command}))
        wish = "A preview" if command == "sample" else "A save"
        self.session.model.write_log(f"{wish} was asked for; it comes after this step.")
        self.refresh()

    @staticmethod
    def _open(path: Path) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))

    def set_compact(self, compact: bool) -> None:
        """Narrow the right column in a narrow window."""
        super().set_compact(compact)
        self._right.setFixedWidth(RIGHT_COMPACT_PX if compact else RIGHT_PX)
        self.refresh()

    def shown(self) -> None:
        """Show what happened while the page was hidden."""
        self.refresh()
