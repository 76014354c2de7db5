"""Findings about a rig: plain rules from facts to sentences.

A rule looks at facts that were read elsewhere, so each can be tested with a rig that nobody here owns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from diffusionforce.desktop.registry import USUAL_TDR_DELAY_S, WindowsSettings
from diffusionforce.rig.cards import Card
from diffusionforce.rig.machine import Machine
from diffusionforce.rig.sizes import GIB, in_gb
from diffusionforce.rig.torch_facts import NOT_HERE, TorchFacts
from diffusionforce.wire.interpreter import SET_UP_HINT, rebuild_hint, repair_hint

Severity = Literal["problem", "warning", "note", "good"]
_ORDER: tuple[Severity, ...] = ("problem", "warning", "note", "good")

# The pocket demo holds about 1 GB; the weights of Wan 2.1 14B alone are 26.6 GB in bf16 and pass through RAM.
DEMO_RAM_BYTES = 4 * GIB
LARGE_MODEL_RAM_BYTES = 32 * GIB
DEMO_DISK_BYTES = 2 * GIB
LARGE_MODEL_DISK_BYTES = 60 * GIB
# Less than this in other programs' hands is the desktop's ordinary share.
OTHERS_WORTH_TELLING_BYTES = GIB
OLDEST_CHIP_FOR_CUDA_13 = (7, 5)
FIRST_CHIP_WITH_BF16 = (8, 0)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing worth telling about a rig.

    Attributes:
        severity: `problem` stops training on the cards, `warning` costs, `note` is good to know, `good` works.
        sentence: What was found.
        hint: What to do; empty when nothing needs doing.
    """

    severity: Severity
    sentence: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {self.sentence} {self.hint}".strip()


def find(
    machine: Machine,
    *,
    cards: Sequence[Card],
    torch: TorchFacts | None,
    windows: WindowsSettings | None = None,
) -> tuple[Finding, ...]:
    """Return everything worth telling about a rig, problems first.

    Args:
        machine: System, processor, memory, disk.
        cards: Its NVIDIA cards.
        torch: What PyTorch can do there; None when it was not asked.
        windows: How its Windows is set; None on other systems, or when it was not asked.
    """
    found = [*_about_cards(cards), *_about_machine(machine, has_cards=bool(cards))]
    if torch is not None:
        found += _about_torch(torch, cards=cards)
    for card in cards:
        found += _about_link(card)
        found += _about_memory(card)
    found += [*_about_displays(cards), *_about_driver(cards), *(_about_paging(machine) if cards else ())]
    if windows is not None:
        found += _about_windows(windows, cards=cards)
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


def label(card: Card) -> str:
    """Return how a card is called in sentences, for example `GPU 1 (RTX 4060 Ti)`."""
    return f"GPU {card.index} ({card.name.removeprefix('NVIDIA ').removeprefix('GeForce ')})"


def _about_cards(cards: Sequence[Card]) -> Iterator[Finding]:
    if not cards:
        yield Finding(
            severity="note",
            sentence="No NVIDIA card was found: the pocket demo runs on the processor.",
            hint="If there is one, install NVIDIA's driver and look again. Large models need NVIDIA cards.",
        )
        return
    listed = ", ".join(f"{label(card)} with {in_gb(card.total_bytes)}" for card in cards)
    if len(cards) == 1:
        yield Finding(severity="good", sentence=f"One card: {listed}. With a second one, a model can be split.")
    else:
        yield Finding(severity="good", sentence=f"{len(cards)} cards: {listed}. A model can be split over them.")
    for card in cards:
        if card.compute_capability is not None and card.compute_capability < FIRST_CHIP_WITH_BF16:
            yield Finding(severity="warning", sentence=f"{label(card)} computes bf16 slowly: its chip predates it.")


def _about_displays(cards: Sequence[Card]) -> Iterator[Finding]:
    with_screen = [card for card in cards if card.display_attached]
    without = [card for card in cards if card.display_attached is False]
    if with_screen and len(cards) > 1 and not without:
        yield Finding(severity="note", sentence="Every card has a screen, which takes memory that training could use.")
    for card in with_screen if without else ():
        yield Finding(
            severity="note",
            sentence=f"A screen is plugged into {label(card)}, which takes memory that training could use.",
            hint="The mainboard may have display ports of its own; a screen there leaves the card alone.",
        )


def _about_paging(machine: Machine) -> Iterator[Finding]:
    if machine.system.startswith("Windows"):
        yield Finding(
            severity="good",
            sentence="The paging guard is on: if Windows moves memory of a card to RAM, the run saves what it learnt "
            "and waits for room, instead of getting many times slower.",
        )
    else:
        yield Finding(severity="good", sentence="This system never moves memory of a card to RAM by itself.")


def _about_windows(windows: WindowsSettings, *, cards: Sequence[Card]) -> Iterator[Finding]:
    if windows.long_paths is not True:
        yield Finding(
            severity="note",
            sentence="Windows takes no paths of more than 260 characters here, so runs in deep folders are refused.",
            hint="Switch long paths on: System, For developers, Enable long paths; or LongPathsEnabled = 1 in the "
            "registry under HKEY_LOCAL_MACHINE, SYSTEM, CurrentControlSet, Control, FileSystem.",
        )
    if cards:
        yield Finding(
            severity="note",
            sentence="Windows shares the cards' memory out by itself (WDDM), to whatever shows something as well.",
            hint="Give browsers and the like to the processor's graphics under System, Display, Graphics. In NVIDIA's "
            "control panel, Prefer No Sysmem Fallback under CUDA - Sysmem Fallback Policy ends moves to RAM for good.",
        )
    delay_s = windows.tdr_delay_s
    if cards and delay_s is not None and 0 < delay_s <= USUAL_TDR_DELAY_S:
        yield Finding(
            severity="note",
            sentence=f"Windows resets a card's driver if one piece of work takes it more than {delay_s} s.",
            hint="Only if runs end by that: set TdrDelay to 60 in the registry under HKEY_LOCAL_MACHINE, SYSTEM, "
            "CurrentControlSet, Control, GraphicsDrivers, and restart.",
        )


def _about_driver(cards: Sequence[Card]) -> Iterator[Finding]:
    versions = {(card.driver_version, card.cuda_version) for card in cards if card.driver_version}
    for version, cuda in sorted(versions, key=str):
        newest = f" and runs CUDA up to {'.'.join(map(str, cuda))}" if cuda is not None else ""
        yield Finding(severity="good", sentence=f"The NVIDIA driver is {version}{newest}.")


def _about_torch(torch: TorchFacts, *, cards: Sequence[Card]) -> Iterator[Finding]:
    if torch.failure:
        hint = SET_UP_HINT if torch.failure == NOT_HERE else repair_hint()
        yield Finding(severity="problem", sentence=torch.failure, hint=hint)
    elif not cards:
        yield Finding(severity="good", sentence=f"PyTorch {torch.version} works.")
    elif torch.cuda_available:
        devices = "1 card" if torch.num_devices == 1 else f"{torch.num_devices} cards"
        sentence = f"PyTorch {torch.version} (CUDA {torch.cuda_build}) works with {devices}."
        yield Finding(severity="good", sentence=sentence)
    elif not torch.cuda_build:
        sentence = f"The cards cannot be used: PyTorch {torch.version} was built without CUDA."
        yield Finding(severity="problem", sentence=sentence, hint=rebuild_hint())
    else:
        yield _why_cuda_is_off(torch, cards=cards)


def _why_cuda_is_off(torch: TorchFacts, *, cards: Sequence[Card]) -> Finding:
    """Explain why a PyTorch with CUDA does not find the cards that the driver shows."""
    card = cards[0]
    build = int(torch.cuda_build.partition(".")[0])
    if card.cuda_version is not None and card.cuda_version[0] < build:
        newest = ".".join(map(str, card.cuda_version))
        return Finding(
            severity="problem",
            sentence=f"The NVIDIA driver {card.driver_version} is too old: it runs CUDA up to {newest}, and this "
            f"PyTorch was built for CUDA {torch.cuda_build}.",
            hint=f"Install the newest driver from NVIDIA. Or: {rebuild_hint()}",
        )
    old = [c for c in cards if c.compute_capability is not None and c.compute_capability < OLDEST_CHIP_FOR_CUDA_13]
    if old and build >= 13:
        return Finding(
            severity="problem",
            sentence=f"{label(old[0])} is too old for CUDA {torch.cuda_build}, which this PyTorch was built for.",
        )
    return Finding(
        severity="problem",
        sentence=f"PyTorch {torch.version} (CUDA {torch.cuda_build}) does not find the cards that the driver shows.",
        hint="Restart the machine; a driver update without a restart does this. CUDA_VISIBLE_DEVICES may hide cards.",
    )


def _about_link(card: Card) -> Iterator[Finding]:
    width, width_max = card.pcie_width, card.pcie_width_max
    if width is not None and width_max is not None and width < width_max:
        yield Finding(
            severity="note" if width >= 4 else "warning",
            sentence=f"{label(card)} is connected by {width} of its {width_max} PCIe lanes.",
            hint="Splitting a model needs few; moving weights in and out of RAM would be faster in a wider slot.",
        )
    generation, generation_max = card.pcie_generation, card.pcie_generation_max
    # An idle card slows its link down to save power, so only a busy one says something about the slot.
    busy = card.load is not None and card.load > 0.5
    if busy and generation is not None and generation_max is not None and generation < generation_max:
        yield Finding(
            severity="warning",
            sentence=f"{label(card)} is busy, but its link runs at PCIe {generation} instead of {generation_max}.",
            hint="Look at the riser cable and at the slot's setting in the firmware.",
        )


def _about_memory(card: Card) -> Iterator[Finding]:
    holders = [p for p in card.processes if p.used_bytes is not None and p.used_bytes >= OTHERS_WORTH_TELLING_BYTES]
    for process in holders:
        name = process.name.replace("\\", "/").rpartition("/")[2] or f"process {process.pid}"
        yield Finding(
            severity="note",
            sentence=f"{name} (process {process.pid}) holds {in_gb(process.used_bytes or 0)} of {label(card)}.",
            hint="Close it before a training that needs the memory.",
        )


def _about_machine(machine: Machine, *, has_cards: bool) -> Iterator[Finding]:
    ram, disk = machine.ram_total_bytes, machine.disk_free_bytes
    if ram < DEMO_RAM_BYTES:
        yield Finding(severity="warning", sentence=f"{in_gb(ram)} of RAM is little, even for the pocket demo.")
    elif has_cards and ram < LARGE_MODEL_RAM_BYTES:
        yield Finding(
            severity="note",
            sentence=f"{in_gb(ram)} of RAM is little for the largest models, whose weights pass through it.",
            hint=f"{in_gb(LARGE_MODEL_RAM_BYTES)} suffice for a 14B model in bf16.",
        )
    if disk < DEMO_DISK_BYTES:
        yield Finding(
            severity="warning",
            sentence=f"Only {in_gb(disk)} are free on the disk of {machine.disk_path}.",
            hint="Free some space before training; samples and LoRA files need it.",
        )
    elif has_cards and disk < LARGE_MODEL_DISK_BYTES:
        yield Finding(
            severity="note",
            sentence=f"{in_gb(disk)} are free on the disk of {machine.disk_path}.",
            hint="A 14B model with its text encoder takes about 40 GB.",
        )
