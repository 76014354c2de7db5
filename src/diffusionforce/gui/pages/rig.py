"""The Rig place: cards, machine, and what follows from them."""

from PySide6.QtWidgets import QApplication, QGridLayout, QVBoxLayout

from diffusionforce.gui.model import words
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.rig_watch import RigWatch, card_name
from diffusionforce.gui.widgets.bars import MemoryBar
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import add, clear, column, hairline, holder, row, scrolling
from diffusionforce.gui.widgets.notices import Finding
from diffusionforce.rig import Card as GraphicsCard
from diffusionforce.rig import Machine, RigReport

CARDS_A_ROW = 2
TONES = {"problem": "err", "warning": "warn", "note": "info", "good": "ok"}


class RigPage(Page):
    """Shows what was found out about the machine."""

    def __init__(self, watch: RigWatch) -> None:
        super().__init__()
        self._watch = watch
        self._asked = False
        self.header = Header("Rig", "Looking at the machine")
        self.copy = Button("Copy report", "copy")
        self.copy.clicked.connect(self._copy)
        self.again = Button("Look again", "refresh")
        self.again.clicked.connect(self._look)
        self.header.add_actions(self.copy, self.again)
        self._content = QVBoxLayout()
        self._content.setSpacing(14)
        add(self.body, self.header, (scrolling(holder(column(self._content, None)), name="clear"), 1))
        watch.examined.connect(self._show)
        if watch.report is not None:
            self._show(watch.report)

    def shown(self) -> None:
        """Ask PyTorch too, the first time that somebody looks."""
        if not self._asked:
            self._look()

    def _look(self) -> None:
        self._asked = True
        self.again.allow(False, reason="Looking at the machine")
        self._watch.examine(ask_torch=True)

    def _show(self, report: RigReport) -> None:
        if report.torch is not None:
            self.again.allow(True)
        self.header.set_title("Rig", _summary(report))
        clear(self._content)
        for start in range(0, len(report.cards), CARDS_A_ROW):
            cards = report.cards[start : start + CARDS_A_ROW]
            self._content.addLayout(row(*((_graphics_card(card), 1) for card in cards), gap=14))
        self._content.addWidget(_machine_card(report.machine))
        self._content.addWidget(self._advice(report))

    @staticmethod
    def _advice(report: RigReport) -> Card:
        card = Card("Findings", "what works, what does not, what to do", gap=2)
        for i, finding in enumerate(report.findings):
            if i:
                card.add(hairline())
            card.add(Finding(TONES[finding.severity], finding.sentence, finding.hint, wrap=True))
        if report.torch is None:
            card.add(
                hairline(), Finding("info", "PyTorch is being asked what it can do here", "This takes some seconds.")
            )
        return card

    def _copy(self) -> None:
        report = self._watch.report
        if report is not None:
            lines = [_summary(report), *report.sentences()]
            QApplication.clipboard().setText("\n".join(lines))


def _summary(report: RigReport) -> str:
    if not report.cards:
        return "No NVIDIA card was found. The pocket demo runs on the processor."
    total = sum(card.total_bytes for card in report.cards)
    free = sum(card.free_bytes for card in report.cards)
    return f"{words.size(total)} of GPU memory in this machine. {words.size(free)} is free right now."


def _graphics_card(card: GraphicsCard) -> Card:
    box = Card(gap=10)
    head = row(Label(f"GPU {card.index}", "strong", tone=f"g{min(card.index, 3)}"), (Elided(card_name(card)), 1))
    bar = MemoryBar(card.index, height=18)
    bar.show_bytes(card.used_bytes, card.total_bytes, name=f"GPU {card.index} memory")
    link = "–"
    if card.pcie_generation_max and card.pcie_width:
        link = f"PCIe {card.pcie_generation_max}.0 × {card.pcie_width}"
    facts = [
        ("Memory", words.amount_of(card.used_bytes, card.total_bytes) + " used"),
        ("Link", link),
        ("Display", {True: "attached", False: "none", None: "–"}[card.display_attached]),
        ("Driver", card.driver_version or "–"),
        ("Temp", f"{card.temperature_c:.0f} °C" if card.temperature_c is not None else "–"),
        ("Power cap", f"{card.power_limit_w:.0f} W" if card.power_limit_w is not None else "–"),
    ]
    return box.add(head, bar, _facts(facts))


def _machine_card(machine: Machine) -> Card:
    box = Card(gap=10)
    facts = [
        ("System", machine.system),
        ("Cores", f"{machine.num_cores}, {machine.num_threads} threads"),
        ("RAM", f"{words.size(machine.ram_available_bytes)} of {words.size(machine.ram_total_bytes)} free"),
        ("Disk", f"{words.size(machine.disk_free_bytes)} free"),
        ("Python", machine.python_version),
        ("Folder", machine.disk_path),
    ]
    return box.add(row(Label("CPU", "strong"), (Elided(machine.processor or machine.system), 1)), _facts(facts))


def _facts(facts: list[tuple[str, str]]) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(12)
    grid.setVerticalSpacing(6)
    grid.setColumnStretch(1, 1)
    grid.setColumnStretch(3, 1)
    for i, (name, value) in enumerate(facts):
        grid.addWidget(Label(name, "small"), i // 2, i % 2 * 2)
        grid.addWidget(Elided(value), i // 2, i % 2 * 2 + 1)
    return grid
