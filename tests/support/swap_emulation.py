"""The engine's own swap on a processor: all of it but the copies, which only a card can make.

Whether weights are in RAM or on the card is a note on their layer, and a layer whose weights are in RAM refuses to
compute. The card is called `cpu:0`, the RAM `cpu`.
"""

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch import nn

from diffusionforce.hooks.musubi import swap_places

_IN_RAM = "weights_in_ram"


class Room:
    """The card's room: which layers have their weights there, and the most that there were."""

    def __init__(self) -> None:
        self._on_card: set[int] = set()
        self.most = 0

    def move(self, layer: Any, device: torch.device) -> None:
        """Move a layer's weights."""
        in_ram = device.index is None
        setattr(layer, _IN_RAM, in_ram)
        self._on_card -= {id(layer)}
        self._on_card |= set() if in_ram else {id(layer)}
        self.most = max(self.most, len(self._on_card))

    @property
    def num_layers(self) -> int:
        """How many layers' weights are on the card."""
        return len(self._on_card)


@contextlib.contextmanager
def swap_without_cards(room: Room) -> Iterator[None]:
    """Let the engine swap blocks on a processor, with all that it does of its own but the copies."""
    engine: Any = importlib.import_module("musubi_tuner.modules.custom_offloading_utils")
    linear = nn.Linear.forward

    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        assert not _is_in_ram(self), "computed with weights that are in RAM"
        return linear(self, x)

    def place(block: nn.Module, device: torch.device) -> None:
        for layer in block.modules():
            if isinstance(layer, nn.Linear):
                room.move(layer, device)

    def exchange(self: Any, to_ram: nn.Module, to_card: nn.Module) -> None:
        place(to_ram, torch.device("cpu"))
        place(to_card, self.device)

    replaced: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
        (engine.Offloader, "swap_weight_devices", exchange),
        (engine, "weighs_to_device", place),
        (nn.Linear, "forward", forward),
        (swap_places, "is_in_ram", _is_in_ram),
        (swap_places, "move", room.move),
        (torch.cuda, "set_device", lambda device: None),
    )
    with contextlib.ExitStack() as stack:
        for target, name, value in replaced:
            stack.enter_context(mock.patch.object(target, name, value))
        yield


def _is_in_ram(layer: Any) -> bool:
    return bool(getattr(layer, _IN_RAM, False))
