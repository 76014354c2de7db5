"""What goes over the links of the cards of a run, over the last minute, against what each link could carry."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from diffusionforce.gui.model import rig_words
from diffusionforce.gui.model.devices import DeviceView
from diffusionforce.rig import Card, Traffic, link_bytes_per_s

HISTORY = 60
GB = 1e9
"""Links are told in decimal gigabytes, as their makers do."""


@dataclass(frozen=True, kw_only=True)
class LinkLine:
    """One link.

    Attributes:
        index: Position of the card among the run's devices; picks its colour.
        label: `GPU 0`.
        slot: `4.0 × 16`, empty where the driver does not tell.
        rate: `0.4 of 32 GB/s`: what goes over it now, both ways together, and what it carries one way.
        shares: The last minute as shares of what it carries, oldest first.
    """

    index: int
    label: str
    slot: str
    rate: str
    shares: tuple[float, ...]


class LinkTraffic:
    """Remembers readings, one a second."""

    def __init__(self) -> None:
        self._cards: dict[int, Card] = {}
        self._rates: dict[int, deque[float]] = {}

    def take_cards(self, cards: Sequence[Card]) -> None:
        """Take what links there are."""
        self._cards = {card.index: card for card in cards}

    def read(self, readings: Sequence[Traffic]) -> None:
        """Take the newest readings; a card whose driver does not tell has none."""
        for reading in readings:
            if reading.bytes_per_s is not None:
                self._rates.setdefault(reading.index, deque[float](maxlen=HISTORY)).append(reading.bytes_per_s)

    def forget(self) -> None:
        """Begin anew, for another run."""
        self._rates.clear()

    def lines(self, devices: Sequence[DeviceView]) -> tuple[LinkLine, ...]:
        """Return a line for each card of a run of which something is known."""
        found: list[LinkLine] = []
        for view in devices:
            kind, _, number = view.device.partition(":")
            rates = self._rates.get(int(number or 0)) if kind == "cuda" and (number or "0").isdigit() else None
            if rates:
                found.append(self._line(view, self._cards.get(int(number or 0)), tuple(rates)))
        return tuple(found)

    @staticmethod
    def _line(view: DeviceView, card: Card | None, rates: tuple[float, ...]) -> LinkLine:
        limit = link_bytes_per_s(card) if card is not None else None
        slot = rig_words.link(card).removeprefix("PCIe ") if card is not None and limit is not None else ""
        now = f"{rates[-1] / GB:.1f}"
        return LinkLine(
            index=view.index,
            label=view.label,
            slot=slot,
            rate=f"{now} of {limit / GB:.0f} GB/s" if limit is not None else f"{now} GB/s",
            shares=tuple(rate / (limit or max(*rates, 1.0)) for rate in rates),
        )
