"""A rig in plain words: the facts of each card, what else uses it, and how the speed test went."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import figures, noted, tr
from diffusionforce.rig import Card, Finding, Reading, RigReport, link_bytes_per_s, speed_of
from diffusionforce.wire.speed import DeviceSpeed, SpeedTest

MAX_PROCESSES = 3
NOTHING = "–"
DRIVER = noted("Driver")
"""Its number is a version, which no language writes otherwise."""


def short_name(name: str) -> str:
    """Return a card's model without the maker's prefixes."""
    return name.removeprefix("NVIDIA ").removeprefix("GeForce ")


def summary(report: RigReport) -> str:
    """Return the line under the title."""
    if not report.cards:
        return "No NVIDIA card was found. The pocket demo runs on the processor."
    total = sum(card.total_bytes for card in report.cards)
    free = sum(card.free_bytes for card in report.cards)
    return f"{words.size(total)} of GPU memory in this machine. {words.size(free)} is free right now."


def link(card: Card) -> str:
    """Return generation and lanes of a card's slot as it runs, and what the card could do where that is more.

    An idle card slows its link down to save power, so the generation is what card and slot reach together.
    """
    if not card.pcie_generation_max or not card.pcie_width:
        return NOTHING
    text = f"PCIe {card.pcie_generation_max}.0 × {card.pcie_width}"
    if card.pcie_width_max and card.pcie_width < card.pcie_width_max:
        return f"{text} of {card.pcie_width_max}"
    return text


def link_now(card: Card) -> str:
    """Return how the link runs at this moment, empty where that is nothing else."""
    if not card.pcie_generation or card.pcie_generation == card.pcie_generation_max:
        return ""
    return f"PCIe {card.pcie_generation}.0 while idle"


def relative_speed(card: Card, cards: Sequence[Card], test: SpeedTest | None) -> str:
    """Return how fast a card computes beside the fastest one."""
    speeds = {other.index: speed_of(other, test) for other in cards}
    mine = speeds.get(card.index)
    if mine is None:
        return "not tested"
    index, fastest = max(
        ((index, speed) for index, speed in speeds.items() if speed is not None), key=lambda one: one[1].flops
    )
    if index == card.index:
        return "100 %" if len(cards) > 1 else f"{mine.flops / 1e12:.0f} TFLOPS"
    return f"{words.percent(mine.flops / fastest.flops)} of GPU {index}"


def card_facts(card: Card, cards: Sequence[Card], test: SpeedTest | None) -> list[tuple[str, str]]:
    """Return the facts of a card that stay, in two columns."""
    screens = {True: noted("attached"), False: noted("not attached"), None: NOTHING}
    return [
        ("Link", link(card)),
        (noted("Display"), screens[card.display_attached]),
        ("Speed", relative_speed(card, cards, test)),
        (DRIVER, card.driver_version or NOTHING),
        ("Power cap", f"{card.power_limit_w:.0f} W" if card.power_limit_w is not None else NOTHING),
    ]


def temperature(reading: Card | Reading) -> str:
    """Return how warm a card is."""
    return f"{reading.temperature_c:.0f} °C" if reading.temperature_c is not None else NOTHING


def others(card: Card) -> list[tuple[str, str]]:
    """Return the programs that hold memory of a card, the largest first, and how much."""
    held = sorted(card.processes, key=lambda process: process.used_bytes or 0, reverse=True)
    shown = [
        (
            process.name.replace("\\", "/").rpartition("/")[2] or f"process {process.pid}",
            words.size(process.used_bytes) if process.used_bytes is not None else noted("some"),
        )
        for process in held[:MAX_PROCESSES]
    ]
    rest = held[MAX_PROCESSES:]
    if rest:
        amount = sum(process.used_bytes or 0 for process in rest)
        shown.append((f"{len(rest)} more", words.size(amount) if amount else noted("some")))
    return shown


def num_hints(card: Card, findings: Sequence[Finding]) -> int:
    """Return how many findings about a card are worth reading."""
    return sum(_card_of(finding) == card.index for finding in findings if finding.severity != "good")


def _card_of(finding: Finding) -> int | None:
    """Return the card that a finding is about: the first that it names."""
    named = re.search(r"GPU (\d+) ", finding.sentence)
    return int(named[1]) if named else None


@dataclass(frozen=True, kw_only=True)
class LinkLine:
    """One line of the map of connections.

    Attributes:
        index: Number of the card.
        name: Its model.
        place: Where it is.
        above: What stands over the line: the slot, and what was measured.
        below: What stands under it.
        warns: Whether that is something to look at.
        share: Bandwidth of the line beside the widest one, 0 to 1.
    """

    index: int
    name: str
    place: str
    above: str
    below: str
    warns: bool
    share: float


def link_lines(report: RigReport, test: SpeedTest | None) -> list[LinkLine]:
    """Return how the cards are connected."""
    rates: dict[int, float] = {}
    for card in report.cards:
        speed = speed_of(card, test)
        rates[card.index] = (speed.to_device if speed is not None else None) or link_bytes_per_s(card) or 0.0
    widest = max(rates.values(), default=0.0) or 1.0
    return [_link_line(card, speed_of(card, test), rates[card.index] / widest) for card in report.cards]


def _link_line(card: Card, speed: DeviceSpeed | None, share: float) -> LinkLine:
    text = link(card).removeprefix("PCIe ")
    rate = speed.to_device if speed is not None else None
    narrow = bool(card.pcie_width and card.pcie_width_max and card.pcie_width < card.pcie_width_max)
    could = f"card could do × {card.pcie_width_max}" if narrow else ""
    best = link_bytes_per_s(card)
    # Only the speed: the generation of a slot is written the same in every language.
    at_best = tr("up to {rate} GB/s").format(rate=f"{best / 1e9:.0f}") if best else ""
    told = figures(f"{rate / 1e9:.1f} GB/s") if rate else at_best
    measured = f" · {told}" if told else ""
    return LinkLine(
        index=card.index,
        name=short_name(card.name),
        place=f"GPU {card.index} · {card.pci_address.partition(':')[2] or 'slot not told'}",
        above=f"{text.partition(' of ')[0]}{measured}",
        below=could or link_now(card) or "full speed",
        warns=narrow,
        share=share,
    )


def speed_rows(test: SpeedTest) -> list[tuple[str, list[str]]]:
    """Return the table of a speed test: names of the rows, and a value for each device."""
    devices = test.devices
    number_format = devices[0].number_format if devices else ""
    rows = [(f"Matrix maths, {number_format}", [_flops(device.flops) for device in devices])]
    for name, rates in (
        ("RAM to card", [device.to_device for device in devices]),
        ("Card to RAM", [device.from_device for device in devices]),
        ("Card to card", [device.across for device in devices]),
        ("Own memory", [device.memory for device in devices]),
    ):
        if any(rates):
            rows.append((name, [_rate(rate) for rate in rates]))
    return rows


def tested_when(test: SpeedTest) -> str:
    """Return when a test was made and how long it took."""
    try:
        moment = datetime.fromisoformat(test.measured_at).astimezone()
    except ValueError:
        return words.duration(test.seconds)
    return f"{moment.day} {moment:%b}, {words.duration(test.seconds)}"


def _flops(flops: float) -> str:
    return f"{flops / 1e12:.0f} TFLOPS" if flops >= 1e12 else f"{flops / 1e9:.0f} GFLOPS"


def _rate(rate: float | None) -> str:
    return f"{rate / 1e9:.{1 if rate < 1e11 else 0}f} GB/s" if rate else NOTHING
