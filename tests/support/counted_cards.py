"""Cards that exist only as names in a count: a real training step on the CPU, whose every storage belongs to the card
on which it would be.

The step runs chunk by chunk in a schedule's order, as a split model's does: boundaries are copied to the next card and
given up, gradients are copied back, the tail runs on the first card. What is executed is real; what is compared is the
most bytes that were alive on each card.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from diffusionforce.pipeline.nesting import list_tensors
from diffusionforce.pipeline.schedule.ticks import Op
from diffusionforce.pipeline.tracer.memory import StorageCounter, allocated_bytes
from diffusionforce.pipeline.tracer.standins import CardKernels

HOME = 0


@dataclass(frozen=True, kw_only=True)
class CutModel:
    """A model in the three pieces that a split runs: before the blocks, the blocks, after them."""

    model: nn.Module
    blocks: Sequence[nn.Module]
    prologue: Callable[[Any], tuple[torch.Tensor, tuple[Any, ...]]]
    """batch -> (first block's input, what all blocks share)"""
    tail: Callable[[torch.Tensor, tuple[Any, ...], Any], torch.Tensor]
    """(last block's output, what is shared, batch) -> loss"""


@dataclass
class CountedStep:
    """Runs steps of one plan and counts."""

    cut: CutModel
    chunks: Sequence[range]
    card_of_chunk: Sequence[int]
    order: Sequence[Op]
    make_optimizer: Callable[[list[nn.Parameter]], torch.optim.Optimizer]
    counter: StorageCounter = field(default_factory=lambda: StorageCounter(size_of=_on_card_bytes))

    def peak_bytes(self, batches: Sequence[Any]) -> list[int]:
        """The most bytes alive on each card during a step of a steady run, in which the optimiser's state exists."""
        cards = range(max(self.card_of_chunk) + 1)
        with self.counter, CardKernels():
            self._count_parameters()
            for tensor in list_tensors(list(batches)):
                self._on(HOME).note(tensor)
            optimizers = [self._warm_optimizer(card) for card in cards]
            self.counter.restart_peak()
            self._step(batches)
            for card, optimizer in enumerate(optimizers):
                self._on(card)
                optimizer.step()
        return [self.counter.peak_bytes[card] for card in cards]

    def _warm_optimizer(self, card: int) -> torch.optim.Optimizer:
        self._on(card)
        parameters = self._trained(card)
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter)
        optimizer = self.make_optimizer(parameters)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return optimizer

    def _step(self, batches: Sequence[Any]) -> None:
        run = _Step(self, batches)
        for op in self.order:
            (run.forward if op.kind == "F" else run.backward)(op.chunk, op.microbatch)

    def _on(self, card: int) -> StorageCounter:
        self.counter.owner = card
        return self.counter

    def _count_parameters(self) -> None:
        for chunk, card in zip(self.chunks, self.card_of_chunk, strict=True):
            for tensor in [t for block in chunk for t in self.cut.blocks[block].parameters()]:
                self._on(card).note(tensor)
        for tensor in [*self.cut.model.parameters(), *self.cut.model.buffers()]:
            self._on(HOME).note(tensor)

    def _trained(self, card: int) -> list[nn.Parameter]:
        mine = [
            block for chunk, at in zip(self.chunks, self.card_of_chunk, strict=True) if at == card for block in chunk
        ]
        return [p for block in mine for p in self.cut.blocks[block].parameters() if p.requires_grad]


def _on_card_bytes(num_bytes: int) -> int:
    """A single float is an optimiser's step counter, which stays on the host where there is a card."""
    return allocated_bytes(num_bytes) if num_bytes > 4 else 0


class _Intake(torch.autograd.Function):
    """Where a chunk's graph begins: hands a boundary on without holding it, and keeps its gradient in a list."""

    @staticmethod
    def forward(
        ctx: Any, token: torch.Tensor, handed: list[torch.Tensor], gradients: list[torch.Tensor]
    ) -> torch.Tensor:
        ctx.gradients = gradients
        return handed.pop()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, None, None]:
        ctx.gradients.append(gradients[0])
        return None, None, None


class _Step:
    def __init__(self, plan: CountedStep, batches: Sequence[Any]) -> None:
        self._plan, self._batches = plan, batches
        self._inputs: dict[tuple[int, int], torch.Tensor] = {}
        self._edges: dict[tuple[int, int], Any] = {}
        self._gradients: dict[tuple[int, int], torch.Tensor] = {}
        self._arrived: dict[tuple[int, int], list[torch.Tensor]] = {}
        self._sent: dict[int, torch.Tensor] = {}  # a model's variables hold its tensors until the next block has run
        self._token = torch.zeros((), requires_grad=True)
        self._shared: dict[tuple[int, int], tuple[Any, ...]] = {}

    def forward(self, chunk: int, microbatch: int) -> None:
        card = self._at(chunk)
        if chunk == 0:
            self._plan._on(HOME)
            x, self._shared[HOME, microbatch] = self._plan.cut.prologue(self._batches[microbatch])
            self._inputs[0, microbatch] = self._copied(x, HOME, card)
            self._sent[microbatch] = x
            del x
        if (card, microbatch) not in self._shared:
            home_shared = self._shared[HOME, microbatch]
            self._shared[card, microbatch] = _mapped(home_shared, lambda t: self._copied(t, HOME, card))
        self._plan._on(card)
        x = self._begun(chunk, microbatch)
        for block in self._plan.chunks[chunk]:
            x = self._plan.cut.blocks[block](x, *self._shared[card, microbatch])
            self._sent.pop(microbatch, None)
        self._edges[chunk, microbatch] = torch.autograd.graph.get_gradient_edge(x)
        if chunk + 1 < len(self._plan.chunks):
            self._inputs[chunk + 1, microbatch] = self._copied(x, card, self._at(chunk + 1))
            self._sent[microbatch] = x.detach()
            return
        self._inputs[chunk + 1, microbatch] = self._copied(x, card, HOME)
        del x
        self._tail(card, chunk, microbatch)

    def _tail(self, card: int, chunk: int, microbatch: int) -> None:
        self._plan._on(HOME)
        shared, batch = self._shared[HOME, microbatch], self._batches[microbatch]
        loss = self._plan.cut.tail(self._begun(chunk + 1, microbatch), shared, batch)
        _backward(loss, torch.ones_like(loss))
        gradient = self._arrived.pop((chunk + 1, microbatch)).pop()
        self._gradients[chunk, microbatch] = self._copied(gradient, HOME, card)

    def _begun(self, segment: int, microbatch: int) -> torch.Tensor:
        x = self._inputs.pop((segment, microbatch))
        if segment == 0:
            return x
        handed, gradients = [x], self._arrived.setdefault((segment, microbatch), [])
        del x
        return _Intake.apply(self._token, handed, gradients)  # pyright: ignore[reportReturnType]

    def backward(self, chunk: int, microbatch: int) -> None:
        card = self._at(chunk)
        self._plan._on(card)
        gradient = self._gradients.pop((chunk, microbatch))
        _backward(self._edges.pop((chunk, microbatch)), gradient)
        del gradient
        if chunk:
            arrived = self._arrived.pop((chunk, microbatch)).pop()
            self._gradients[chunk - 1, microbatch] = self._copied(arrived, card, self._at(chunk - 1))
        if chunk == min(c for c, at in enumerate(self._plan.card_of_chunk) if at == card):
            del self._shared[card, microbatch]

    def _at(self, chunk: int) -> int:
        return self._plan.card_of_chunk[chunk]

    def _copied(self, tensor: torch.Tensor, source: int, destination: int) -> torch.Tensor:
        if source == destination:
            return tensor.detach()
        self._plan._on(destination)
        copied = tensor.detach().clone()
        self._plan._on(source)
        return copied


def _backward(root: Any, gradient: torch.Tensor) -> None:
    # The public entry switches function modes off, and recomputing would miss the stand-ins.
    run: Callable[..., Any] = torch.autograd.graph._engine_run_backward
    run((root,), (gradient,), False, False, (), allow_unreachable=True, accumulate_grad=True)


def _mapped(value: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return function(value)
    return tuple(_mapped(item, function) for item in value)
