"""Blocks as captured CUDA graphs: one launch where the host would issue hundreds.

A block of a big model is some 70 kernels forward and three times as many for recomputing and backward. A host thread
that feeds two fast cards cannot issue them as fast as the cards run them, and the cards wait for the host. A captured
graph replays all of them in one call. Like activation checkpointing the forward graph keeps nothing but its inputs,
and the backward graph runs the block again before it goes back.

Every block has its own two graphs, because weights have addresses. All graphs of a card share their memory: they run
one after the other, and whatever a replay makes is copied out before the next.

A block can be captured if its kernels do not depend on values that the host reads, if it does not write into its
arguments, and if its weights stay where they are. Calls that differ in shapes, in host values or in where the weights
are get graphs of their own. What cannot be captured runs as `eager` does it.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from diffusionforce.pipeline.autograd import leaf_of, walk
from diffusionforce.pipeline.nesting import list_tensors, map_tensors, with_tensors
from diffusionforce.pipeline.recompute.eager import recomputed
from diffusionforce.pipeline.recompute.random_numbers import RandomNumbers
from diffusionforce.pipeline.wrapping import BlockForward

Slots = list[tuple[dict[str, Any], str]]
"""Where a block keeps its tensors: the dict of a module, and the name in it."""

_log = logging.getLogger(__name__)

_MAX_GRAPHS_A_BLOCK = 4
"""A block whose weights move would be captured at every call: after this many graphs it is run without."""
_MAX_HOST_VALUES = 256
"""Host tensors up to this size are compared by value; a call with larger ones is not captured."""


class NotCapturableError(Exception):
    """A block's call does something that a graph cannot repeat."""


class BlockGraphs:
    """Captures blocks at their first call and replays them from then on. For training steps on CUDA devices."""

    def __init__(self) -> None:
        self._captured: dict[tuple[Any, ...], _CapturedCall | None] = {}
        self._num_captures: dict[int, int] = {}
        self._cards: dict[torch.device, _Card] = {}
        self._slots: dict[int, Slots] = {}

    def _slots_of(self, block: nn.Module) -> Slots:
        """Where the block keeps its parameters and buffers; walking its modules at every call would take too long."""
        slots = self._slots.get(id(block))
        if slots is None:
            slots = [
                (tensors, name)
                for part in block.modules()
                for tensors in (part._parameters, part._buffers)  # pyright: ignore
                for name, tensor in tensors.items()
                if tensor is not None
            ]
            self._slots[id(block)] = slots
        return slots

    @property
    def num_captured(self) -> int:
        """Calls that are replayed from graphs."""
        return sum(call is not None for call in self._captured.values())

    def release(self) -> None:
        """Let all graphs go, and the memory that they hold, before weights change places on purpose.

        To be called between steps. The blocks are captured again at their next call; none counts as one whose weights
        do not stay.
        """
        self._captured.clear()
        self._num_captures.clear()
        self._cards.clear()
        self._slots.clear()

    def run(self, block: nn.Module, forward: BlockForward, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a block's training forward; its activations are recomputed in the backward.

        Args:
            block: The block.
            forward: Its own forward.
            args: Positional arguments, on the block's device.
            kwargs: Keyword arguments, likewise.

        Returns:
            What the forward gives.
        """
        slots = self._slots_of(block)
        device = slots[0][0][slots[0][1]].device if slots else torch.device("cpu")
        capturable = device.type == "cuda" and is_own_forward(block, forward)
        call = self._call_of(block, forward, args, kwargs, device) if capturable else None
        if call is None:
            return recomputed(forward, args, kwargs)
        tensors = [t for t in list_tensors((args, kwargs)) if t.device == device]
        results = _Replayed.apply(call, len(tensors), *tensors, *call.leaves)
        assert isinstance(results, tuple)
        return with_tensors(call.result_skeleton, results)

    def _call_of(
        self,
        block: nn.Module,
        forward: BlockForward,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        device: torch.device,
    ) -> "_CapturedCall | None":
        try:
            slots = self._slots_of(block)
            addresses = addresses_of(slots)
            key = (id(block), block.training, _casts(), addresses, _call_key((args, kwargs), device))
        except NotCapturableError as error:
            _log.debug("a call is not captured: %s", error)
            return None
        if key in self._captured:
            return self._captured[key]
        self._captured[key] = None
        self._num_captures[id(block)] = self._num_captures.get(id(block), 0) + 1
        if self._num_captures[id(block)] > _MAX_GRAPHS_A_BLOCK:
            return None
        card = self._cards.setdefault(device, _Card(device))
        try:
            self._captured[key] = _CapturedCall(forward, args, kwargs, card, slots)
        except torch.OutOfMemoryError:
            raise  # Without a graph it would not fit either.
        except (NotCapturableError, RuntimeError) as error:
            _log.warning("a block cannot be captured and runs without a graph: %s", error)
        return self._captured[key]


def is_own_forward(block: nn.Module, forward: BlockForward) -> bool:
    """Whether a block's forward is its class's, and nobody has wrapped it.

    What a wrapper does at each call (bringing paged weights in, for one) would be done once, while capturing, and never
    again.
    """
    return getattr(forward, "__func__", None) is type(block).forward


def addresses_of(slots: Slots) -> tuple[int, ...]:
    """Where a block's tensors are."""
    return tuple(tensors[name].data_ptr() for tensors, name in slots)


class _Card:
    """What all graphs of a card share: the capture stream, the memory pool and the buffers that calls go through."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device)
        with torch.cuda.device(device):
            self.pool = torch.cuda.graph_pool_handle()
        self._buffers: dict[tuple[Any, ...], torch.Tensor] = {}

    def buffer(self, role: str, index: int, like: torch.Tensor) -> torch.Tensor:
        """A buffer of a tensor's shape; the same one for the same role in every graph."""
        key = (role, index, like.shape, like.stride(), like.dtype)
        if key not in self._buffers:
            self._buffers[key] = torch.empty_like(like, requires_grad=False)
        return self._buffers[key]


class _CapturedCall:
    """The two graphs of a block's call."""

    def __init__(
        self, forward: BlockForward, args: tuple[Any, ...], kwargs: dict[str, Any], card: _Card, slots: Slots
    ) -> None:
        self._forward, self._arguments, self._card = forward, (args, kwargs), card
        self._slots, self._addresses = slots, addresses_of(slots)
        mobile = [t for t in list_tensors(self._arguments) if t.device == card.device]
        self._wanted = [t.requires_grad for t in mobile]
        self._inputs = [card.buffer("input", index, tensor) for index, tensor in enumerate(mobile)]
        for buffer, tensor in zip(self._inputs, mobile, strict=True):
            buffer.copy_(tensor.detach())
        self._numbers = RandomNumbers([card.device])
        self._warm_up()
        # The arguments' tensors are not needed any more, and must not be kept.
        self._arguments = map_tensors(self._arguments, lambda t: t if t.device != card.device else _EMPTY)
        self._forward_graph = self._capture(self._capture_forward)
        self._backward_graph = self._capture(self._capture_backward)

    def _warm_up(self) -> None:
        """Run the call once as it is: what it returns, which leaves it trains, and whether it can be captured."""
        inputs = self._detached()
        versions = [tensor._version for tensor in inputs]  # pyright: ignore
        before = self._numbers.read()
        with torch.enable_grad():
            result = self._run(inputs)
        after = self._numbers.read()
        outputs = list_tensors(result)
        if any(not t.requires_grad or t.device != self._card.device for t in outputs) or not outputs:
            raise NotCapturableError("it returns tensors without gradients or of another device")
        if [tensor._version for tensor in inputs] != versions:  # pyright: ignore
            raise NotCapturableError("it writes into its arguments")
        if not torch.equal(before[0], after[0]):
            raise NotCapturableError("it draws random numbers on the host")
        self.is_random = not torch.equal(before[1], after[1])
        nodes = walk([output.grad_fn for output in outputs])
        found = [leaf for node in nodes if (leaf := leaf_of(node)) is not None]
        own = {id(tensor) for tensor in inputs}
        self.leaves = [leaf for leaf in found if id(leaf) not in own]
        self._outputs = [self._card.buffer("output", index, t.detach()) for index, t in enumerate(outputs)]
        self._gradients_in = [self._card.buffer("gradient in", index, t) for index, t in enumerate(self._outputs)]
        self.result_skeleton = map_tensors(result, lambda tensor: _EMPTY)
        targets = [*(tensor for tensor in inputs if tensor.requires_grad), *self.leaves]
        gradients = torch.autograd.grad(outputs, targets, self._gradients_in, allow_unused=True)
        self._gradients_out = GradientBuffers(gradients, self._card.buffer, num_inputs=len(targets) - len(self.leaves))
        self._numbers.write(before)

    def _capture(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        graph, stream = torch.cuda.CUDAGraph(), self._card.stream
        stream.wait_stream(torch.cuda.current_stream(self._card.device))
        with torch.cuda.stream(stream):
            graph.capture_begin(pool=self._card.pool, capture_error_mode="thread_local")
            try:
                work()
            finally:
                graph.capture_end()
        torch.cuda.current_stream(self._card.device).wait_stream(stream)
        return graph

    def _capture_forward(self) -> None:
        with torch.no_grad():
            for buffer, output in zip(self._outputs, list_tensors(self._run(self._inputs)), strict=True):
                buffer.copy_(output)

    def _capture_backward(self) -> None:
        inputs = self._detached()
        with torch.enable_grad():
            outputs = list_tensors(self._run(inputs))
        targets = [*(tensor for tensor in inputs if tensor.requires_grad), *self.leaves]
        self._gradients_out.fill(torch.autograd.grad(outputs, targets, self._gradients_in, allow_unused=True))

    def _detached(self) -> list[torch.Tensor]:
        return [t.detach().requires_grad_(wanted) for t, wanted in zip(self._inputs, self._wanted, strict=True)]

    def _run(self, tensors: Sequence[torch.Tensor]) -> Any:
        waiting = iter(tensors)
        device = self._card.device
        args, kwargs = map_tensors(self._arguments, lambda t: next(waiting) if t.device == device or t is _EMPTY else t)
        # A cast made outside of the graph must not be used inside, nor one made inside outside.
        with torch.autocast(
            "cuda",
            dtype=torch.get_autocast_dtype("cuda"),
            enabled=torch.is_autocast_enabled("cuda"),
            cache_enabled=False,
        ):
            return self._forward(*args, **kwargs)

    # Replaying

    def replay_forward(self, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Run the forward graph on new inputs."""
        self._take(self._inputs, tensors)
        self._forward_graph.replay()
        return tuple(output.clone() for output in self._outputs)

    def replay_backward(
        self, tensors: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor], random_state: torch.Tensor | None
    ) -> list[torch.Tensor | None]:
        """Run the backward graph: one gradient for each input, then one for each leaf."""
        if addresses_of(self._slots) != self._addresses:
            raise RuntimeError("A block's weights were moved between its forward and its backward.")
        self._take(self._inputs, tensors)
        self._take(self._gradients_in, gradients)
        if random_state is None:
            self._backward_graph.replay()
        else:
            present = torch.cuda.get_rng_state(self._card.device)
            torch.cuda.set_rng_state(random_state, self._card.device)
            self._backward_graph.replay()
            torch.cuda.set_rng_state(present, self._card.device)
        found = iter(self._gradients_out.copied())
        return [*(next(found) if wanted else None for wanted in self._wanted), *found]

    def random_state(self) -> torch.Tensor | None:
        """The card's random numbers before a forward that draws any."""
        return torch.cuda.get_rng_state(self._card.device) if self.is_random else None

    @staticmethod
    def _take(buffers: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor]) -> None:
        for buffer, tensor in zip(buffers, tensors, strict=True):
            buffer.copy_(tensor)


class GradientBuffers:
    """Where a backward graph leaves its gradients: one buffer for each type of number.

    A block has some sixty small ones; copying them out one by one would cost the host more than the replay. Those of
    inputs, which travel on at once, lie apart from those of leaves, which stay until the optimiser has read them.

    Args:
        gradients: Gradients of the right shapes and types, those of inputs first; None where there is none.
        buffer: Gives a buffer for a role, an index and a tensor that it is to be like.
        num_inputs: How many are inputs'.
    """

    def __init__(
        self,
        gradients: Sequence[torch.Tensor | None],
        buffer: Callable[[str, int, torch.Tensor], torch.Tensor],
        *,
        num_inputs: int,
    ) -> None:
        self._shapes = [None if gradient is None else gradient.shape for gradient in gradients]
        given = [(number, gradient) for number, gradient in enumerate(gradients) if gradient is not None]
        self._groups: list[tuple[torch.Tensor, list[int], list[int]]] = []
        """A buffer, the numbers of the gradients in it, and their sizes."""
        kinds = [(number < num_inputs, gradient.dtype) for number, gradient in given]
        for kind in dict.fromkeys(kinds):
            members = [member for member, its_kind in zip(given, kinds, strict=True) if its_kind == kind]
            sizes = [gradient.numel() for _, gradient in members]
            like = torch.empty(sum(sizes), dtype=kind[1], device=members[0][1].device)
            flat = buffer("input gradients" if kind[0] else "leaf gradients", 0, like)
            self._groups.append((flat, [number for number, _ in members], sizes))

    def fill(self, gradients: Sequence[torch.Tensor | None]) -> None:
        """Put gradients in."""
        for flat, numbers, sizes in self._groups:
            flattened = [g.reshape(-1) for number in numbers if (g := gradients[number]) is not None]
            torch._foreach_copy_(list(flat.split(sizes)), flattened)  # pyright: ignore[reportPrivateImportUsage]

    def copied(self) -> list[torch.Tensor | None]:
        """Copies of the gradients, in their shapes."""
        found: list[torch.Tensor | None] = [None] * len(self._shapes)
        for flat, numbers, sizes in self._groups:
            for number, piece in zip(numbers, flat.clone().split(sizes), strict=True):
                shape = self._shapes[number]
                assert shape is not None
                found[number] = piece.view(shape)
        return found


class _Replayed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _CapturedCall, num_inputs: int, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.call, ctx.random_state = call, call.random_state()
        inputs = tensors[:num_inputs]
        ctx.save_for_backward(*inputs)
        return call.replay_forward(inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, None, *ctx.call.replay_backward(ctx.saved_tensors, gradients, ctx.random_state)


_EMPTY = torch.empty(0)


def _casts() -> tuple[Any, ...]:
    return torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")


def _call_key(value: Any, device: torch.device) -> Any:
    """All of a call's arguments that a graph takes for granted."""
    if isinstance(value, torch.Tensor):
        if value.device == device:
            return value.shape, value.stride(), value.dtype, value.requires_grad
        if value.device.type != "cpu" or value.numel() > _MAX_HOST_VALUES:
            raise NotCapturableError("an argument lies elsewhere, or is too large to be compared")
        return value.dtype, str(value.tolist())
    if isinstance(value, dict):
        return tuple((key, _call_key(item, device)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(_call_key(item, device) for item in value)
    if value is None or isinstance(value, bool | int | float | str | torch.dtype | torch.device):
        return type(value), value
    tensors = list_tensors(value)
    if not tensors:
        raise NotCapturableError(f"an argument is a {type(value).__name__}")
    return type(value), tuple(_call_key(tensor, device) for tensor in tensors)
