"""One device while a run goes on: memory with its peak, busy share, what the driver tells, and its blocks."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout

from diffusionforce.gui.model import words
from diffusionforce.gui.model.devices import DeviceView
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.bars import MemoryBar
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import add, column, row
from diffusionforce.gui.widgets.spark import Spark


class DeviceCard(QFrame):
    """A card for one device; `fallback_total_bytes` scales the bar of a device that does not know its memory."""

    MAX_FACTS = 4

    def __init__(self, view: DeviceView, *, fallback_total_bytes: int) -> None:
        super().__init__()
        self.setObjectName("card")
        self._fallback = fallback_total_bytes
        self._memory = Label("", "strong")
        self._bar = MemoryBar(view.index)
        self._names = [Label("", "caption") for _ in range(self.MAX_FACTS)]
        self._values = [Label("", "strong") for _ in range(self.MAX_FACTS)]
        self._spark = Spark(view.index)
        self._spark.setAccessibleName(f"{view.label}: {tr('busy share of the last steps')}")
        self._name = Elided(tr(view.name))
        head = row(Label(view.label, "strong", tone=f"g{min(view.index, 3)}"), (self._name, 1), self._memory)
        facts = QGridLayout()
        facts.setHorizontalSpacing(12)
        facts.setVerticalSpacing(0)
        for i in range(self.MAX_FACTS):
            facts.addWidget(self._names[i], 0, i)
            facts.addWidget(self._values[i], 1, i)
        facts.addWidget(self._spark, 0, self.MAX_FACTS, 2, 1, Qt.AlignmentFlag.AlignBottom)
        facts.setColumnStretch(self.MAX_FACTS, 1)
        layout = column(gap=7, margins=(14, 11, 14, 12))
        add(layout, head, self._bar, facts)
        self.setLayout(layout)
        self.show_view(view)

    def show_view(self, view: DeviceView) -> None:
        """Show the newest readings."""
        used = view.memory_bytes or 0
        total = view.total_bytes or self._fallback
        has_memory = view.memory_bytes is not None
        self._memory.set_text(words.amount_of(used, total) if has_memory else "")
        self._bar.show_bytes(used, total, peak=view.peak_bytes, name=view.label)
        self._name.set_text(tr(view.name))
        facts = _facts(view)
        for i in range(self.MAX_FACTS):
            name, value = facts[i] if i < len(facts) else ("", "")
            self._names[i].set_text(name)
            self._values[i].set_text(value)
            self._names[i].setVisible(bool(name))
            self._values[i].setVisible(bool(name))
        self._spark.show_values(tuple(view.busy))
        spoken = ", ".join(f"{tr(name)} {tr(value)}" for name, value in facts)
        self.setAccessibleName(f"{view.label} {tr(view.name)}: {self._memory.text()}, {spoken}")


def _facts(view: DeviceView) -> list[tuple[str, str]]:
    """Return name and value of what is known, the most telling first."""
    reading = view.reading
    facts: list[tuple[str, str]] = []
    if reading is not None and reading.busy is not None:
        facts.append(("Busy", words.percent(reading.busy)))
    elif reading is not None and reading.load is not None:
        facts.append(("Load", words.percent(reading.load)))
    if reading is not None and reading.temperature_c is not None:
        facts.append(("Temp", f"{reading.temperature_c:.0f} °C"))
    if reading is not None and reading.power_w is not None:
        facts.append(("Power", f"{reading.power_w:.0f} W"))
    if view.peak_bytes:
        facts.append(("Peak", words.size(view.peak_bytes)))
    if view.blocks:
        facts.append(("Blocks", words.ranges(view.blocks)))
    return facts[: DeviceCard.MAX_FACTS]
