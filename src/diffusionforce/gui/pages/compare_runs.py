"""Two to four runs side by side: the settings that differ, the losses in one chart, samples of the same prompts."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QGridLayout, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model import comparison, words
from diffusionforce.gui.model.chart_table import file_stem
from diffusionforce.gui.model.comparison import ComparedRun
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.run_title import shown_title
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.chart_menu import ChartMenu
from diffusionforce.gui.widgets.check_mark import CheckMark
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import clear, column, holder, row, scrolling
from diffusionforce.gui.widgets.notices import Banner, Empty
from diffusionforce.gui.widgets.overlay_chart import LINE_COLOURS, OverlayChart, OverlayLine
from diffusionforce.gui.widgets.preview_grid import PreviewGrid
from diffusionforce.gui.widgets.sample_grid import step_words

SAMPLE_PX, MOST_PROMPTS = 190, 12


class CompareRunsPane(QWidget):
    """Shows a comparison."""

    closed = Signal()

    def __init__(self, store: PictureStore, preferences: Preferences) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._store = store
        self._runs: list[ComparedRun] = []
        self._asked = 0
        self._back = Button("Back to the list", "chev-left", kind="ghost")
        self._back.clicked.connect(self.closed)
        self._legend = column(gap=4)
        self._notice = column(gap=8)
        self._reading = Empty("clock", "Reading the runs", "Their losses and previews are looked through.")
        self.chart = OverlayChart()
        self.menu = ChartMenu(self.chart, preferences, name=self._chart_name)
        self.all_settings = CheckMark("Show all settings")
        self.all_settings.toggled.connect(lambda _on: self._show_settings())
        self.steps = QComboBox()
        self.steps.setAccessibleName(tr("Previews of which step"))
        self.steps.activated.connect(lambda _index: self._show_samples())
        self._settings, self._samples = QGridLayout(), QGridLayout()
        self._build()

    def _build(self) -> None:
        losses = Card("Loss", "smoothed, over the steps of each run").add(self.chart)
        losses.header.addWidget(self.menu.button)
        settings = Card("Settings", "what differs")
        settings.header.addWidget(self.all_settings)
        self._settings.setHorizontalSpacing(16)
        self._settings.setVerticalSpacing(6)
        settings.add(self._settings)
        samples = Card("Previews", "the same prompt in each run")
        samples.header.addWidget(self.steps)
        self._samples.setHorizontalSpacing(10)
        self._samples.setVerticalSpacing(10)
        self.triggers = Label("", "body2", wrap=True)
        samples.add(self.triggers, self._samples)
        runs = Card("Runs", gap=6).add(self._legend)
        self._content = holder(column(runs, losses, settings, samples, None, gap=14))
        self._scroll = scrolling(self._content, name="clear")
        self.setLayout(column(row(self._back, None), self._notice, (self._scroll, 1), (self._reading, 1), gap=10))

    def compare(self, roots: Sequence[Path]) -> None:
        """Read runs on a thread and show them."""
        self._asked += 1
        asked, wanted = self._asked, list(roots)
        clear(self._notice)
        self._scroll.hide()
        self._reading.show()
        background.run(
            self,
            lambda: comparison.read_runs(wanted),
            done=lambda runs: self._on_read(asked, runs),
            failed=lambda error: self._on_failed(asked, error),
        )
        self._back.setFocus()

    @property
    def is_reading(self) -> bool:
        """Whether the runs are still being read."""
        return not self._reading.isHidden()

    def _on_failed(self, asked: int, error: UserError) -> None:
        if asked == self._asked:
            self._reading.hide()
            self._notice.addWidget(Banner("err", error.sentence, error.hint))

    def _on_read(self, asked: int, runs: list[ComparedRun]) -> None:
        if asked != self._asked:
            return
        self._runs = runs
        self._reading.hide()
        self._scroll.show()
        self._show_legend()
        self.menu.take_scale()
        self.chart.show_lines(
            [
                OverlayLine(letter=run.letter, name=run.title, steps=run.losses.steps, values=run.losses.smoothed)
                for run in runs
            ]
        )
        self.all_settings.setChecked(False)
        self._show_settings()
        self._fill_steps()
        self._show_samples()

    def _chart_name(self) -> tuple[str, str]:
        return tr("Smoothed loss"), file_stem("loss", *(run.root.name for run in self._runs[:2]))

    def _show_legend(self) -> None:
        clear(self._legend)
        for index, run in enumerate(self._runs):
            letter = Label(run.letter, "strong", tone=LINE_COLOURS[index])
            letter.setFixedWidth(16)
            held = run.losses.held_out[-1][1] if run.losses.held_out else None
            facts = f"{words.count(len(run.losses.steps), 'step')} · held-out loss {words.loss(held)}"
            amount = Label(facts, "small")
            self._legend.addLayout(row(letter, (Elided(shown_title(run.title)), 1), amount, gap=8))

    def _show_settings(self) -> None:
        clear(self._settings)
        rows = comparison.setting_rows(self._runs)
        if not self.all_settings.isChecked():
            rows = [setting for setting in rows if setting.differs]
        self._settings.setColumnStretch(0, 2)
        for column_index, run in enumerate(self._runs if rows else (), start=1):
            self._settings.addWidget(Label(run.letter, "strong", tone=LINE_COLOURS[column_index - 1]), 0, column_index)
            self._settings.setColumnStretch(column_index, 3)
        for index, setting in enumerate(rows, start=1):
            self._settings.addWidget(Elided(setting.name, "small"), index, 0)
            for column_index, value in enumerate(setting.values, start=1):
                role = "strong" if setting.differs else "body2"
                self._settings.addWidget(Elided(value, role), index, column_index)
        if not rows:
            self._settings.addWidget(Label("All settings are the same.", "body2"), 1, 0, 1, -1)

    def _fill_steps(self) -> None:
        self.steps.clear()
        self.steps.addItem(tr("Newest of each"), None)
        for step in comparison.common_steps(self._runs):
            self.steps.addItem(step_words(step), step)

    def _show_samples(self) -> None:
        clear(self._samples)
        told = comparison.trigger_words(self._runs)
        self.triggers.set_text(told)
        self.triggers.setVisible(bool(told))
        rows = comparison.sample_rows(self._runs, step=self.steps.currentData())[:MOST_PROMPTS]
        for index, sample in enumerate(rows):
            prompt = Label(sample.prompt, "strong", wrap=True)
            prompt.setMinimumWidth(120)
            prompt.setMaximumWidth(200)
            self._samples.addWidget(prompt, index, 0, Qt.AlignmentFlag.AlignVCenter)
            for column_index, (run, found) in enumerate(zip(self._runs, sample.pictures, strict=True), start=1):
                self._samples.addLayout(self._sample(run, found, sample.prompt), index, column_index)
        self._samples.setColumnStretch(len(self._runs) + 1, 1)
        if not rows:
            self._samples.addWidget(Label("None of these runs has previews.", "body2"), 0, 0)

    def _sample(self, run: ComparedRun, found: tuple[int, Path] | None, prompt: str) -> QGridLayout:
        preview = PreviewGrid(self._store, empty="not drawn")
        preview.setFixedSize(SAMPLE_PX, SAMPLE_PX)
        preview.show_paths([found[1]] if found is not None else [])
        words_below = f"{run.letter} · {step_words(found[0])}" if found is not None else run.letter
        preview.setAccessibleName(f"{prompt}, run {words_below}")
        box = QGridLayout()
        box.setVerticalSpacing(4)
        box.addWidget(preview, 0, 0)
        box.addWidget(Label(words_below, "muted"), 1, 0)
        return box

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go back with Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)
