"""How fast the cards of this machine were measured to be, kept until card, driver or PyTorch change.

A data sheet knows neither the slot that a card is in nor what PyTorch reaches on it, and of some cards there is none.
Measuring takes some seconds on the card itself (`measuring`), so it is done when somebody asks for it, and remembered.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from diffusionforce.job import write_whole
from diffusionforce.runs import data_dir
from diffusionforce.ugpum.footprint import CardRates

_FORMAT = 2


@dataclass(frozen=True, kw_only=True)
class CardSpeed:
    """What one card delivers in training."""

    flops: float
    """Multiplications and additions a second, in the matrix products of blocks like those of large models."""
    memory_bytes_per_s: float
    """What kernels between the products read and write of its memory."""
    paging_bytes_per_s: float
    """From locked RAM to the card, while all cards of the rig are paged to."""
    crossing_bytes_per_s: float = 0.0
    """To or from the card that it crosses to most slowly; 0 where it was alone."""
    launch_s: float = 0.0
    """Seconds that the processor takes to start one of a block's kernels there; 0 where it was not measured."""

    @property
    def rates(self) -> CardRates:
        """For what a trace counted."""
        return CardRates(flops=self.flops, memory_bytes_per_s=self.memory_bytes_per_s)


class CardSpeeds:
    """Measured speeds in one file.

    Args:
        path: The file. None: in the data folder.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or data_dir() / "speeds.json"

    def find(self, name: str) -> CardSpeed | None:
        """What a card was measured to deliver; None where it was not, or not with this PyTorch.

        Args:
            name: The card's name in a rig.
        """
        try:
            found = CardSpeed(**self._read()[_key(name)])
        except (KeyError, TypeError):
            return None
        return found if min(found.flops, found.memory_bytes_per_s, found.paging_bytes_per_s) > 0 else None

    def keep(self, speeds: Mapping[str, CardSpeed]) -> None:
        """Remember speeds by the cards' names.

        Raises:
            OSError: The disk refuses.
        """
        cards = self._read() | {_key(name): asdict(speed) for name, speed in speeds.items()}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self._path, json.dumps({"format": _FORMAT, "cards": cards}, indent=1).encode())

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            return dict(content["cards"]) if content["format"] == _FORMAT else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}


def _key(name: str) -> str:
    try:
        return f"{name} torch {metadata.version('torch')}"
    except metadata.PackageNotFoundError:
        return name
