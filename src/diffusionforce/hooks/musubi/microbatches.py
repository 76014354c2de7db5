"""7: a step's batches are cut into pieces that pass through the devices at the same time.

The trainer calls `process_batch` for each batch, and then runs the backward pass of the loss that it is given. Here
both happen inside: the pieces run by a schedule, gradients are in place when the method returns, and the trainer is
given the loss as a leaf, whose backward pass changes nothing.

With gradient accumulation the batches of a step are such pieces too. A batch whose step is not complete waits for the
rest, unless nothing is known yet that could be shown as its loss.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from diffusionforce.hooks.musubi.block_routing import BlockRouting
from diffusionforce.hooks.musubi.drawn import DrawnBatch
from diffusionforce.hooks.musubi.requests import StopAsked
from diffusionforce.hooks.musubi.upstream import REVISION, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.schedule.simulation import Timeline

STEP_LOSS = "loss/step"
"""Among the metrics of the batch that completes a step: the mean loss of all its pictures."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One micro-batch."""

    loss: Callable[[], Any]
    """Runs the forward pass; gives the mean loss of its pictures, and metrics."""
    weight: float
    """Its share of the step."""


class Microbatches(BlockRouting):
    """Runs the pieces of a step together."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[DrawnBatch] = []
        self._ran: list[tuple[float, float]] = []
        """(loss, weight) of the pieces of this step that have run."""
        self._shown_loss: float | None = None

    def process_batch(
        self, args: Any, accelerator: Any, transformer: Any, network: Any, *rest: Any, **named: Any
    ) -> tuple[Any, dict[str, float]]:
        """Run the batch, with those that wait for it, or let it wait."""
        batch = DrawnBatch.draw(self, args, accelerator, transformer, *rest, **named)
        if self.needs_other_expert():
            self._run_waiting(args, accelerator, network, batch.global_step)
            self.switch_expert(args, accelerator, transformer)
        self._waiting.append(batch)
        if not accelerator.sync_gradients and self._shown_loss is not None:
            return _leaf(self._shown_loss, accelerator.device), {}
        self._run_waiting(args, accelerator, network, batch.global_step)
        total = sum(weight for _, weight in self._ran)
        self._shown_loss = sum(loss * weight for loss, weight in self._ran) / total
        if not accelerator.sync_gradients:
            return _leaf(self._shown_loss, accelerator.device), {}
        self._ran.clear()
        return _leaf(self._shown_loss, accelerator.device), {STEP_LOSS: self._shown_loss}

    def timeline(self) -> Timeline | None:
        """What each device did in the last step."""
        return self.executor.timeline() if self.executor is not None else None

    def _run_waiting(self, args: Any, accelerator: Any, network: Any, global_step: int) -> None:
        """Run forward and backward of all batches that wait, again where another program had taken the memory for it.

        Raises:
            StopAsked: The run is to stop, and waits for memory.
        """
        batches, self._waiting = self._waiting, []
        if not batches:
            return
        parameters, listener = list(network.parameters()), self.assignment.listener
        # What ran before in this step cannot be told apart any more from what is added to it. That is seldom so.
        before = [_kept(parameter.grad) for parameter in parameters] if self._ran else [None] * len(parameters)
        while True:
            pieces = [
                Piece(loss=partial(batch.loss_of, rows), weight=share / args.gradient_accumulation_steps)
                for batch in batches
                for rows, share in batch.cuts(self.assignment.portions.num_pieces)
            ]
            try:
                results = self._results(pieces, args, accelerator, global_step)
                break
            except (RuntimeError, MemoryError) as error:
                if not listener.makes_room(error):
                    raise
            if listener.stop_requested:
                raise StopAsked
            for parameter, gradient in zip(parameters, before, strict=True):
                parameter.grad = None if gradient is None else gradient.to(parameter.device)
        self._ran += [(result[0].item(), piece.weight) for result, piece in zip(results, pieces, strict=True)]

    def _results(self, pieces: list[Piece], args: Any, accelerator: Any, global_step: int) -> list[Any]:
        """Run forward and backward of some pieces, and return what they gave."""
        assert self.executor is not None, "the blocks are wrapped before the first step"
        # What is dropped must depend on neither the schedule nor where the run was interrupted.
        first = args.seed * 1_000_003 + global_step * 1_009 + len(self._ran)
        seeds = [(first + index) % 2**63 for index in range(len(pieces))]
        self.is_running_pieces = True
        try:
            return self.executor.step(
                self.order_of(len(pieces)),
                microbatches=[piece.loss for piece in pieces],
                weights=[piece.weight for piece in pieces],
                scale=accelerator.scaler.get_scale() if accelerator.scaler is not None else 1.0,
                seeds=seeds if _has_dropout(args) else None,
                record=True,
            )
        finally:
            self.is_running_pieces = False


def _kept(gradient: torch.Tensor | None) -> torch.Tensor | None:
    """A copy in RAM."""
    return None if gradient is None else gradient.to("cpu", copy=True)


def _has_dropout(args: Any) -> bool:
    return bool(args.network_dropout) or any("dropout" in text for text in args.network_args or ())


def _leaf(loss: float, device: torch.device) -> torch.Tensor:
    """A loss whose backward pass changes nothing."""
    return torch.tensor(loss, device=device, requires_grad=True)


HOOK = Seam(
    number=7,
    name="microbatches",
    overrides=(
        method("process_batch", "ee21ea13a00cc5864d078dc8b52aad66840d7a2753e5f47eead609405fbc089c"),
        method("_run_training_loop", "6187d0a5ef6d04590766411397c6ea98a8417f842a4205730f19204dbdae63c0"),
    ),
    reason="A batch runs as one, and the next begins when it is done.",
    prevents="While one card computes, the other waits: two cards are no faster than one.",
    upstream_revision=REVISION,
    mixin=Microbatches,
)
