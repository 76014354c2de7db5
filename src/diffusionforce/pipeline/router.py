"""Run a model whose blocks lie on several devices, without touching the model's code.

The model's own forward calls its blocks one after the other and knows one device only. The router wraps the `forward`
of every block instance: arguments are brought to the block's device before it runs, and what the last block returns
is brought home. Tensors that many blocks take (modulation, text, rotary tables) are copied once per forward and
device, not once per block. Autograd sees every copy, so gradients come back the same way.

Only tensors that lie on one of the placement's devices travel. Sizes, lengths and other metadata that the model keeps
on the host stay there.
"""

import functools
import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, Self

import torch
from torch import nn

from diffusionforce.pipeline.nesting import map_tensors
from diffusionforce.pipeline.placement import Placement, full_device
from diffusionforce.pipeline.recompute.eager import recomputed
from diffusionforce.pipeline.recompute.graphs import BlockGraphs
from diffusionforce.pipeline.transfer import Hop, Transfers
from diffusionforce.pipeline.wrapping import BlockForward, Installable, replace_forward


class Interceptor(Protocol):
    """Someone who may take a block's call over from the router."""

    def takes_call(self) -> bool:
        """Whether the call that is being made belongs to the interceptor."""
        ...

    def call_block(self, index: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run block `index` in the interceptor's way and give what its forward returns."""
        ...


class Router(Installable):
    """Brings every block's arguments to the block's device, and the last block's result home.

    Args:
        blocks: The model's blocks in calling order, already on their devices.
        placement: Where they are.
        home: Where the rest of the model and the caller's tensors are; the device of block 0 by default.
        transfers: Starts the copies.
        recompute: Checkpoint every block here, on its own device. For models that would checkpoint around the block:
            they would recompute through the router and copy everything a second time. Switch that off in the model.
        graphs: Recompute, and run the blocks as captured CUDA graphs. The model's own checkpointing must be off.
        interceptor: Asked at every block call whether it takes the call over.
    """

    def __init__(
        self,
        blocks: Iterable[nn.Module],
        placement: Placement,
        *,
        home: torch.device | str | None = None,
        transfers: Transfers | None = None,
        recompute: bool = False,
        graphs: BlockGraphs | None = None,
        interceptor: Interceptor | None = None,
    ) -> None:
        self.blocks = list(blocks)
        self.devices = placement.device_of_block
        self.home = full_device(home) if home is not None else self.devices[0]
        self.transfers = transfers or Transfers()
        self._recompute = recompute or graphs is not None
        self._graphs = graphs
        self._interceptor = interceptor
        self._mobile = {*self.devices, self.home}
        self._copies = CopyCache()
        self._inner: list[BlockForward] = []
        self._put_back: list[Callable[[], None]] = []

    def install(self) -> Self:
        if self._inner:
            raise RuntimeError("The router is installed already.")
        for index, block in enumerate(self.blocks):
            self._inner.append(block.forward)
            self._put_back.append(replace_forward(block, self._wrapped(index, block.forward)))
        return self

    def remove(self) -> None:
        for put_back in self._put_back:
            put_back()
        self._inner.clear()
        self._put_back.clear()
        self._copies.clear()

    def is_mobile(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor lies on one of the pipeline's devices; others (host metadata) never travel."""
        return tensor.device in self._mobile

    def run_block(
        self, index: int, args: tuple[Any, ...], kwargs: dict[str, Any], *, is_backward_next: bool = False
    ) -> Any:
        """Run the block's own forward on its device; the arguments are there already.

        Args:
            index: The block.
            args: Its arguments.
            kwargs: Its keyword arguments.
            is_backward_next: The block's backward is the next thing that its device does. What it would recompute is
                then best kept: the backward needs the memory at once in any case.
        """
        inner = self._inner[index]
        with on_device(self.devices[index]):
            if not self._recompute or not torch.is_grad_enabled():
                return inner(*args, **kwargs)
            if self._graphs is not None:
                return self._graphs.run(self.blocks[index], inner, args, kwargs)
            return inner(*args, **kwargs) if is_backward_next else recomputed(inner, args, kwargs)

    def _wrapped(self, index: int, inner: BlockForward) -> BlockForward:
        @functools.wraps(inner)
        def routed(*args: Any, **kwargs: Any) -> Any:
            if self._interceptor is not None and self._interceptor.takes_call():
                return self._interceptor.call_block(index, args, kwargs)
            return self._route(index, args, kwargs)

        return routed

    def _route(self, index: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if index == 0:
            self._copies.clear()
        device = self.devices[index]
        args, kwargs = map_tensors((args, kwargs), lambda tensor: self._brought(tensor, device))
        result = self.run_block(index, args, kwargs)
        if index == len(self.blocks) - 1:
            result = map_tensors(result, lambda tensor: self._brought(tensor, self.home))
            self._copies.clear()
        return result

    def _brought(self, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        if tensor.device == device or not self.is_mobile(tensor):
            return tensor
        with_history = tensor.requires_grad and torch.is_grad_enabled()
        copied = self._copies.find(tensor, device, with_history)
        if copied is None:
            copied = Hop.apply(tensor, device, self.transfers) if with_history else self.transfers.move(tensor, device)
            self._copies.keep(tensor, device, copied, with_history)
        return copied


class CopyCache:
    """Copies of tensors by identity, as long as their originals live and do not change.

    An id is used again as soon as its owner is gone, so an entry counts only while its weak reference still leads to
    the tensor that was asked about, and while nothing was written into that.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[int, torch.device, bool], tuple[weakref.ref[torch.Tensor], int, torch.Tensor]] = {}

    def find(self, tensor: torch.Tensor, device: torch.device, with_history: bool = False) -> torch.Tensor | None:
        """The copy of this very tensor on the device, or None."""
        entry = self._entries.get((id(tensor), device, with_history))
        if entry is None:
            return None
        original, version, copied = entry
        return copied if original() is tensor and version == _version(tensor) else None

    def keep(
        self, tensor: torch.Tensor, device: torch.device, copied: torch.Tensor, with_history: bool = False
    ) -> torch.Tensor:
        """Remember a copy and give it back; let those go whose originals are gone."""
        self.purge()
        self._entries[id(tensor), device, with_history] = (weakref.ref(tensor), _version(tensor), copied)
        return copied

    def purge(self) -> None:
        """Let the copies go whose originals are gone."""
        for key in [key for key, entry in self._entries.items() if entry[0]() is None]:
            del self._entries[key]

    def clear(self) -> None:
        """Let all copies go."""
        self._entries.clear()


def _version(tensor: torch.Tensor) -> int:
    """Counts the writes into a tensor; tensors made in inference mode do not count."""
    return 0 if tensor.is_inference() else tensor._version  # pyright: ignore


def on_device(device: torch.device) -> AbstractContextManager[Any]:
    """Make a card current, for kernels that ask which card they run on; nothing for other devices."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()
