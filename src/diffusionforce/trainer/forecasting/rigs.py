"""The cards that a job would run on: those that are here and visible, the processor, or a rig out of the catalogue."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TypeVar

from diffusionforce.errors import DeviceError
from diffusionforce.job.profile import MemorySettings
from diffusionforce.rig import GIB, Card, in_gb, read_cards, read_machine
from diffusionforce.trainer.forecasting.card_speeds import CardSpeed, CardSpeeds
from diffusionforce.ugpum.allocator import (
    WorkspaceSizes,
    allocatable_bytes,
    sampling_workspaces_bytes,
    slack_here,
    training_workspaces_bytes,
)
from diffusionforce.ugpum.allowance import allowed
from diffusionforce.ugpum.budget import Budget, budgets, ram_reserve_bytes, reserve_bytes, usable_ram_bytes
from diffusionforce.ugpum.catalogue import LINK_BYTES_PER_S, CatalogueCard, card_like, parse_rig, taken_for
from diffusionforce.ugpum.estimate import PlanCard
from diffusionforce.ugpum.footprint import CardRates
from diffusionforce.ugpum.forecast import Layout
from diffusionforce.ugpum.imagined import NUM_WORKSPACES, cards_here, workspace_bytes
from diffusionforce.wire.forecast import ForecastCard

IMAGINED_RAM_GIB = 64
"""RAM of a rig that is not here, unless it is said."""
PROCESSOR = "cpu"
_WIDEST_LINK_LANES = 16
MEASURED = ", measured"
_LAUNCH_S = 40e-6
"""Seconds of Python and PyTorch for one kernel of a block with its LoRA, where they were not measured: the processors
beside two H200 took 35 and 42 microseconds."""

_Any = TypeVar("_Any")


@dataclass(frozen=True, kw_only=True)
class Rig:
    """What a job would run on. All sequences have one entry a card, in the order of the job's devices."""

    shown: tuple[ForecastCard, ...]
    """The cards for window and command line."""
    cards: tuple[PlanCard, ...]
    """The cards for the planner, with what tensors may take of them; libraries not counted."""
    workspaces: tuple[WorkspaceSizes, ...]
    """What libraries take of each card, for every thread that multiplies."""
    extra_bytes: tuple[int, ...]
    """What is taken of each card beside tensors and workspaces, as far as it is known."""
    sheets: tuple[CatalogueCard | None, ...]
    """Their data sheets; None where the card is not in the catalogue."""
    names: tuple[str, ...] = ()
    """What tells these very cards, and what is known of them, from all others; empty for a rig that is not here."""
    speeds: tuple[CardSpeed, ...] = ()
    """What they were measured to deliver; empty where one of them was not."""
    on_cards: bool = True
    """False where the processor does everything, which is then the only card, with RAM as its memory."""
    is_here: bool
    ram_total_bytes: int
    ram_usable_bytes: int
    """What of RAM blocks may be locked in."""
    ram_free_bytes: int
    """What of RAM may be used at all."""
    notes: tuple[str, ...] = ()

    @property
    def rates(self) -> tuple[CardRates | None, ...]:
        """What training reaches on each card, measured or by data sheet; None where unknown."""
        if self.speeds:
            return tuple(speed.rates for speed in self.speeds)
        return tuple(sheet.reached if sheet is not None else None for sheet in self.sheets)

    @property
    def crossings_bytes_per_s(self) -> tuple[float, ...]:
        """What a boundary crosses with, to or from each card; 0 where it is not known."""
        if self.speeds:
            return tuple(speed.crossing_bytes_per_s for speed in self.speeds)
        return tuple(card.link_bytes_per_s for card in self.cards)

    @property
    def launch_s(self) -> float:
        """Seconds that the processor takes to start one kernel, whichever card it is for; 0 without cards."""
        if not self.on_cards:
            return 0.0
        return max((speed.launch_s for speed in self.speeds), default=0.0) or _LAUNCH_S

    def with_process(self, ram_bytes: int) -> "Rig":
        """The rig with what the process holds in RAM whatever the plan, which leaves less for blocks or for all."""
        if not self.on_cards:
            return self.with_extra((ram_bytes,))
        free_bytes = max(0, self.ram_free_bytes - ram_bytes)
        return replace(self, ram_free_bytes=free_bytes, ram_usable_bytes=min(self.ram_usable_bytes, free_bytes))

    def with_extra(self, extra_bytes: Sequence[int]) -> "Rig":
        """The rig with more taken of each card."""
        return replace(self, extra_bytes=tuple(a + b for a, b in zip(self.extra_bytes, extra_bytes, strict=True)))

    def planning_cards(self, num_microbatches: int, *, graphs_bytes: int = 0) -> tuple[PlanCard, ...]:
        """The cards with the most that libraries, and captured graphs, take in any placement.

        Args:
            num_microbatches: The most micro-batches of a step.
            graphs_bytes: What captured graphs take of a card.
        """
        return tuple(
            replace(card, constant_bytes=extra + graphs_bytes + _most_workspaces_bytes(sizes, num_microbatches))
            for card, extra, sizes in zip(self.cards, self.extra_bytes, self.workspaces, strict=True)
        )

    def training_constants(self, layout: Layout, *, replays_blocks: bool = False) -> tuple[int, ...]:
        """What libraries and others take of each card while a placement is trained.

        Args:
            layout: The placement.
            replays_blocks: Whether blocks are replayed from captured graphs.
        """

        def find(sizes: WorkspaceSizes) -> tuple[int, ...]:
            is_pipelined = len(set(layout.card_of_chunk)) > 1 or bool(layout.paged)
            return training_workspaces_bytes(
                layout, sizes, is_pipelined=is_pipelined, with_bias=True, replays_blocks=replays_blocks
            )

        return self._constants(layout, find)

    def sampling_constants(self, layout: Layout, training: Layout, *, replays_blocks: bool = False) -> tuple[int, ...]:
        """The same while samples are made between two steps: what training took stays."""
        own = self._constants(layout, lambda sizes: sampling_workspaces_bytes(layout, sizes, with_bias=True))
        known = self.training_constants(training, replays_blocks=replays_blocks)
        return tuple(a + b - extra for a, b, extra in zip(own, known, self.extra_bytes, strict=True))

    def _constants(self, layout: Layout, find: Callable[[WorkspaceSizes], tuple[int, ...]]) -> tuple[int, ...]:
        """Of what is found for each kind of card, what each card has; cards beyond the layout have nothing to do."""
        return tuple(
            extra + (find(sizes)[card] if card in layout.cards else 0)
            for card, (sizes, extra) in enumerate(zip(self.workspaces, self.extra_bytes, strict=True))
        )


def rig_here(devices: Sequence[str] = ("auto",), *, memory: MemorySettings | None = None) -> Rig:
    """The rig of this machine.

    Args:
        devices: auto, or devices by name, as in a profile.
        memory: How much of each card the user gives; None leaves it to us.

    Raises:
        DeviceError: A named card is not there, or the settings do not suit the number of cards.
    """
    if set(devices) == {PROCESSOR}:
        return _processor_rig(*_unused(memory))
    visible = () if _is_torch_for_processors() else _visible(read_cards())
    if not visible and tuple(devices) == ("auto",):
        return _processor_rig(_why_no_cards(), *_unused(memory))
    chosen = _chosen(visible, devices)
    machine = read_machine()
    given = _given(budgets([card for _, card in chosen]), memory)
    names = [f"{card.name} {card.uuid.removeprefix('GPU-')} driver {card.driver_version}" for _, card in chosen]
    speeds = _measured_speeds(names)
    links = [speed.paging_bytes_per_s for speed in speeds] or [_link_bytes_per_s(card) for _, card in chosen]
    return Rig(
        shown=tuple(_shown(index, budget) for (index, _), budget in zip(chosen, given, strict=True)),
        cards=_plan_cards(given, links),
        workspaces=tuple(_workspaces(card.compute_capability) for _, card in chosen),
        extra_bytes=(0,) * len(chosen),
        sheets=tuple(card_like(card.name, total_bytes=card.total_bytes) for _, card in chosen),
        # What runs taught about times out of a data sheet says nothing about measured ones.
        names=tuple(f"{name}{MEASURED}" if speeds else name for name in names),
        speeds=speeds,
        is_here=True,
        ram_total_bytes=machine.ram_total_bytes,
        ram_usable_bytes=usable_ram_bytes(
            machine.ram_total_bytes, machine.ram_available_bytes, on_windows=sys.platform == "win32"
        ),
        ram_free_bytes=machine.ram_available_bytes - ram_reserve_bytes(machine.ram_total_bytes),
    )


def _measured_speeds(names: Sequence[str]) -> tuple[CardSpeed, ...]:
    """What all of these cards were measured to deliver; empty where one of them was not."""
    known = CardSpeeds()
    found = [known.find(name) for name in names]
    return tuple(speed for speed in found if speed is not None) if all(found) else ()


def rig_imagined(
    text: str,
    *,
    devices: Sequence[str] = ("auto",),
    memory: MemorySettings | None = None,
    ram_gib: float = IMAGINED_RAM_GIB,
) -> Rig:
    """A rig out of the catalogue, with a screen on its first card and nothing else running.

    Args:
        text: The cards, see `ugpum.catalogue.parse_rig`.
        devices: Which of them, as in a profile; a profile for the processor takes all.
        memory: How much of each card the user gives; None leaves it to us.
        ram_gib: RAM in units of 2^30 bytes.

    Raises:
        DeviceError: A card is not known, a device is named that the rig does not have, or the settings do not suit the
            number of cards.
    """
    wanted = ("auto",) if set(devices) == {PROCESSOR} else devices
    chosen = _chosen(list(enumerate(parse_rig(text))), wanted)
    sheets = [sheet for _, sheet in chosen]
    given = _given([_budget(index, sheet) for index, sheet in chosen], memory)
    total_bytes = int(ram_gib * GIB)
    return Rig(
        shown=tuple(_shown(index, budget) for (index, _), budget in zip(chosen, given, strict=True)),
        cards=_plan_cards(given, [sheet.link_bytes_per_s for sheet in sheets]),
        workspaces=tuple(_workspaces((9, 0) if sheet.name.startswith("H") else None) for sheet in sheets),
        extra_bytes=(0,) * len(sheets),
        sheets=tuple(sheets),
        is_here=False,
        ram_total_bytes=total_bytes,
        ram_usable_bytes=usable_ram_bytes(total_bytes, total_bytes, on_windows=False),
        ram_free_bytes=total_bytes - ram_reserve_bytes(total_bytes),
        notes=(
            f"The rig is taken to have {in_gb(total_bytes)} of RAM, a screen on its first card, and no other "
            "programs running.",
            *taken_for(text),
        ),
    )


def _budget(index: int, sheet: CatalogueCard) -> Budget:
    """What a card gives that has nothing on it, or the desktop if it is the first."""
    return Budget(
        device=f"cuda:{index}",
        label=f"GPU {index} ({sheet.name})",
        total_bytes=sheet.memory_bytes,
        free_bytes=sheet.memory_bytes,
        reserve_bytes=reserve_bytes(sheet.memory_bytes, display_attached=index == 0),
    )


def _plan_cards(budgets: Sequence[Budget], links: Sequence[float]) -> tuple[PlanCard, ...]:
    """The cards for the planner: a budget is on what the allocator takes, and it cannot use quite all of that."""
    cards = cards_here(budgets, link_bytes_per_s=links, constant_bytes=[0] * len(budgets))
    slack = slack_here()
    return tuple(replace(card, budget_bytes=allocatable_bytes(card.budget_bytes, slack=slack)) for card in cards)


def _workspaces(compute_capability: tuple[int, int] | None) -> WorkspaceSizes:
    return WorkspaceSizes(product_bytes=workspace_bytes(compute_capability) // NUM_WORKSPACES)


def _most_workspaces_bytes(sizes: WorkspaceSizes, num_microbatches: int) -> int:
    """At home, with a thread for each micro-batch: blocks, tail, the backward in two places, and samples."""
    return (2 * num_microbatches + 3) * sizes.product_bytes + 2 * num_microbatches * sizes.biased_bytes


def _given(budgets: Sequence[Budget], memory: MemorySettings | None) -> tuple[Budget, ...]:
    memory = memory or MemorySettings()
    return allowed(budgets, reserve_gb=memory.reserve_gb, budget_gb=memory.budget_gb)


def _shown(index: int, budget: Budget) -> ForecastCard:
    return ForecastCard(
        device=f"cuda:{index}",
        label=budget.label,
        total_bytes=budget.total_bytes,
        taken_bytes=budget.total_bytes - budget.free_bytes,
        reserve_bytes=budget.free_bytes - budget.usable_bytes,
        budget_bytes=budget.usable_bytes,
        lost_bytes=budget.usable_bytes - allocatable_bytes(budget.usable_bytes, slack=slack_here()),
    )


def _unused(memory: MemorySettings | None) -> tuple[str, ...]:
    """Say that settings for cards do nothing on the processor."""
    is_set = memory is not None and bool(memory.reserve_gb or memory.budget_gb)
    return ("What [memory] says is for cards, and does nothing on the processor.",) if is_set else ()


def _processor_rig(*notes: str) -> Rig:
    machine = read_machine()
    total_bytes, available_bytes = machine.ram_total_bytes, machine.ram_available_bytes
    kept_bytes = min(ram_reserve_bytes(total_bytes), available_bytes)
    card = PlanCard(label="the processor", budget_bytes=available_bytes - kept_bytes)
    shown = ForecastCard(
        device=PROCESSOR,
        label="Processor",
        total_bytes=total_bytes,
        taken_bytes=total_bytes - available_bytes,
        reserve_bytes=kept_bytes,
        budget_bytes=card.budget_bytes,
    )
    return Rig(
        shown=(shown,),
        cards=(card,),
        workspaces=(WorkspaceSizes(product_bytes=0),),
        extra_bytes=(0,),
        sheets=(None,),
        on_cards=False,
        is_here=True,
        ram_total_bytes=total_bytes,
        ram_usable_bytes=0,
        ram_free_bytes=card.budget_bytes,
        notes=notes,
    )


def _chosen(visible: Sequence[tuple[int, _Any]], devices: Sequence[str]) -> list[tuple[int, _Any]]:
    """The cards that a profile names, in its order."""
    if tuple(devices) == ("auto",):
        return list(visible)
    by_name = {f"cuda:{index}": (index, card) for index, card in visible}
    for device in devices:
        if device not in by_name:
            count = "no card" if not visible else "1 card" if len(visible) == 1 else f"{len(visible)} cards"
            raise DeviceError(
                f"{device} is asked for, but the rig has {count}.",
                hint=f"Write auto, or out of: {', '.join(by_name)}." if by_name else "Write auto, or cpu.",
            )
    return [by_name[device] for device in devices]


def _visible(cards: Sequence[Card]) -> list[tuple[int, Card]]:
    """The cards that CUDA shows to this process, with the numbers that it gives them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return [(card.index, card) for card in cards]
    found: list[Card] = []
    for word in (part.strip() for part in named.split(",")):
        match = next((card for card in cards if _is_named(card, word)), None)
        if match is None:
            break  # CUDA too stops at the first name that it does not know.
        found.append(match)
    return list(enumerate(found))


def _is_named(card: Card, word: str) -> bool:
    if re.fullmatch(r"\d+", word):
        return card.index == int(word)
    return len(word) > len("GPU-") and card.uuid.startswith(word)


def _link_bytes_per_s(card: Card) -> float:
    """What the link should deliver. An idle card slows its link down, so what it can do counts, not what it does."""
    if card.pcie_generation_max is None or card.pcie_width is None:
        return 0.0
    generation = min(max(LINK_BYTES_PER_S), max(min(LINK_BYTES_PER_S), card.pcie_generation_max))
    return LINK_BYTES_PER_S[generation] * card.pcie_width / _WIDEST_LINK_LANES


def _is_torch_for_processors() -> bool:
    try:
        return metadata.version("torch").endswith("+cpu")
    except metadata.PackageNotFoundError:
        return False


def _why_no_cards() -> str:
    if read_cards():
        return (
            "Without the build of PyTorch for graphics cards the training runs on the processor; `diffusionforce "
            "doctor` says more."
        )
    return "No NVIDIA card was found, so the training runs on the processor."
