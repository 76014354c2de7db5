"""Forecast against measured while a run goes on: a small table, and why they differ where they do."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QVBoxLayout

from diffusionforce.gui.model.measured import MeasuredLine
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Icon, Label
from diffusionforce.gui.widgets.layout import add, clear, row

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class MeasuredCard(Card):
    """Shows a line for each device and for the time of a step; it is not there while nothing was forecast."""

    rebalance_asked = Signal()

    def __init__(self) -> None:
        super().__init__(padding=14, gap=8)
        self._table = QGridLayout()
        self._table.setHorizontalSpacing(8)
        self._table.setVerticalSpacing(5)
        self._table.setColumnStretch(0, 1)
        self._causes = QVBoxLayout()
        self._causes.setSpacing(6)
        self._state: tuple[tuple[MeasuredLine, ...], tuple[str, ...]] = ((), ())
        self.rebalance = Button(
            "Stop and rebalance", "play", size="small", tip="Starts this run again, shared out by what was seen"
        )
        self.rebalance.clicked.connect(self.rebalance_asked)
        self.rebalance.hide()
        self.add(Label("Forecast against measured", "strong"), self._table, self._causes, row(self.rebalance, None))
        self.hide()

    def show_lines(self, lines: tuple[MeasuredLine, ...], causes: tuple[str, ...]) -> None:
        """Show lines and causes; nothing is built anew while they stay the same."""
        self.setVisible(bool(lines))
        if (lines, causes) == self._state:
            return
        self._state = (lines, causes)
        clear(self._table)
        clear(self._causes)
        for column, text in enumerate(("", "Forecast", "Measured", "")):
            self._put(Label(text, "caption"), 0, column)
        for number, line in enumerate(lines, start=1):
            tone = "" if line.device_index is None else f"g{min(line.device_index, 3)}"
            self._table.addWidget(Label(line.name, "strong", tone=tone), number, 0)
            self._put(Label(line.planned), number, 1)
            self._put(Label(line.seen, "strong"), number, 2)
            self._put(Label(line.difference, "small", tone=line.tone), number, 3)
        for cause in causes:
            told = row(gap=8)
            told.addWidget(Icon("warn", "warn", 14), 0, Qt.AlignmentFlag.AlignTop)
            add(told, (Label(cause, "small", wrap=True), 1))
            self._causes.addLayout(told)
        self.setAccessibleName(" ".join([*(line.spoken for line in lines), *causes]))

    def _put(self, label: Label, number: int, column: int) -> None:
        label.setAlignment(_RIGHT)
        self._table.addWidget(label, number, column)
