"""The ways to train compared, in the plan of a run."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout

from diffusionforce.gui.model import forecast_ways, words
from diffusionforce.gui.model.forecast_desk import ForecastStatus
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import clear, row
from diffusionforce.gui.widgets.way_row import WayRow
from diffusionforce.wire.forecast import Forecast


class WaysCard(Card):
    """Lists the best way of each kind; those with other number formats of the weights unfold."""

    way_picked = Signal(str)
    """The name of a way that is to be taken; empty takes the fastest again."""

    def __init__(self) -> None:
        super().__init__("How it can run", gap=8)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(8)
        self._fold = Button("Show more", "chev-right", kind="ghost", size="small")
        self._fold.clicked.connect(self._toggle)
        self._source = Label("", "muted", wrap=True)
        self._forecast: Forecast | None = None
        self._is_open = False
        self._picked = ""
        self.add(self._rows, row(self._fold, None), self._source)
        self.hide()

    def show_status(self, status: ForecastStatus, *, picked: str = "") -> None:
        """Show the ways of a forecast; the card is not there while there is nothing to compare.

        Args:
            status: What is known of the present choice.
            picked: Name of the way that the user has picked, if any.
        """
        forecast = status.forecast
        self.setVisible(forecast is not None and len(forecast.ways) > 1)
        if forecast is not self._forecast or picked != self._picked:
            self._is_open &= picked != self._picked
            self._forecast, self._picked = forecast, picked
            self._show()

    def _show(self) -> None:
        clear(self._rows)
        forecast = self._forecast
        if forecast is None:
            return
        few, many = forecast_ways.best_of_each_kind(forecast), forecast_ways.best_of_each_format(forecast)
        for line in forecast_ways.lines(forecast, many if self._is_open else few):
            way = WayRow(line, is_picked=bool(self._picked) and line.name == self._picked)
            way.picked.connect(self.way_picked)
            self._rows.addWidget(way)
        self._fold.setVisible(len(many) > len(few))
        self._fold.set_text(
            "Show the best of each kind" if self._is_open else "Show other weights",
            icon="chev-down" if self._is_open else "chev-right",
        )
        compared = f"The best of {words.count(len(forecast.ways), 'way')}. " if len(forecast.ways) > len(few) else ""
        source = forecast_ways.SPEED_SOURCES[forecast.times]
        speed = f"Seconds a step: {source}." if forecast.times != "unknown" else f"{source.capitalize()} here yet."
        self._source.set_text(f"{compared}{speed}")

    def _toggle(self) -> None:
        self._is_open = not self._is_open
        self._show()
