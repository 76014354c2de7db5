"""A forecast in one line: verdict, a meter a card, the time."""

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QFrame, QLayout

from diffusionforce.gui.model.forecast_strip import StripView
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.bars import MiniMeter
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.labels import FewLines, Label
from diffusionforce.gui.widgets.layout import add, clear, row

HEIGHT_PX, MIN_PX = 44, 300
MOST_LINES, LINE_PX = 5, 15
"""Of the sentence: two have room in the usual height, and more make the strip higher."""


class ForecastStrip(QFrame):
    """Shows a `StripView`."""

    retry_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sub")
        self.setFixedHeight(HEIGHT_PX)
        self._chip = Chip(tr("Checking"), "info", "clock")
        self._meters = row(gap=18)
        self.sentence = FewLines("", "small", max_lines=MOST_LINES)
        self.sentence.installEventFilter(self)
        self.retry = Button("Try again", "refresh", size="small")
        self.retry.clicked.connect(self.retry_asked)
        self._shown: StripView | None = None
        layout = row(Label(tr("Forecast"), "strong"), gap=12, margins=(12, 0, 8, 0))
        add(layout, self._chip, self._meters, (self.sentence, 1), self.retry)
        # Its cards must not keep the window from being small; a narrow window has a narrow list beside it.
        layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self.setMinimumWidth(MIN_PX)
        self.setLayout(layout)
        self.show_view(StripView(word="", tone="", icon="clock"))

    def show_view(self, view: StripView) -> None:
        """Show another forecast."""
        if view == self._shown:
            return
        if self._shown is None or view.meters != self._shown.meters:
            clear(self._meters)
            for meter in view.meters:
                widget = MiniMeter(meter.label, meter.index)
                widget.show_reading(meter.share, meter.text, spoken=meter.spoken)
                self._meters.addWidget(widget)
        self._shown = view
        self._chip.setVisible(bool(view.word))
        self._chip.set(tr(view.word), view.tone, view.icon)
        self.sentence.set_text(tr(view.sentence))
        self.retry.setVisible(view.can_retry)
        self._fit()
        self.setToolTip(tr(view.tip))
        self.setAccessibleName(f"{tr('Forecast')}: {tr(view.word)}. {view.sentence}")

    def _fit(self) -> None:
        """Take the height that the sentence needs at its width."""
        num_lines = self.sentence.shown().count("\n") + 1
        self.setFixedHeight(HEIGHT_PX + LINE_PX * max(0, num_lines - 2))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take another height when the sentence has become wider or narrower; swallow nothing."""
        if watched is self.sentence and event.type() == QEvent.Type.Resize:
            self._fit()
        return super().eventFilter(watched, event)
