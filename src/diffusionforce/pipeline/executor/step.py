"""Runs a training step by a schedule, through a model that was not written for it.

The model's forward is called once for each micro-batch, exactly as a trainer would call it, but as a coroutine that
parks at chunk boundaries (`strand`). The executor goes through the schedule: for a forward it lets the micro-batch's
coroutine run one chunk further, for a backward it runs that chunk's piece of the graph. All of it is issued by one
host thread at a time; the cards work on what they were given meanwhile, and copies between them travel on streams of
their own (`transfer`).

Gradients are those of running the micro-batches one after the other through the unsplit model: equal in fp32 to the
last bit wherever the kernels are.

Calls of the model outside of `step`, and calls without gradients inside it (sampling, a teacher), are routed from
device to device and otherwise untouched.
"""

import contextlib
import gc
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

import torch
from torch import nn

from diffusionforce.pipeline.executor.coroutines import CoroutineThreads
from diffusionforce.pipeline.executor.recording import Recorder
from diffusionforce.pipeline.executor.strand import (
    ContextFactory,
    ScheduleMismatchError,
    Strand,
    current_strand,
)
from diffusionforce.pipeline.executor.streams import TailStream
from diffusionforce.pipeline.nesting import map_tensors
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.recompute.graphs import BlockGraphs
from diffusionforce.pipeline.recompute.random_numbers import OwnRandomNumbers
from diffusionforce.pipeline.router import Router
from diffusionforce.pipeline.schedule.simulation import Timeline
from diffusionforce.pipeline.schedule.ticks import Op, validate
from diffusionforce.pipeline.transfer import Transfers
from diffusionforce.pipeline.wrapping import Installable


class StepExecutor(Installable):
    """Trains a model whose blocks lie on several devices, micro-batch beside micro-batch.

    Args:
        blocks: The model's blocks in calling order, already on their devices.
        placement: Where they are; its chunks are the chunks of the schedules given to `step`.
        home: Where the rest of the model and the caller's tensors are; the device of block 0 by default.
        transfers: Starts the copies.
        recompute: Checkpoint every block inside the pipeline. For models that would checkpoint around their blocks,
            whose own checkpointing must then be off.
        graphs: Recompute, and run the blocks as captured CUDA graphs, where the host cannot issue their kernels as
            fast as the cards run them. The model's own checkpointing must be off.
        tail_on_own_stream: Run head and loss beside the chunks of the home card, not between them.
        contexts: Further thread-local state that a micro-batch's forward needs, as functions that make context
            managers. Grad mode, autocast, current devices and streams are taken from the caller in any case.
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
        tail_on_own_stream: bool = True,
        contexts: Sequence[ContextFactory] = (),
    ) -> None:
        self.router = Router(
            blocks, placement, home=home, transfers=transfers, recompute=recompute, graphs=graphs, interceptor=self
        )
        self.chunk_of_block = placement.chunk_of_block
        self.device_of_segment = (*placement.device_of_chunk, self.router.home)
        self.num_chunks = placement.num_chunks
        self.tail_stream = TailStream(self.router.home, enabled=tail_on_own_stream)
        self.recorder = Recorder()
        # The tail's graph often reaches back to tensors of the prologue. Others are searched once, in the first step.
        self.watched_segments = set(range(self.num_chunks + 1))
        self.leaky_segments: set[int] = set()
        self.threads = CoroutineThreads()
        self._contexts = list(contexts)

    def install(self) -> Self:
        self.router.install()
        return self

    def remove(self) -> None:
        """Give the blocks their own forwards back and end all threads."""
        self.router.remove()
        self.threads.close()

    def step(
        self,
        order: Iterable[Op],
        *,
        microbatches: Sequence[Callable[[], Any]],
        weights: Sequence[float] | None = None,
        scale: float = 1.0,
        seeds: Sequence[int] | None = None,
        record: bool = False,
    ) -> list[Any]:
        """Run forward and backward of all micro-batches by a schedule.

        Adds the gradients of `scale * sum(weight * loss)` to the parameters' `.grad`.

        Args:
            order: A schedule over the placement's chunks (`schedule`).
            microbatches: One function a micro-batch. It calls the model and gives the loss, a scalar, or a tuple
                whose first entry is the loss.
            weights: The weight of each loss; by default all equal with sum 1. For a batch cut into unequal pieces:
                the share of each piece.
            scale: Further factor of all gradients, such as a gradient scaler's.
            seeds: One seed of random numbers a micro-batch, so that dropout does not depend on the schedule. Without
                them all micro-batches draw from the caller's random numbers in the schedule's order.
            record: Note every op's times for `timeline`.

        Returns:
            What each function gave, tensors detached.

        Raises:
            ValueError: The order is no schedule for this placement and number of micro-batches.
            ScheduleMismatchError: The model did something that no schedule can follow. Whatever else a function
                raises is raised as it is. After any exception the gradients are half filled: zero them.
        """
        listed = validate(order, num_chunks=self.num_chunks, num_microbatches=len(microbatches))
        if not torch.is_grad_enabled():
            raise ValueError("A training step needs gradients to be enabled.")
        factors = [scale * weight for weight in weights or [1 / len(microbatches)] * len(microbatches)]
        self.recorder = Recorder(self.device_of_segment, is_recording=record)
        turning = self._turning_at_once(listed)
        strands = [
            self.new_strand(
                function, number=number, seed=seeds[number] if seeds else None, turns_at_once=number in turning
            )
            for number, function in enumerate(microbatches)
        ]
        results: list[Any] = [None] * len(strands)
        with without_collector():
            try:
                for op in listed:
                    result = self.run_op(strands[op.microbatch], op, factor=factors[op.microbatch])
                    if result is not None:
                        results[op.microbatch] = result
            finally:
                for strand in strands:
                    strand.unwind(self.threads)
                self.tail_stream.join()
        self.end_search()
        return [map_tensors(result, self.tail_stream.adopt) for result in results]

    def timeline(self) -> Timeline:
        """Who was busy when in the last step that was recorded; waits for the devices."""
        return self.recorder.timeline()

    def takes_call(self) -> bool:
        """Calls with gradients inside a micro-batch of ours are scheduled; the router does all others."""
        strand = current_strand()
        return strand is not None and strand.belongs_to(self) and torch.is_grad_enabled()

    def call_block(self, index: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A block is called inside a micro-batch."""
        strand = current_strand()
        assert strand is not None
        return strand.call_block(index, args, kwargs)

    def new_strand(
        self, function: Callable[[], Any], *, number: int, seed: int | None, turns_at_once: bool = False
    ) -> Strand:
        """A micro-batch that has not begun, with the caller's thread-local state of now."""
        contexts = [*_inherited(self.device_of_segment), *self._contexts]
        numbers = OwnRandomNumbers(seed, set(self.device_of_segment)) if seed is not None else None
        return Strand(self, number, function, contexts, numbers, turns_at_once=turns_at_once)

    def run_op(self, strand: Strand, op: Op, *, factor: float) -> Any:
        """Issue one op of a strand.

        Args:
            strand: The micro-batch.
            op: What it is to do next.
            factor: The gradient of its loss.

        Returns:
            What the micro-batch's function gave, after the forward of the last chunk; None after other ops.
        """
        if op.kind == "B":
            strand.backward(op.chunk)
            if op.chunk == 0:
                strand.release()
            return None
        strand.advance(self.threads)
        is_last = op.chunk == self.num_chunks - 1
        if strand.is_done != is_last:
            raise ScheduleMismatchError(
                f"Micro-batch {op.microbatch} {'ended' if strand.is_done else 'is still running'} after chunk "
                f"{op.chunk} of {self.num_chunks}."
            )
        return self._finish_forward(strand, factor) if is_last else None

    def end_search(self) -> None:
        """A whole step has been run: from now on only those pieces of the graph are searched that need it."""
        self.watched_segments = self.leaky_segments | {self.num_chunks}

    def _turning_at_once(self, order: Sequence[Op]) -> set[int]:
        """The micro-batches whose last chunk's device goes straight from that chunk's forward to its backward."""
        last = self.num_chunks - 1
        mine = [op for op in order if self.device_of_segment[op.chunk] == self.device_of_segment[last]]
        return {
            op.microbatch
            for op, following in itertools.pairwise(mine)
            if op.chunk == last and op.kind == "F" and following == Op("B", last, op.microbatch)
        }

    def _finish_forward(self, strand: Strand, factor: float) -> Any:
        """Run the tail backward at once: it holds up nobody, and the last chunk's backward waits for it."""
        result, strand.result = strand.result, None
        loss = result[0] if isinstance(result, tuple | list) else result
        strand.backward_tail(loss, factor)
        # Metrics that the caller keeps must not keep the graph.
        return map_tensors(result, lambda tensor: tensor.detach() if tensor.requires_grad else tensor)


def _inherited(devices: Iterable[torch.device]) -> list[ContextFactory]:
    """The caller's thread-local state, to be entered in a micro-batch's thread."""
    made: list[ContextFactory] = [_entering(torch.set_grad_enabled, True)]
    for kind in ("cpu", "cuda"):
        if torch.is_autocast_enabled(kind):
            dtype, cached = torch.get_autocast_dtype(kind), torch.is_autocast_cache_enabled()
            made.append(_entering(torch.autocast, kind, dtype=dtype, cache_enabled=cached))
    cards = dict.fromkeys(device for device in devices if device.type == "cuda")
    for card in cards:
        made.append(_entering(torch.cuda.stream, torch.cuda.current_stream(card)))
    if cards:
        made.append(_entering(torch.cuda.device, torch.cuda.current_device()))
    return made


def _entering(make: Callable[..., AbstractContextManager[Any]], *args: Any, **kwargs: Any) -> ContextFactory:
    return lambda: make(*args, **kwargs)


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Without Python's cyclic collector: it would walk all live objects again and again while the cards wait.

    A step leaves no more cyclic garbage than an ordinary one; it is collected between steps.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
