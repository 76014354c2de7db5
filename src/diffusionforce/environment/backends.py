"""Which build of PyTorch suits the cards: rules from what the driver tells to a level of CUDA, with the reason.

PyTorch 2.13 comes for CUDA 13.0 and 12.6, and without CUDA. That for 13.0 knows all chips since Turing and needs a
driver of the 580 series. That for 12.6 is for drivers before it and for older chips; it does not know Blackwell
(RTX 50), whose owners have to renew an old driver. `uv` could choose by the driver alone, but takes no account of
the chips, and would leave a Blackwell card with a build that cannot run on it.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from diffusionforce.errors import SetupError
from diffusionforce.rig import Card, label

CPU = "cpu"
NEW_CUDA, OLD_CUDA = "cu130", "cu126"
BACKENDS = (CPU, OLD_CUDA, NEW_CUDA)
NAMES = {CPU: "no CUDA", OLD_CUDA: "CUDA 12.6", NEW_CUDA: "CUDA 13.0"}
DRIVER_FOR_NEW = (580,)
DRIVER_FOR_OLD = (528, 33) if sys.platform == "win32" else (525, 60, 13)
"""Any driver for CUDA 12 runs all of CUDA 12."""
OLDEST_CHIP_OF_NEW, NEWEST_CHIP_OF_OLD = (7, 5), (9, 0)
_GENERATIONS = (
    ((12, 0), "Blackwell"),
    ((10, 0), "Blackwell"),
    ((9, 0), "Hopper"),
    ((8, 9), "Ada"),
    ((8, 0), "Ampere"),
    ((7, 5), "Turing"),
    ((7, 0), "Volta"),
    ((6, 0), "Pascal"),
    ((5, 0), "Maxwell"),
)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A build of PyTorch, and why."""

    backend: str
    reason: str


def default_backend() -> str:
    """Return the build that the package index itself has for this system; the others are on PyTorch's own index."""
    return NEW_CUDA if sys.platform == "linux" else CPU


def choose_backend(cards: Sequence[Card], *, wanted: str = "auto") -> Choice:
    """Return the build of PyTorch to install.

    Args:
        cards: The cards of the computer.
        wanted: One of `BACKENDS`, or `auto` to choose by the cards.

    Raises:
        SetupError: The driver is too old for a card, no build knows all the cards, or there is no such build.
    """
    if wanted != "auto":
        return _as_wanted(wanted, cards=cards)
    if not cards:
        return Choice(backend=CPU, reason="No NVIDIA card was found, so everything runs on the processor.")
    old = [card for card in cards if _chip(card) < OLDEST_CHIP_OF_NEW]
    new = [card for card in cards if _chip(card) > NEWEST_CHIP_OF_OLD]
    if old and new:
        raise SetupError(
            f"No build of PyTorch knows both {label(old[0])} and {label(new[0])}.",
            hint=f"Take {label(old[0])} out of the computer, or choose the build for one of them.",
        )
    if old:
        return _checked(Choice(backend=OLD_CUDA, reason=f"{label(old[0])} is too old a chip for CUDA 13."), cards)
    if new or _driver(cards) >= DRIVER_FOR_NEW:
        reason = _why_new([f"{label(card).removesuffix(')')}, {generation_of(card)})" for card in cards])
        return _checked(Choice(backend=NEW_CUDA, reason=reason), new or cards)
    reason = f"The driver {cards[0].driver_version} is older than 580, which CUDA 13 needs."
    return _checked(Choice(backend=OLD_CUDA, reason=reason), cards)


def _as_wanted(wanted: str, *, cards: Sequence[Card]) -> Choice:
    if wanted not in BACKENDS:
        raise SetupError(f"There is no build {wanted!r} of PyTorch.", hint=f"Choose auto, {', '.join(BACKENDS)}.")
    return _checked(Choice(backend=wanted, reason="As chosen."), cards if wanted != CPU else ())


def _checked(choice: Choice, cards: Sequence[Card]) -> Choice:
    """Refuse a driver that cannot run the build."""
    needed = {NEW_CUDA: DRIVER_FOR_NEW, OLD_CUDA: DRIVER_FOR_OLD}.get(choice.backend, ())
    for card in cards:
        version = numbers_of(card.driver_version)
        if version and version < needed:
            minimum = ".".join(map(str, needed))
            raise SetupError(
                f"The NVIDIA driver {card.driver_version} is too old for {label(card)} with {NAMES[choice.backend]}: "
                f"it has to be {minimum} or newer.",
                hint="Install the newest driver from NVIDIA and start again; or choose the build for the processor, "
                "to try the demo.",
            )
    return choice


def _why_new(names: Sequence[str]) -> str:
    """Say what cards, like `GPU 0 (RTX 5080, Blackwell)`, the new build was chosen for."""
    if len(names) == 1:
        return f"{names[0]}: the build for CUDA 13.0 knows it."
    if len(names) == 2:
        return f"{names[0]} and {names[1]}: the build for CUDA 13.0 knows both."
    return f"{', '.join(names)}: the build for CUDA 13.0 knows them all."


def generation_of(card: Card) -> str:
    """Return the name of a card's generation, for example `Ada`."""
    return next((name for chip, name in _GENERATIONS if _chip(card) >= chip), "an old chip")


def numbers_of(version: str) -> tuple[int, ...]:
    """Return a version as numbers, for example (580, 95, 5); empty where there are none."""
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else ()


def _driver(cards: Sequence[Card]) -> tuple[int, ...]:
    return numbers_of(cards[0].driver_version)


def _chip(card: Card) -> tuple[int, int]:
    """The generation of a card's chip; one that the driver does not tell counts as one that every build knows."""
    return card.compute_capability or (8, 0)
