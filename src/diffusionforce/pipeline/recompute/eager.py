"""Activation checkpointing for one block, with as little host work as possible.

`torch.utils.checkpoint` without reentry records a graph in the forward, throws its tensors away through Python hooks,
one call a tensor, and does so again when it recomputes. On fast cards that host work, and not the cards, sets the pace
of two-card training. Here the forward records nothing; the backward runs the block once more with gradients on and
its graph at once. The random numbers, autocast and device of the forward are brought back for it.

The block's parameters get their gradients inside the inner backward, as leaves always do. Whoever walks the outer
graph cannot see them (`executor.cutting.reaches_trained` knows).
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from diffusionforce.pipeline.nesting import list_tensors, map_tensors, with_tensors
from diffusionforce.pipeline.recompute.random_numbers import RandomNumbers


def recomputed(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a block and keep only its arguments for the backward.

    Args:
        function: The block's forward. Must not write into its arguments.
        args: Its positional arguments; tensors may be nested.
        kwargs: Its keyword arguments.

    Returns:
        What the function gives; its tensors carry gradients.
    """
    call = _Call(function, (args, kwargs))
    # Without an input that requires a gradient autograd would not record the call, and the block's parameters would
    # get none: the token is there for the first block of a model whose prologue is frozen.
    token = torch.zeros((), requires_grad=True)
    results = _Recomputed.apply(token, call, *list_tensors((args, kwargs)))
    assert isinstance(results, tuple)
    return with_tensors(call.result, results)


class _Call:
    """A block's call: enough to run it again."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        self.result: Any = None
        """The forward's result, emptied of its tensors."""
        self._function = function
        # The skeleton must not keep the tensors: autograd keeps them, and knows when to let go.
        self._arguments = map_tensors(arguments, lambda tensor: _EMPTY)
        self._casts = {
            kind: (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind), torch.is_autocast_cache_enabled())
            for kind in ("cpu", "cuda")
        }
        devices = {tensor.device for tensor in list_tensors(arguments) if tensor.device.type == "cuda"}
        self._random = RandomNumbers(devices)
        self._before: list[torch.Tensor] | None = None

    def run(self, tensors: tuple[torch.Tensor, ...]) -> Any:
        args, kwargs = with_tensors(self._arguments, tensors)
        return self._function(*args, **kwargs)

    def run_first(self, tensors: tuple[torch.Tensor, ...]) -> Any:
        before = self._random.read()
        result = self.run(tensors)
        after = self._random.read()
        if not all(torch.equal(one, other) for one, other in zip(before, after, strict=True)):
            self._before = before
        return result

    @contextlib.contextmanager
    def as_before(self) -> Iterator[None]:
        """The state in which the forward ran."""
        with contextlib.ExitStack() as stack:
            for kind, (enabled, dtype, cached) in self._casts.items():
                if enabled or torch.is_autocast_enabled(kind):
                    stack.enter_context(torch.autocast(kind, dtype=dtype, enabled=enabled, cache_enabled=cached))
            if self._before is not None:
                stack.enter_context(self._random.replayed(self._before))
            yield


_EMPTY = torch.empty(0)


class _Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, token: torch.Tensor, call: _Call, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        result = call.run_first(tensors)
        # Autocast would keep what it cast of every block's weights until the model's end, and no block asks for
        # another's: a LoRA of rank 32 on 14 billion parameters is 0.3 GiB.
        torch.clear_autocast_cache()
        call.result = map_tensors(result, lambda tensor: _EMPTY)
        ctx.call = call
        # What is not used has no gradient, and neither have the parameters behind it: zeros would let the optimiser's
        # weight decay change them.
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        return tuple(list_tensors(result))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        inputs = tuple(tensor.detach().requires_grad_(tensor.requires_grad) for tensor in ctx.saved_tensors)
        as_they_come = [_kept_as_it_comes(tensor) for tensor in inputs]
        device = next((g.device for g in gradients if g is not None and g.device.type == "cuda"), None)
        with torch.cuda.device(device) if device is not None else contextlib.nullcontext():
            with torch.enable_grad(), ctx.call.as_before():
                results = list_tensors(ctx.call.run(inputs))
            wanted = [(r, g) for r, g in zip(results, gradients, strict=True) if g is not None and r.requires_grad]
            torch.autograd.backward([r for r, _ in wanted], [g for _, g in wanted])
        pairs = zip(inputs, as_they_come, strict=True)
        return None, None, *(kept[0] if kept else tensor.grad for tensor, kept in pairs)


def _kept_as_it_comes(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Where the gradient of an input is put that does not lie row by row in memory; empty for all others.

    A leaf lays its gradient out as it lies itself, where the model would have handed it on as it comes. Sums over
    another layout add up in another order: the gradients of HunyuanVideo 1.5, whose tokens come out of a convolution,
    were not those of one device to the last bit.
    """
    kept: list[torch.Tensor] = []
    if tensor.requires_grad and not tensor.is_contiguous():
        tensor.register_hook(kept.append)  # pyright: ignore[reportUnknownMemberType]
    return kept
