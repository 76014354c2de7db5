"""One way to train, as a row of the list that compares them."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QSpacerItem

from diffusionforce.gui.model.forecast_ways import WayLine
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.bars import ProgressBar
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import add, column, row

SPEED_BAR_PX, DETAILS_PX, WITH_BAR_PX = 48, 28, 300


class WayRow(QFrame):
    """Shows a `WayLine`: what it is, how fast, why.

    Args:
        line: The way.
        is_picked: Whether the user has picked it.
    """

    picked = Signal(str)
    """Its name, where it is to be taken; empty where the choice is to be taken back."""

    def __init__(self, line: WayLine, *, is_picked: bool = False) -> None:
        super().__init__()
        self.setObjectName("way")
        self.setProperty("best", "1" if line.is_recommended else "")
        self.setAccessibleName(tr(line.spoken))
        self.line = line
        self._bar: ProgressBar | None = None
        tone = "" if line.fits else "err"
        head = row(Label(line.title, "strong" if line.fits else "body2"), gap=8)
        if line.is_recommended:
            head.addWidget(Chip("Your choice" if is_picked else "Recommended", "primary"))
        elif line.relation:
            head.addWidget(Label(line.relation, "muted"))
        head.addStretch(1)
        if not line.fits:
            head.addWidget(Icon("x", "err", 12))
        head.addWidget(Label(line.speed, "strong", tone=tone) if line.speed != "unknown" else Label("unknown", "muted"))
        details = row((Elided(tr(line.details), "muted"), 1), gap=10)
        # As high without a button as with one, so that the lines of all ways are equally far apart.
        details.addItem(QSpacerItem(0, DETAILS_PX))
        if line.time_share is not None:
            self._bar = ProgressBar(height=5, name="Time of a step against the slowest way")
            self._bar.setFixedWidth(SPEED_BAR_PX)
            self._bar.show_share(line.time_share, tone="focus" if line.is_recommended else "text3")
            details.addWidget(self._bar)
        if is_picked or (line.fits and not line.is_recommended):
            take = Button("Use the fastest" if is_picked else "Use this way", kind="ghost", size="small")
            take.setAccessibleName(take.text() if is_picked else f"Use {line.name}")
            take.clicked.connect(lambda: self.picked.emit("" if is_picked else line.name))
            details.addWidget(take)
        layout = column(gap=0, margins=(12, 8, 12, 9))
        add(layout, head, details)
        if line.reason:
            add(layout, Label(line.reason, "small", wrap=True))
        self.setLayout(layout)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the room of the bar to the words where there is little."""
        super().resizeEvent(event)
        if self._bar is not None:
            self._bar.setVisible(self.width() >= WITH_BAR_PX)
