"""EXPERIMENTAL, off by default: one micro-batch a step, both cards busy, gradients applied one step late.

With a batch of one and no gradient accumulation nothing can be interleaved within a step: while one card works on the
only sample, the other has nothing to do. So the next step's forward begins on the first card while the second is still
busy with the last one. It begins before the last gradients exist, with the weights of one update earlier:

    W(k+1) = optimiser(W(k), gradient at W(k-1))

This is not the training that the user asked for. It is a well-defined recurrence of its own, reproducible to the last
bit, that loses stability margin: at ordinary learning rates the error left is close to synchronous training's, near
the top of the usable range it diverges earlier, above all with momentum. docs/performance.md has what was measured.
Gradient accumulation of two or more keeps both cards busy exactly, and should be used first.

Every step trains on a private copy of the trained parameters (a *stash*), put into the modules while an op of that
step runs, so that its forward, its recomputing and its backward see one version of the weights.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from diffusionforce.pipeline.executor.step import StepExecutor, without_collector
from diffusionforce.pipeline.executor.strand import Strand
from diffusionforce.pipeline.nesting import map_tensors
from diffusionforce.pipeline.schedule.ticks import Op

Slot = tuple[nn.Module, str]
"""A module and the name of one of its parameters."""


def late_order(*, num_chunks: int, num_steps: int) -> list[Op]:
    """The issue order of several steps, for a clock: each step's first half runs beside the step before it.

    Args:
        num_chunks: Chunks of the model.
        num_steps: Steps; the micro-batch of an op is its step.
    """
    half, order = _first_half(num_chunks), list[Op]()
    for step in range(num_steps + 1):
        if step < num_steps:
            order += [Op("F", chunk, step) for chunk in range(half)]
        if step:
            order += [Op("F", chunk, step - 1) for chunk in range(half, num_chunks)]
            order += [Op("B", chunk, step - 1) for chunk in reversed(range(num_chunks))]
    return order


@dataclass
class _Flight:
    """A step whose first half has been issued."""

    strand: Strand
    stash: "Stash"


class LateTrainer:
    """Runs steps of one micro-batch each, one step late. Use one chunk a device.

    Args:
        executor: The installed pipeline. Its blocks must not be captured as graphs: their weights change places.
        model: Holds the trained parameters, inside and outside of the blocks.
    """

    def __init__(self, executor: StepExecutor, model: nn.Module) -> None:
        self._executor = executor
        self._slots = trained_slots(model)
        self._flight: _Flight | None = None
        self._num_pushed = 0

    def push(self, function: Callable[[], Any], *, seed: int | None = None) -> Any:
        """Begin a step and finish the one before it.

        Leaves the finished step's gradients in the parameters' `.grad`, replacing what was there. The caller then lets
        the optimiser step, as after any backward; after the first call there are no gradients yet.

        Args:
            function: Calls the model and gives the loss, a scalar, or a tuple whose first entry is the loss.
            seed: The step's own random numbers. Without it the two steps in flight share the caller's.

        Returns:
            What the function of the step before gave, tensors detached; None at the first call.
        """
        stash = Stash(self._slots)
        strand = self._executor.new_strand(function, number=self._num_pushed, seed=seed)
        self._num_pushed += 1
        before, self._flight = self._flight, None
        with without_collector(), self._ending_on_error(strand, before):
            self._run(_Flight(strand, stash), "F", range(_first_half(self._executor.num_chunks)))
            result = self._finish(before) if before is not None else None
        self._flight = _Flight(strand, stash)
        return result

    def flush(self) -> Any:
        """Finish the step in flight, at the end of training or before anything that needs all weights in place.

        Leaves its gradients in `.grad`.

        Returns:
            What its function gave, or None if there is no step in flight.
        """
        before, self._flight = self._flight, None
        if before is None:
            return None
        with without_collector(), self._ending_on_error(before.strand, None):
            return self._finish(before)

    def discard(self) -> None:
        """Drop the step in flight without its gradients."""
        before, self._flight = self._flight, None
        if before is not None:
            before.strand.unwind(self._executor.threads)

    def _finish(self, flight: _Flight) -> Any:
        num_chunks = self._executor.num_chunks
        result = self._run(flight, "F", range(_first_half(num_chunks), num_chunks))
        self._run(flight, "B", reversed(range(num_chunks)))
        self._executor.tail_stream.join()
        self._executor.end_search()
        flight.stash.hand_over_gradients()
        return map_tensors(result, self._executor.tail_stream.adopt)

    def _run(self, flight: _Flight, kind: str, chunks: Iterable[int]) -> Any:
        result = None
        for chunk in chunks:
            op = Op("F" if kind == "F" else "B", chunk, flight.strand.microbatch)
            with flight.stash.in_place():
                result = self._executor.run_op(flight.strand, op, factor=1.0)
        return result

    @contextlib.contextmanager
    def _ending_on_error(self, *strands: "Strand | _Flight | None") -> Iterator[None]:
        try:
            yield
        except BaseException:
            for strand in strands:
                if strand is not None:
                    (strand.strand if isinstance(strand, _Flight) else strand).unwind(self._executor.threads)
            raise


class Stash:
    """One step's private copy of the trained parameters."""

    def __init__(self, slots: list[Slot]) -> None:
        self._slots = slots
        self._mine = [nn.Parameter(_parameter(slot).detach().clone()) for slot in slots]

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the modules use this copy."""
        masters = [_parameter(slot) for slot in self._slots]
        self._put(self._mine)
        try:
            yield
        finally:
            self._put(masters)

    def hand_over_gradients(self) -> None:
        """Give the masters the copy's gradients."""
        for slot, mine in zip(self._slots, self._mine, strict=True):
            _parameter(slot).grad, mine.grad = mine.grad, None

    def _put(self, parameters: list[nn.Parameter]) -> None:
        for (module, name), parameter in zip(self._slots, parameters, strict=True):
            module._parameters[name] = parameter  # pyright: ignore[reportPrivateUsage]
        # Autocast keeps casts of weights by identity of the storage it saw, for all threads.
        torch.clear_autocast_cache()


def trained_slots(model: nn.Module) -> list[Slot]:
    """Where a model keeps its trained parameters."""
    return [
        (module, name)
        for module in model.modules()
        for name, parameter in module.named_parameters(recurse=False)
        if parameter.requires_grad
    ]


def _parameter(slot: Slot) -> nn.Parameter:
    parameter = slot[0]._parameters[slot[1]]  # pyright: ignore[reportPrivateUsage]
    assert parameter is not None
    return parameter


def _first_half(num_chunks: int) -> int:
    """How many chunks of a step run beside the step before it."""
    return (num_chunks + 1) // 2
