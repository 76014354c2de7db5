"""One graphics card of the rig: memory, link, display, temperature, and what else uses it."""

from collections.abc import Sequence

from PySide6.QtWidgets import QGridLayout

from diffusionforce.gui.model import rig_words, words
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.bars import MemoryBar
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import column, hairline, row
from diffusionforce.rig import Card as GraphicsCard
from diffusionforce.rig import Reading
from diffusionforce.wire.speed import SpeedTest


class GraphicsCardView(Card):
    """Shows one card; memory and temperature follow the readings of each second."""

    def __init__(
        self, card: GraphicsCard, cards: Sequence[GraphicsCard], *, test: SpeedTest | None, hints: int
    ) -> None:
        super().__init__(gap=10)
        self._card = card
        self.setAccessibleName(f"GPU {card.index} {rig_words.short_name(card.name)}")
        chip = Chip(words.count(hints, "hint"), "warn", "warn") if hints else Chip("Ready", "ok", "ok")
        name = Elided(rig_words.short_name(card.name))
        head = row(Label(f"GPU {card.index}", "strong", tone=f"g{min(card.index, 3)}"), (name, 1), chip)
        self.bar = MemoryBar(card.index, height=18)
        self.memory, self.temperature = Elided(""), Elided("")
        self.add(head, self.bar, self._facts(cards, test))
        held = rig_words.others(card)
        if held:
            lines = column(gap=3)
            for program, amount in held:
                lines.addLayout(row((Elided(tr(program), "small"), 1), Label(amount, "small")))
            self.add(hairline(), column(Label("USED BY", "caption"), lines, gap=4))
        self.add(None)
        self._show(card.used_bytes, card.total_bytes, rig_words.temperature(card))

    def _facts(self, cards: Sequence[GraphicsCard], test: SpeedTest | None) -> QGridLayout:
        facts = [
            (name, Elided(value if name == rig_words.DRIVER else tr(value)))
            for name, value in rig_words.card_facts(self._card, cards, test)
        ]
        return fact_grid([("Memory", self.memory), *facts[:3], ("Temp", self.temperature), *facts[3:]])

    def show_reading(self, reading: Reading) -> None:
        """Take the newest reading."""
        self._show(
            reading.used_bytes if reading.used_bytes is not None else self._card.used_bytes,
            reading.total_bytes or self._card.total_bytes,
            rig_words.temperature(reading),
        )

    def _show(self, used_bytes: int, total_bytes: int, temperature: str) -> None:
        # What is held before a run is in other hands: grey, at the end where a run does not begin.
        self.bar.show_bytes(0, total_bytes, other=used_bytes, name=f"GPU {self._card.index}")
        self.bar.setAccessibleName(tr(f"GPU {self._card.index} memory {words.percent(used_bytes / total_bytes)} used"))
        self.memory.set_text(tr(f"{words.amount_of(used_bytes, total_bytes)} used"))
        self.temperature.set_text(temperature)


def fact_grid(facts: Sequence[tuple[str, Elided]]) -> QGridLayout:
    """Return facts in two columns, each with its name."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(12)
    grid.setVerticalSpacing(6)
    grid.setColumnStretch(1, 1)
    grid.setColumnStretch(3, 1)
    for i, (name, value) in enumerate(facts):
        grid.addWidget(Label(name, "small"), i // 2, i % 2 * 2)
        grid.addWidget(value, i // 2, i % 2 * 2 + 1)
    return grid
