"""The cards of a run's page: the loss, the work of the last step, the log, and the latest previews."""

import time
from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QApplication, QSizePolicy

from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.chart_menu import ChartMenu, SavingMenu
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import row
from diffusionforce.gui.widgets.line_chart import ChartData, LineChart
from diffusionforce.gui.widgets.log_search import LogSearch
from diffusionforce.gui.widgets.log_view import LogView
from diffusionforce.gui.widgets.preview_grid import PreviewGrid
from diffusionforce.gui.widgets.swatch import Swatch
from diffusionforce.gui.widgets.timeline import Timeline

CHART_REPAINT_S = 0.5
MAX_NEW_LINES = 40
LEGEND_MARGINS = (8, 0, 0, 0)
"""So that a swatch is nearer to its own words than to those before."""


class LossCard(Card):
    """The losses over the steps, drawn twice a second at most: they get dearer with every step."""

    due = Signal()
    """What came within the wait is to be drawn now, also when nothing follows."""

    def __init__(self, preferences: Preferences) -> None:
        super().__init__("Loss", gap=6)
        self.chart = LineChart()
        self.chart_name: tuple[str, str] = ("", "")
        """Title and name of a file in which the chart is saved."""
        self.menu = ChartMenu(self.chart, preferences, name=lambda: self.chart_name)
        self._shown_s = 0.0
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self.due)
        for colour, text in (("focus", "Smoothed"), ("faint", "Each step"), ("warn", "Held-out")):
            self.header.addLayout(row(Swatch(colour), Label(text, "caption"), gap=6, margins=LEGEND_MARGINS))
        self.header.addWidget(self.menu.button)
        self.setMinimumHeight(216)
        self.add((self.chart, 1))

    def forget(self) -> None:
        """Draw the next data at once, all of it: it is another run's."""
        self._shown_s = 0.0
        self.chart.reset()

    def show_model(self, model: RunModel) -> None:
        """Show the losses of a run, soon if not now."""
        waited_s = time.monotonic() - self._shown_s
        if model.outcome is None and waited_s < CHART_REPAINT_S:
            if not self._later.isActive():
                self._later.start(int(1000 * (CHART_REPAINT_S - waited_s)) + 1)
            return
        self._later.stop()
        self._shown_s = time.monotonic()
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


class StepCard(Card):
    """Which device worked when in the last step; not there while no device tells."""

    def __init__(self) -> None:
        super().__init__("Last step", gap=8)
        self.timeline = Timeline()
        self.chart_name: tuple[str, str] = ("", "")
        """Title and name of a file in which the chart is saved."""
        tip = noted("Save the work of the last step")
        self.menu = SavingMenu(self.timeline, self.timeline, name=lambda: self.chart_name, tip=tip)
        for colour, text in (("pale", "Forward"), ("text2", "Backward"), ("hatch", "Waiting")):
            self.header.addLayout(row(Swatch(colour), Label(text, "caption"), gap=6, margins=LEGEND_MARGINS))
        self.header.addWidget(self.menu.button)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.hide()
        self.add(self.timeline)

    def show_model(self, model: RunModel) -> None:
        """Show the last step of a run."""
        lanes = model.devices.timeline
        self.setVisible(bool(lanes))
        if lanes and model.last_step is not None:
            self.timeline.show_lanes(lanes, step_s=model.last_step.seconds)


class LogCard(Card):
    """The log of a run."""

    file_asked = Signal()

    def __init__(self) -> None:
        super().__init__("Log", gap=6)
        self._view = LogView()
        self._model: RunModel | None = None
        self._count = 0
        copy = Button("Copy", "copy", kind="ghost", size="small")
        copy.clicked.connect(self._copy)
        self.open_file = Button(
            "Open file",
            "external",
            kind="ghost",
            size="small",
            tip="What the training process printed by itself, without the steps that are shown here",
        )
        self.open_file.clicked.connect(self.file_asked)
        self.search = LogSearch(self._view)
        self.header.addWidget(self.search)
        self.header.addWidget(copy)
        self.header.addWidget(self.open_file)
        self.add((self._view, 1))

    def forget(self) -> None:
        """Begin anew, for another run."""
        self._view.forget()
        self._count = 0

    def allow_file(self, holds_something: bool) -> None:
        """Let the file of the run be opened, unless there is nothing in it."""
        reason = tr("What the training process printed by itself: nothing so far. The steps are shown here.")
        self.open_file.allow(holds_something, reason=reason)

    def show_model(self, model: RunModel) -> None:
        """Show what was logged since the last time."""
        self._model = model
        new = model.log_count - self._count
        if new <= 0:
            return
        self._count = model.log_count
        lines = list(model.log)[-min(new, len(model.log), MAX_NEW_LINES) :]
        if new > len(lines):
            # Nobody reads more than that in a tenth of a second, and laying them out would hold up the window.
            lines.insert(0, f"… {words.count(new - len(lines), 'line')} more")
        self._view.add_lines(lines)

    def _copy(self) -> None:
        if self._model is not None:
            QApplication.clipboard().setText("\n".join(self._model.log))


class PreviewsCard(Card):
    """The latest previews, and those that are being drawn."""

    gallery_asked = Signal()

    def __init__(self, store: PictureStore) -> None:
        super().__init__(padding=14, gap=8)
        self._grid = PreviewGrid(store, empty="Previews appear here as they are drawn.")
        self._grid.clicked.connect(lambda _index: self.gallery_asked.emit())
        self._step = Elided("", "muted")
        show = Button("Gallery", "arrow", kind="ghost", size="small")
        show.clicked.connect(self.gallery_asked)
        self.add(row(Label("Latest previews", "strong"), (self._step, 1), show), (self._grid, 1))
        self.setMinimumHeight(200)

    def show_model(self, model: RunModel, root: Path) -> None:
        """Show the previews of a run.

        Args:
            model: The run.
            root: Its folder.
        """
        step, latest = model.samples.latest(root)
        if not latest and model.samples.pending_step is not None:
            step, latest = model.samples.pending_step, [None] * len(model.samples.rows)
        self._grid.show_paths(latest)
        self._step.set_text(tr("before training" if step == 0 else f"step {step:,}") if latest else "")
