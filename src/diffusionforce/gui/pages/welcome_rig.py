"""First steps, the rig: what was found out about cards, machine and environment, and what to do."""

from collections.abc import Iterator

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from diffusionforce.gui.environment_desk import EnvironmentDesk
from diffusionforce.gui.model import first_run
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.environment_setup import EnvironmentSetup
from diffusionforce.gui.rig_watch import RigWatch
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.layout import clear, column, hairline
from diffusionforce.gui.widgets.notices import Finding
from diffusionforce.rig import RigReport


class RigStep(QWidget):
    """Shows the findings; asks PyTorch too, which takes some seconds."""

    checked = Signal(str)

    def __init__(self, watch: RigWatch, environment: EnvironmentDesk) -> None:
        super().__init__()
        self._environment = environment
        self.setObjectName("clear")
        self._watch = watch
        self._has_asked = False
        self._parts = column(None, gap=14)
        self.setLayout(self._parts)

    def build(self) -> Iterator[None]:
        """Build it in pieces, once it has its place in the window."""
        self.card = Card("Your rig", gap=2)
        self._chip = Chip(tr("Looking"), "info", "clock")
        self.again = Button("Check again", "refresh", size="small")
        self.again.clicked.connect(self._look)
        self.card.header.addWidget(self._chip)
        self.card.header.addWidget(self.again)
        self._lines = QVBoxLayout()
        self._lines.setSpacing(0)
        self.card.add(self._lines)
        self._parts.insertWidget(0, self.card)
        self._show_waiting()
        self._watch.examined.connect(self._show)
        if self._watch.report is not None:
            self._show(self._watch.report)
        yield
        self.setup = EnvironmentSetup(self._environment)
        self._parts.insertWidget(1, self.setup)
        # Once it has been seen here it stays, so that what was set up is also seen to be ready.
        self.setup.setVisible(self._environment.is_needed)
        yield from self.setup.build()

    def shown(self) -> None:
        """Look at the machine, the first time, and at the training environment where one is needed."""
        if self._environment.is_needed:
            self.setup.show()
            self._environment.look()
        if not self._has_asked:
            self._look()

    def _look(self) -> None:
        self._has_asked = True
        self.again.allow(False, reason=tr("Looking at the machine"))
        self._watch.examine(ask_torch=True)

    def _show_waiting(self) -> None:
        clear(self._lines)
        self._lines.addWidget(Finding("info", tr("Looking at the machine"), tr("Cards, driver, memory, disk.")))

    def _show(self, report: RigReport) -> None:
        is_whole = report.torch is not None
        self.again.allow(is_whole, reason=tr("Looking at the machine"))
        tone, verdict = first_run.rig_verdict(report) if is_whole else ("info", "Looking")
        self._chip.set(tr(verdict), tone, "clock" if not is_whole else {"err": "err", "ok": "ok"}.get(tone, "info"))
        clear(self._lines)
        for i, line in enumerate(first_run.rig_lines(report)):
            if i:
                self._lines.addWidget(hairline())
            self._lines.addWidget(Finding(line.tone, line.title, line.text, wrap=True))
        if not is_whole:
            self._lines.addWidget(hairline())
            title, text = tr("PyTorch is being asked what it can do here"), tr("This takes some seconds.")
            self._lines.addWidget(Finding("info", title, text))
        else:
            self.checked.emit(verdict)
