"""Where the engine's own swap keeps which block between two steps, and blocks put back there.

With its swap, weights of the last blocks begin a step in RAM and those of the first on the card, and they change places
one for one while the pass goes through them. Where a pass breaks off they are anywhere, and some still move. The engine
puts everything back when it begins to make samples, but first onto the card and then off it, for which there is no room
when memory has just run out. So places are noted while nothing moves, and blocks go back one for one.
"""

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Self

import torch


@dataclass(frozen=True, kw_only=True)
class SwapPlaces:
    """The places of all weights that may be swapped.

    Attributes:
        blocks: For each block its layers that may be.
        in_ram: For each block whether it begins a step in RAM.
        device: The card.
        offloaders: What moves them.
    """

    blocks: Sequence[Sequence[Any]]
    in_ram: Sequence[bool]
    device: torch.device
    offloaders: Sequence[Any]

    @classmethod
    def of(cls, transformer: Any, blocks: Iterable[Any], device: torch.device) -> Self:
        """Note them, while nothing moves: before a pass.

        Args:
            transformer: The engine's model.
            blocks: Its blocks.
            device: The card.
        """
        kind: type[Any] = importlib.import_module("musubi_tuner.modules.custom_offloading_utils").Offloader
        layers = [[module for module in block.modules() if _is_swapped(module)] for block in blocks]
        return cls(
            blocks=layers,
            in_ram=[any(is_in_ram(layer) for layer in block) for block in layers],
            device=device,
            offloaders=[value for value in _held_by(transformer) if isinstance(value, kind)],
        )

    def restore(self) -> None:
        """Wait for what moves, and put every weight where it was, one block out and one block in at a time.

        Raises:
            RuntimeError: The card has no room for it; it may be tried again.
        """
        for offloader in self.offloaders:
            for future in offloader.futures.values():
                future.exception()  # Waits; what it was has been raised in the pass.
            offloader.futures.clear()
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        leaving, coming = self._misplaced(in_ram=False), self._misplaced(in_ram=True)
        for out, back in zip_longest(leaving, coming, fillvalue=list[Any]()):
            for layer in out:
                move(layer, torch.device("cpu"))
            for layer in back:
                move(layer, self.device)

    def _misplaced(self, *, in_ram: bool) -> list[list[Any]]:
        """For each block the layers that are in RAM, or on the card, and should not be."""
        found = [
            [layer for layer in block if is_in_ram(layer) == in_ram]
            for block, belongs in zip(self.blocks, self.in_ram, strict=True)
            if belongs != in_ram
        ]
        return [layers for layers in found if layers]


def _held_by(model: object) -> Iterable[Any]:
    return vars(model).values()


def is_in_ram(layer: Any) -> bool:
    """Whether the weights of a layer are in RAM."""
    return layer.weight.device.type == "cpu"


def move(layer: Any, device: torch.device) -> None:
    """Move the weights of a layer, in the engine's way."""
    layer.weight.data = layer.weight.data.to(device)


def _is_swapped(module: Any) -> bool:
    """Whether the engine swaps its weights; of a block everything else stays on the card."""
    return type(module).__name__.endswith("Linear") and getattr(module, "weight", None) is not None
