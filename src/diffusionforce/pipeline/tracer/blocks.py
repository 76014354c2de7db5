"""Watching memory at the boundaries of a model's blocks while its own forward and backward run.

A model of forty blocks need not run forty blocks to be known. Blocks of the same class with the same parameters are of
one kind; the first two of a kind run, and the rest hand their input on as their output, so that the model's code sees
nothing unusual. The first of a kind is a kind of its own in the numbers, because what comes before it differs.

The forward of a block lasts from its call until the next call or the end of the last block, so that code between
blocks counts for the block before it. Its backward lasts from the moment when the gradient of its output is there until
the same moment of the block before it.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from diffusionforce.pipeline.nesting import list_tensors
from diffusionforce.pipeline.tracer.memory import StorageCounter, allocated_bytes
from diffusionforce.pipeline.tracer.standins import CardKernels

Work = tuple[int, int, int]
"""Operations, kernels and moved bytes so far."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Memory between two marks."""

    name: tuple[str, int]
    before_bytes: int
    """Live at its beginning."""
    peak_bytes: int
    """The most that was live in it."""
    after_bytes: int
    """Live at its end."""
    flops: int
    """Multiplications and additions in it."""
    launches: int
    """Kernels started in it."""
    moved_bytes: int
    """What kernels in it read and wrote that wait for memory."""

    @property
    def rise_bytes(self) -> int:
        """The peak above the beginning."""
        return max(0, self.peak_bytes - self.before_bytes)


class Marks:
    """Cuts a run into intervals, each from one mark to the next."""

    def __init__(self, counter: StorageCounter, kernels: CardKernels) -> None:
        self.intervals: list[Interval] = []
        self._counter, self._kernels = counter, kernels
        self._open: tuple[tuple[str, int], int, Work] | None = None

    def mark(self, kind: str, index: int = 0) -> None:
        """End the interval under way and begin one."""
        self.stop()
        self._counter.restart_peak()
        self._open = (kind, index), self._counter.live, self._work

    def stop(self) -> None:
        """End the interval under way."""
        if self._open is not None:
            name, before, begun = self._open
            flops, launches, moved = (now - then for now, then in zip(self._work, begun, strict=True))
            self.intervals.append(
                Interval(name, before, self._counter.peak, self._counter.live, flops, launches, moved)
            )
            self._open = None

    @property
    def _work(self) -> Work:
        counter, kernels = self._counter, self._kernels
        return (
            counter.flops + kernels.flops,
            counter.launches + kernels.launches,
            counter.moved_bytes + kernels.moved_bytes,
        )

    def named(self, kind: str, index: int = 0) -> Interval:
        """The last interval of that name."""
        return next(interval for interval in reversed(self.intervals) if interval.name == (kind, index))


class WatchedBlocks:
    """Wraps the forwards of a model's blocks: marks their boundaries, and skips those whose kind is known.

    Args:
        blocks: The model's blocks in calling order.
        marks: Gets a mark "F" and "B" for each block that runs, and "tail" after the last block.
        recompute: Checkpoint every block here, for models that do not do it themselves.
    """

    def __init__(self, blocks: Sequence[nn.Module], marks: Marks, *, recompute: bool = False) -> None:
        self.kind_of_block, self.representatives = kinds_of(blocks)
        self.output_bytes: dict[int, int] = {}
        self.shared_bytes = 0
        self.in_backward = False
        """Set while the backward runs: a model that checkpoints around its blocks calls them again then."""
        self._blocks, self._marks, self._recompute = blocks, marks, recompute
        self._previous_outputs: list[torch.Tensor] = []
        self._begun: set[int] = set()

    def install(self) -> None:
        """Wrap every block's forward, for good."""
        for index, block in enumerate(self._blocks):
            block.forward = self._wrapped(index, block.forward)

    def begin(self) -> None:
        """Prepare for the next micro-batch."""
        self._begun.clear()
        self._previous_outputs = []
        self.in_backward = False

    def _wrapped(self, index: int, inner: Callable[..., Any]) -> Callable[..., Any]:
        is_last = index == len(self._blocks) - 1

        @functools.wraps(inner)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if self.in_backward:
                return inner(*args, **kwargs)
            self._note_shared(index, args, kwargs)
            result = self._run(index, inner, args, kwargs)
            self._previous_outputs = [] if is_last else list_tensors(result)
            if is_last:
                self._marks.mark("tail")
            return result

        return watched

    def _run(self, index: int, inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if index not in self.representatives:
            if index - 1 in self.representatives:
                self._marks.mark("skipped", index)
            handed_on = self._handed_on(args, kwargs)
            return handed_on if handed_on is not None else inner(*args, **kwargs)
        # A micro-batch that lets another go first starts with an empty cache of casts; so does each block here.
        torch.clear_autocast_cache()
        self._marks.mark("F", index)
        if self._recompute and torch.is_grad_enabled():
            result = checkpoint(inner, *args, use_reentrant=False, **kwargs)
        else:
            result = inner(*args, **kwargs)
        torch.clear_autocast_cache()
        self._watch_output(index, result)
        return result

    def _note_shared(self, index: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Add up what a block takes that is not the block before's output. Two blocks suffice to tell."""
        if index != 1:
            return
        moving = {tensor.untyped_storage()._cdata for tensor in self._previous_outputs}
        shared = [t for t in list_tensors((args, kwargs)) if t.untyped_storage()._cdata not in moving]
        self.shared_bytes = storage_bytes(shared)

    def _watch_output(self, index: int, result: Any) -> None:
        outputs = list_tensors(result)
        self.output_bytes[index] = storage_bytes(outputs)

        def begin_backward(_gradients: Any) -> None:
            if index not in self._begun:
                self._begun.add(index)
                torch.clear_autocast_cache()
                self._marks.mark("B", index)

        for tensor in outputs:
            if tensor.grad_fn is not None:
                tensor.grad_fn.register_prehook(begin_backward)

    def _handed_on(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a skipped block gives: the output of the block before it, if the block was called with just that."""
        given = {id(tensor) for tensor in list_tensors((args, kwargs))}
        previous = self._previous_outputs
        if not previous or any(id(tensor) not in given for tensor in previous):
            return None
        return previous[0] if len(previous) == 1 else tuple(previous)


def kinds_of(blocks: Sequence[nn.Module]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sort blocks into kinds.

    Returns:
        The kind of each block, and for each kind the block that stands for it. The first block of each signature is
        a kind of its own.
    """
    kinds: dict[tuple[Any, bool], int] = {}
    representatives: list[int] = []
    seen: set[Any] = set()
    kind_of_block: list[int] = []
    for index, block in enumerate(blocks):
        key = signature_of(block), signature_of(block) in seen
        seen.add(key[0])
        if key not in kinds:
            kinds[key] = len(representatives)
            representatives.append(index)
        kind_of_block.append(kinds[key])
    return tuple(kind_of_block), tuple(representatives)


def signature_of(block: nn.Module) -> tuple[Any, ...]:
    """What two blocks must share to need the same memory: class, and every tensor's name, shape, dtype, training."""
    tensors = [*block.named_parameters(), *block.named_buffers()]
    return (type(block), block.training, *((n, tuple(t.shape), t.dtype, t.requires_grad) for n, t in tensors))


def storage_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """What the tensors' storages take on a card, each counted once."""
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes() for tensor in tensors}
    return sum(map(allocated_bytes, storages.values()))
