"""The rig strip: what is going on and how the machine is, always in sight at the bottom of the window."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.strip_words import StripLine, of_plan
from diffusionforce.gui.rig_watch import Vitals
from diffusionforce.gui.widgets.bars import MiniMeter
from diffusionforce.gui.widgets.labels import Icon, Label
from diffusionforce.gui.widgets.layout import row

HEIGHT_PX = 32


class _Clickable(QWidget):
    """A part of the strip that opens a place."""

    clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("clear")
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def mousePressEvent(self, _event: QMouseEvent) -> None:
        """Report the click."""
        self.clicked.emit()


class RigStrip(QFrame):
    """Run state at the left, meters at the right; a click opens Run or Rig."""

    run_asked = Signal()
    rig_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("strip")
        self.setFixedHeight(HEIGHT_PX)
        self._icon, self._name, self._state = Icon("ok", "ok", 13), Label("Idle", "small"), Label("", "muted")
        run = _Clickable()
        self._run_line = row(self._icon, self._name, self._state, gap=8)
        run.setLayout(self._run_line)
        run.clicked.connect(self.run_asked)
        rig = _Clickable()
        self._meters: dict[str, MiniMeter] = {}
        self._meter_row = row(gap=20)
        rig.setLayout(self._meter_row)
        rig.clicked.connect(self.rig_asked)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 0, 16, 0)
        layout.setSpacing(20)
        layout.addWidget(run)
        layout.addStretch(1)
        layout.addWidget(rig)
        self.show_line(of_plan(None))

    def show_line(self, line: StripLine) -> None:
        """Show the run of the window, or the plan where there is none."""
        self._icon.set(line.icon, line.tone)
        self._name.set_text(line.name)
        self._state.set_text(line.state)
        # At once, not in the next turn of the event loop: until then a longer text would be cut off.
        for layout in (self._run_line, self.layout()):
            assert layout is not None
            layout.activate()

    def show_vitals(self, vitals: Vitals) -> None:
        """Show the machine: a meter for each card, or processor and memory where there is none."""
        for card in vitals.cards:
            used, total = card.used_bytes or 0, card.total_bytes or 1
            amount = words.amount_of(used, total).replace(" / ", "/")
            load = f"  {words.percent(card.load)}" if card.load is not None else ""
            heat = f"  {card.temperature_c:.0f} °C" if card.temperature_c is not None else ""
            spoken = f"GPU {card.index}: {amount} used{load and ', load' + load}{heat and ',' + heat}"
            meter = self._meter(f"GPU {card.index}", card.index)
            meter.show_reading(used / total, f"{amount}{load}{heat}", spoken=spoken)
        if len(vitals.cards) < 2:
            load = words.percent(vitals.cpu_load)
            self._meter("CPU", None).show_reading(vitals.cpu_load, load, spoken=tr(f"Processor: load {load}"))
            share = vitals.ram_used_bytes / vitals.ram_total_bytes
            amount = words.amount_of(vitals.ram_used_bytes, vitals.ram_total_bytes).replace(" / ", "/")
            self._meter("RAM", None).show_reading(share, amount, spoken=tr(f"Memory: {amount} used"))

    def _meter(self, name: str, device_index: int | None) -> MiniMeter:
        meter = self._meters.get(name)
        if meter is None:
            meter = MiniMeter(name, device_index)
            self._meters[name] = meter
            self._meter_row.addWidget(meter)
        return meter
