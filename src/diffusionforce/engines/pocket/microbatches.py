"""How the pieces of one step are run: in turn on one device, or through a pipeline over several.

A step is a list of pieces (micro-batches), each a function that gives its loss. On one device they run one after the
other. On several, the pipeline lets them overlap, so that a card computes one piece while its neighbour computes
another; the gradients are the same.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from diffusionforce.engines.pocket.division import pieces_of_batch
from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.router import Router
from diffusionforce.pipeline.schedule.generators import Costs, interleaved, turns
from diffusionforce.pipeline.wrapping import Installable
from diffusionforce.wire import Span


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One micro-batch of a step."""

    loss: Callable[[], Tensor]
    """Runs the forward pass and gives the mean loss of its pictures, a scalar that carries gradient."""
    weight: float
    """Its share of the step's pictures."""


@dataclass(frozen=True, kw_only=True)
class DeviceWork:
    """What one device did in a step."""

    busy: float
    """Share of the step in which it computed, 0 to 1."""
    timeline: tuple[Span, ...]
    """Every piece of work, in seconds from the step's start."""


class PieceRunner(Protocol):
    """Runs the pieces of a step, forward and backward."""

    @property
    def schedule(self) -> str:
        """Name of the order in which it runs them."""
        ...

    def num_pieces(self, batch_size: int, *, num_batches: int) -> int:
        """Into how many pieces it wants each of a step's batches cut."""
        ...

    def run(self, pieces: Sequence[Piece], *, in_turn: bool = False) -> list[float]:
        """Add the gradients of the weighted losses, and return the losses.

        Args:
            pieces: The micro-batches.
            in_turn: One after the other, even where several devices could work at once: it holds the least memory.
        """
        ...

    def work(self) -> dict[torch.device, DeviceWork]:
        """What the devices did in the last step; empty where nobody noted it."""
        ...

    def installed(self) -> AbstractContextManager[object]:
        """The blocks can be called while this is entered."""
        ...

    @property
    def wrappers(self) -> Sequence[Installable]:
        """What wraps the blocks while they are installed, innermost first."""
        ...


class InTurn:
    """Everything on one device.

    Args:
        blocks: The blocks of the model.
        placement: Where they are.
        recompute: Recompute the activations of each block in the backward pass.
    """

    schedule = "single"

    def __init__(self, blocks: nn.ModuleList, placement: Placement, *, recompute: bool) -> None:
        self._router = Router(blocks, placement, recompute=True) if recompute else None

    def installed(self) -> AbstractContextManager[object]:
        """The blocks can be called while this is entered."""
        return self._router.install() if self._router is not None else nullcontext()

    @property
    def wrappers(self) -> Sequence[Installable]:
        """What wraps the blocks while they are installed."""
        return [self._router] if self._router is not None else []

    def num_pieces(self, batch_size: int, *, num_batches: int) -> int:
        """A batch stays whole."""
        return 1

    def run(self, pieces: Sequence[Piece], *, in_turn: bool = False) -> list[float]:
        """Add the gradients of the weighted losses, and return the losses."""
        losses: list[float] = []
        for piece in pieces:
            loss = piece.loss()
            (loss * piece.weight).backward()
            losses.append(loss.item())
        return losses

    def work(self) -> dict[torch.device, DeviceWork]:
        """Nobody notes it: one device is busy as long as the step lasts."""
        return {}


class Pipelined:
    """Several stages that work at the same time.

    Args:
        blocks: The blocks of the model, already placed.
        placement: Where they are.
        recompute: Recompute the activations of each block in the backward pass.
    """

    schedule = "interleaved"

    def __init__(self, blocks: nn.ModuleList, placement: Placement, *, recompute: bool) -> None:
        self._placement = placement
        self._executor = StepExecutor(blocks, placement, recompute=recompute)

    def installed(self) -> AbstractContextManager[object]:
        """The blocks can be called while this is entered."""
        return self._executor.install()

    @property
    def wrappers(self) -> Sequence[Installable]:
        """What wraps the blocks while they are installed."""
        return [self._executor]

    def num_pieces(self, batch_size: int, *, num_batches: int) -> int:
        """Enough pieces to keep all stages busy, as far as the batch has pictures."""
        return pieces_of_batch(batch_size, num_stages=len(self._placement.devices), num_batches=num_batches)

    def run(self, pieces: Sequence[Piece], *, in_turn: bool = False) -> list[float]:
        """Add the gradients of the weighted losses, and return the losses."""
        # By stage: the same device may be two stages, which a schedule must tell apart.
        costs = Costs.equal(self._placement.stage_of_chunk)
        order = (turns if in_turn else interleaved)(costs, num_microbatches=len(pieces))
        losses = self._executor.step(
            order,
            microbatches=[piece.loss for piece in pieces],
            weights=[piece.weight for piece in pieces],
            record=True,
        )
        return [loss.item() for loss in losses]

    def work(self) -> dict[torch.device, DeviceWork]:
        """What the devices did in the last step."""
        timeline = self._executor.timeline()
        work: dict[torch.device, DeviceWork] = {}
        for device in dict.fromkeys(self._placement.devices):
            spans = tuple(
                Span(
                    op=span.op.kind,
                    chunk=span.op.chunk,
                    microbatch=span.op.microbatch,
                    start_s=span.start_s,
                    end_s=span.end_s,
                )
                for span in timeline.spans
                if span.device == device
            )
            work[device] = DeviceWork(busy=min(1.0, timeline.busy_share(device)), timeline=spans)
        return work


def piece_runner(blocks: nn.ModuleList, placement: Placement, *, recompute: bool) -> InTurn | Pipelined:
    """The runner that suits a placement."""
    kind = InTurn if len(placement.devices) == 1 else Pipelined
    return kind(blocks, placement, recompute=recompute)
