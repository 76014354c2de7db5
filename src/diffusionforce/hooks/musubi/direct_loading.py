"""18: each tensor of the transformer's file goes straight to the device where its block belongs.

A model that was read into RAM as a whole needs as much of it as the file is large, which computers with two cards often
lack. All loaders of the engine read one tensor after another through one function; what they do with it then (8-bit
weights with scales, merging of LoRAs, casts) they do on the training device, and put the result back to where the
tensor was. So it is enough that the tensor is somewhere else from the beginning.

Where a tensor goes is told by its name. A name that says nothing goes to the first device, and what is wrong in the end
is moved by hook 4, so a mistake costs time and never correctness. Two of the engine's loaders (of Kandinsky 5 and of
Ideogram 4) move the finished model to RAM whatever they are told; what PyTorch's own format holds is read as a whole.
"""

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import torch

from diffusionforce.hooks.hook import Function, Hook, Target
from diffusionforce.hooks.musubi.upstream import REVISION

RAM = torch.device("cpu")
DeviceOf = Callable[[str], torch.device]
"""From a tensor's name to where it belongs."""

_FILES = "musubi_tuner.utils.safetensors_utils"
_destinations: ContextVar[tuple[frozenset[Path], DeviceOf] | None] = ContextVar("destinations", default=None)
"""Files whose tensors are not to stay in RAM, and where these go."""


@contextmanager
def read_directly(files: Iterable[Path], device_of: DeviceOf) -> Generator[None]:
    """While this lasts, tensors of some files that would be read into RAM go where they belong."""
    token = _destinations.set((frozenset(path.resolve() for path in files), device_of))
    try:
        yield
    finally:
        _destinations.reset(token)


def devices_by_name(
    names: Iterable[str], *, block_lists: Sequence[str], devices: Sequence[torch.device], home: torch.device
) -> DeviceOf | None:
    """Return where each tensor of a model belongs.

    Args:
        names: All tensors of the file; any prefix may stand before the names of the model.
        block_lists: The model's lists of blocks, in calling order.
        devices: Of every block, in that order.
        home: For what belongs to no block.

    Returns:
        None if the file has not as many blocks as there are devices.
    """
    pattern = re.compile(rf"(?:^|\.)({'|'.join(map(re.escape, block_lists))})\.(\d+)\.")
    counts = dict.fromkeys(block_lists, 0)
    for match in filter(None, map(pattern.search, names)):
        counts[match[1]] = max(counts[match[1]], int(match[2]) + 1)
    if sum(counts.values()) != len(devices):
        return None
    first = {name: sum(counts[before] for before in block_lists[:index]) for index, name in enumerate(block_lists)}

    def device_of(name: str) -> torch.device:
        match = pattern.search(name)
        return devices[first[match[1]] + int(match[2])] if match is not None else home

    return device_of


def direct_loading() -> Hook:
    """The hook for one run."""

    def wrap(original: Function) -> Function:
        def get_tensor(self: Any, key: str, device: Any = None, dtype: Any = None) -> Any:
            destination = _destinations.get()
            stays = device is None or torch.device(device) == RAM
            if destination is None or not stays or Path(self.filename).resolve() not in destination[0]:
                return original(self, key, device, dtype)
            return original(self, key, destination[1](key), dtype)

        return get_tensor

    return Hook(
        number=18,
        name="direct-loading",
        target=Target(module=_FILES, attribute="MemoryEfficientSafeOpen.get_tensor"),
        reason="RAM holds the whole transformer before any of it is on a card.",
        prevents="A computer whose cards together hold the model, and whose RAM does not, cannot load it.",
        upstream_revision=REVISION,
        fingerprint="2551ebaf4c0a7577ae26baf77fcd4023777f3f79cc91a581cf2e72e245914b7d",
        wrap=wrap,
    )


HOOK = direct_loading()
