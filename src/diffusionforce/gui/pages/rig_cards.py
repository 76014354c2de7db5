"""What a machine consists of, as small cards: each graphics card, and the processor."""

from PySide6.QtWidgets import QVBoxLayout

from diffusionforce.gui.model import words
from diffusionforce.gui.model.devices import short_name
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.rig_watch import card_name
from diffusionforce.gui.widgets.bars import MemoryBar
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import add, clear, column, row
from diffusionforce.rig import RigReport


class DevicesCard(Card):
    """The devices that a run could use, for the plan: names, memory, what is free."""

    def __init__(self) -> None:
        super().__init__("Devices", gap=10)
        self._lines = QVBoxLayout()
        self._lines.setSpacing(10)
        self._lines.addWidget(Label("Looking at the machine", "small"))
        self.add(self._lines)

    def show_report(self, report: RigReport) -> None:
        """Show what was found."""
        clear(self._lines)
        for card in report.cards:
            used = words.amount_of(card.used_bytes, card.total_bytes)
            head = row(
                Label(f"GPU {card.index}", "strong", tone=f"g{min(card.index, 3)}"), (Elided(card_name(card)), 1)
            )
            add(head, Label(used, "small"))
            bar = MemoryBar(card.index, height=8)
            bar.show_bytes(card.used_bytes, card.total_bytes, name=f"GPU {card.index}")
            self._lines.addLayout(column(head, bar, gap=6))
        if not report.cards:
            self._lines.addLayout(processor_line(report))
            text = "No NVIDIA card was found. The pocket demo trains on the processor."
            self._lines.addWidget(Label(text, "small", wrap=True))


def processor_line(report: RigReport) -> QVBoxLayout:
    """Return the processor and its memory as two lines."""
    machine = report.machine
    name = short_name(machine.processor) or machine.system
    cores = words.count(machine.num_cores, "core")
    memory = f"{cores} · {words.size(machine.ram_available_bytes)} of {words.size(machine.ram_total_bytes)} RAM free"
    return column(row(Label("CPU", "strong"), (Elided(name), 1)), Elided(tr(memory), "small"), gap=2)


def memory_total_bytes(report: RigReport | None) -> int:
    """Return the RAM of the machine, or a usual amount while it is not known."""
    return report.machine.ram_total_bytes if report is not None else 16 * 1024**3
