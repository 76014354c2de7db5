"""What goes over the links of the cards while a run goes on."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.link_traffic import LinkLine
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import clear
from diffusionforce.gui.widgets.spark import Spark

SPARK_PX = 18


class LinksCard(Card):
    """A line for each link; not there while nothing is known of any."""

    def __init__(self) -> None:
        super().__init__(padding=14, gap=8)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(2, 1)
        self._labels: list[tuple[Spark, Label]] = []
        self._heads: tuple[tuple[str, str], ...] = ()
        self.title_label = Label("Links", "strong")
        self.title_label.setToolTip(tr("What goes over the slot of each card, both ways together, against its limit."))
        self.add(self.title_label, self._grid)
        self.hide()

    def show_lines(self, lines: tuple[LinkLine, ...]) -> None:
        """Show what goes over each link now."""
        self.setVisible(bool(lines))
        heads = tuple((line.label, line.slot) for line in lines)
        if heads != self._heads:
            self._heads = heads
            self._build(lines)
        for (spark, rate), line in zip(self._labels, lines, strict=True):
            spark.show_values(line.shares)
            rate.set_text(line.rate)
        self.setAccessibleName(" ".join(f"{line.label} {line.slot}: {tr(line.rate)}." for line in lines))

    def _build(self, lines: tuple[LinkLine, ...]) -> None:
        clear(self._grid)
        self._labels = []
        for number, line in enumerate(lines):
            spark, rate = Spark(line.index, height=SPARK_PX), Label("", "strong")
            spark.setAccessibleName(f"{line.label}: {tr('traffic of the last minute')}")
            rate.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self._grid.addWidget(Label(line.label, "strong", tone=f"g{min(line.index, 3)}"), number, 0)
            self._grid.addWidget(Label(line.slot, "small"), number, 1)
            self._grid.addWidget(spark, number, 2)
            self._grid.addWidget(rate, number, 3)
            self._labels.append((spark, rate))
