"""What each card and RAM will hold, in the plan of a run: a bar each, phase by phase."""

import time

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from diffusionforce.gui.model import forecast_bars, forecast_blocks, forecast_cuts, forecast_verdict, words
from diffusionforce.gui.model.forecast_bars import KIND_WORDS, PHASE_WORDS, PHASES, NeedBar
from diffusionforce.gui.model.forecast_cuts import CutView
from diffusionforce.gui.model.forecast_desk import ForecastStatus
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.run_cut import CutPanel
from diffusionforce.gui.widgets.block_strip import BlockStrip, card_swatch, paged_swatch
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.labels import Elided, Icon, Label, set_property
from diffusionforce.gui.widgets.layout import add, clear, column, hairline, holder, row
from diffusionforce.gui.widgets.legend import Legend, Swatch
from diffusionforce.gui.widgets.need_bar import NeedBarView, kind_swatch
from diffusionforce.gui.widgets.segmented import Segmented
from diffusionforce.rig import RigReport
from diffusionforce.wire.forecast import Forecast, Phase

NOTHING_YET = "Choose a profile and a dataset to see what the cards will hold."
NOT_BEFORE = "It follows once what stands above is put right."
FORMER = "These are the figures of the choice before; those of this one are being worked out."
CHECKING = "Working out what each card will hold. The model is not loaded for it."


class BarLine(QHBoxLayout):
    """The line over a bar: card, model, what it needs and has to spare."""

    def __init__(self, bar: NeedBar) -> None:
        super().__init__()
        self.setSpacing(8)
        tone = "" if bar.index is None else f"g{min(bar.index, 3)}"
        self._verdict = Label()
        add(self, Label(bar.label, "strong", tone=tone), (Elided(bar.name), 1), self._verdict)
        self.show_bar(bar)

    def show_bar(self, bar: NeedBar) -> None:
        """Show what the same card would need otherwise."""
        set_property(self._verdict, "role", "strong" if bar.tone else "body2")
        self._verdict.set_text(bar.headline, tone=bar.tone)


class ForecastCard(Card):
    """Shows the status of the forecast: nothing yet, checking, a problem, or the bars."""

    retry_asked = Signal()
    cut_picked = Signal(str)
    """The name of a way with the cut that is to be taken; empty takes the fastest cut again."""

    def __init__(self) -> None:
        super().__init__("Memory forecast", gap=10)
        self.phases = Segmented(tuple(PHASE_WORDS[phase] for phase in PHASES), current=1)
        self.phases.chosen.connect(self._on_phase)
        self._chip = Chip("Checking", "info", "clock")
        self.header.removeWidget(self.note)
        add(self.header, self._chip, (self.note, 1), self.phases)
        self._words = Label(NOTHING_YET, "body2", wrap=True)
        self._retry = Button("Try again", "refresh", size="small")
        self._retry.clicked.connect(self.retry_asked)
        self._bars = QVBoxLayout()
        self._bars.setSpacing(10)
        self._legend = Legend()
        self.cut = CutPanel()
        self.cut.moved.connect(self._on_cut_moved)
        self.cut.picked.connect(self.cut_picked)
        self._shown_bars: list[tuple[BarLine, NeedBarView]] = []
        self._blocks = QVBoxLayout()
        self._blocks.setSpacing(6)
        self._summary = QVBoxLayout()
        self._summary.setSpacing(6)
        self._inside = holder(column(self._bars, self._legend, self.cut, self._blocks, self._summary, gap=12))
        self.add(self._words, row(self._retry, None), self._inside)
        self._clock = QTimer(self)
        self._clock.setInterval(1000)
        self._clock.timeout.connect(self._on_second)
        self._began_s = 0.0
        self._status, self._is_held_up = ForecastStatus(), False
        self._shown: Forecast | None = None
        self._idle: tuple[NeedBar, ...] = ()
        self._filled: tuple[object, ...] = ()
        self.show_status(self._status)

    @property
    def phase(self) -> Phase:
        """The phase that is shown."""
        return PHASES[self.phases.index]

    def show_status(self, status: ForecastStatus, *, is_held_up: bool = False) -> None:
        """Show what is known for the present choice; `is_held_up` says that a message above tells what it waits for."""
        self._status, self._is_held_up = status, is_held_up
        forecast = status.forecast
        if forecast is not None and forecast is not self._shown and forecast.refusal:
            self.phases.choose(PHASES.index(forecast_verdict.phase_to_look_at(forecast)))
        self._shown = forecast
        self._show_chip(status)
        told = [PHASES.index(phase) for phase in forecast_bars.phases_of(forecast)] if forecast is not None else []
        self.phases.offer(told)
        self.phases.setVisible(len(told) > 1)
        self._show_clock(status)
        self._retry.setVisible(status.problem is not None and not is_held_up)
        sentence = self._words_for(status)
        self._words.set_text(sentence)
        self._words.setVisible(bool(sentence))
        self._fill()

    def _show_clock(self, status: ForecastStatus) -> None:
        """Count the seconds while a forecast is made."""
        if status.is_checking and not self._clock.isActive():
            self._began_s = time.monotonic()
            self._clock.start()
        elif not status.is_checking:
            self._clock.stop()

    def _on_second(self) -> None:
        self.note.set_text(tr(f"{words.duration(time.monotonic() - self._began_s)} so far"))

    def show_machine(self, report: RigReport) -> None:
        """Take what cards there are, to show what is free of them while no forecast is known."""
        self._idle = forecast_bars.idle_bars(report.cards)
        self._fill()

    def _show_chip(self, status: ForecastStatus) -> None:
        self._chip.setVisible(status.is_checking or status.current is not None or status.problem is not None)
        if status.is_checking:
            self._chip.set("Checking", "info", "clock")
        elif status.problem is not None:
            self._chip.set("Not known", "warn", "warn")
        elif status.is_refused:
            self._chip.set("Does not fit", "err", "err")
        elif status.current is not None and forecast_verdict.summary(status.current)[0] == "warn":
            self._chip.set("Tight", "warn", "warn")
        else:
            self._chip.set("Fits", "ok", "ok")

    def _words_for(self, status: ForecastStatus) -> str:
        if status.problem is not None and not self._is_held_up:
            return f"{status.problem.sentence} {status.problem.hint}".strip()
        if status.forecast is not None:
            return ""
        return CHECKING if status.is_checking else NOT_BEFORE if self._is_held_up else NOTHING_YET

    def _fill(self) -> None:
        state = (self._status.forecast, self._status.is_checking, self.phase, self._idle)
        if state == self._filled:
            return
        self._filled = state
        self._shown_bars = []
        for layout in (self._bars, self._blocks, self._summary):
            clear(layout)
        forecast = self._status.forecast
        bars = self._idle if forecast is None else forecast_bars.all_bars(forecast, self.phase)
        for bar in bars:
            view = NeedBarView()
            view.show_bar(bar, dimmed=self._status.is_checking and forecast is not None)
            line = BarLine(bar)
            self._shown_bars.append((line, view))
            self._bars.addLayout(column(line, view, gap=5))
        self._inside.setVisible(bool(bars))
        kinds = forecast_bars.kinds_shown(forecast) if forecast is not None else ()
        self._legend.show_items([(kind_swatch(kind), KIND_WORDS[kind]) for kind in kinds])
        self._legend.setVisible(bool(kinds))
        is_told = forecast is not None and not self._status.is_checking
        self.note.set_text(tr(forecast_bars.phase_of(forecast, self.phase).words) if forecast and is_told else "")
        view = forecast_cuts.cut_view(forecast) if forecast is not None else None
        self.cut.show_view(view, dimmed=self._status.is_checking)
        if forecast is not None:
            self._fill_blocks(forecast, view)
            self._fill_summary(forecast)

    def _on_cut_moved(self, first: int) -> None:
        """Show at once what the cards would hold with another cut; its own forecast follows."""
        forecast = self._status.forecast
        view = forecast_cuts.cut_view(forecast) if forecast is not None else None
        if forecast is None or view is None or self.phase != "training":
            return
        bars = forecast_cuts.bars_at(forecast, self.phase, view, first)
        for (line, shown), bar in zip(self._shown_bars, bars, strict=True):
            line.show_bar(bar)
            shown.show_bar(bar)

    def _fill_blocks(self, forecast: Forecast, view: CutView | None) -> None:
        way = forecast.recommended
        if way is None or forecast_bars.is_on_processor(forecast):
            return
        if view is not None and not way.paged_blocks and len(way.chunk_sizes) == len(way.cards):
            return  # The bar with the cut shows the same.
        strip = BlockStrip()
        cells = forecast_blocks.cells(forecast, way)
        sentence = forecast_blocks.sentence(forecast, way)
        strip.show_cells(cells, spoken=sentence, dimmed=self._status.is_checking)
        told = forecast_blocks.card_words(forecast, way)
        items: list[tuple[Swatch, str]] = [(card_swatch(index), f"{label}: {what}") for index, label, what in told]
        if way.paged_blocks:
            items.append((paged_swatch, "in RAM, brought in for their turn"))
        if view is None:
            add(self._blocks, hairline(), 4)
        add(self._blocks, Label("Where the blocks go", "strong"), strip, Legend(items))

    def _fill_summary(self, forecast: Forecast) -> None:
        if self._status.is_checking:
            self._add_line("info", FORMER)
            return
        for tone, sentence in forecast_verdict.lines_of(forecast):
            self._add_line(tone, sentence)

    def _add_line(self, tone: str, sentence: str) -> None:
        line = row(gap=8)
        line.addWidget(Icon(tone, tone, 15), 0, Qt.AlignmentFlag.AlignTop)
        add(line, (Label(sentence, "small", wrap=True), 1))
        self._summary.addLayout(line)

    def _on_phase(self, _index: int) -> None:
        self._fill()
