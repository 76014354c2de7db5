"""2: a batch on one device that runs out of memory is taken again, whole or in smaller pieces.

The trainer runs the backward pass itself, after `process_batch`. Here it happens inside, so that it can fail and be
taken again as well: random numbers are put back to where they were, gradients are dropped, and the batches of the step
that were in them run once more. The trainer is given the loss as a leaf, whose backward pass changes nothing. As long
as nothing fails, all of it is what the trainer does.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch

from diffusionforce.hooks.musubi.drawn import DrawnBatch
from diffusionforce.hooks.musubi.numbers import EveryNumber
from diffusionforce.hooks.musubi.requests import StopAsked
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam

_Batch: TypeAlias = tuple[EveryNumber, tuple[Any, ...], dict[str, Any]]
"""What `process_batch` was given, and the random numbers before it."""


class StepAgain(EngineTrainer):
    """Runs forward and backward of a batch, again where another program had taken the memory for it."""

    def __init__(self) -> None:
        super().__init__()
        self._of_step: list[_Batch] = []
        """The batches of this step."""

    def process_batch(
        self, args: Any, accelerator: Any, transformer: Any, network: Any, *rest: Any, **named: Any
    ) -> tuple[Any, dict[str, float]]:
        """Run a batch forward and backward.

        Raises:
            StopAsked: The run is to stop, and waits for memory.
        """
        home = self.assignment.placement.devices
        self._of_step.append((EveryNumber.now(home), rest, named))
        batches, is_again = self._of_step[-1:], False
        while True:
            try:
                result = self._run(batches, args, accelerator, transformer, network, is_again=is_again)
                break
            except (RuntimeError, MemoryError) as error:
                if not self.assignment.listener.makes_room(error):
                    raise
            if self.assignment.listener.stop_requested:
                raise StopAsked
            for parameter in network.parameters():
                parameter.grad = None
            batches, is_again = self._of_step, True
        if accelerator.sync_gradients:
            self._of_step = []
        return result

    def _run(
        self,
        batches: Sequence[_Batch],
        args: Any,
        accelerator: Any,
        transformer: Any,
        network: Any,
        *,
        is_again: bool,
    ) -> tuple[Any, dict[str, float]]:
        """Run batches forward and backward, each with its random numbers; gives what the last one came to."""
        result: tuple[Any, dict[str, float]] = (None, {})
        for numbers, given, named in batches:
            if is_again:
                numbers.restore()
            if self.assignment.portions.num_pieces > 1:
                batch, losses = DrawnBatch.draw(self, args, accelerator, transformer, *given, **named), list[Any]()
                for rows, share in batch.cuts(self.assignment.portions.num_pieces):
                    loss = batch.loss_of(rows)[0] * share
                    accelerator.backward(loss)
                    losses.append(loss.detach())
                result = _leaf(torch.stack(losses).sum()), {}
                continue
            loss, metrics = super().process_batch(args, accelerator, transformer, network, *given, **named)
            accelerator.backward(loss)
            result = _leaf(loss), metrics
        return result


def _leaf(loss: torch.Tensor) -> torch.Tensor:
    """A loss whose backward pass changes nothing."""
    return loss.detach().clone().requires_grad_()


HOOK = Seam(
    number=2,
    name="step-again",
    overrides=(
        method("process_batch", "ee21ea13a00cc5864d078dc8b52aad66840d7a2753e5f47eead609405fbc089c"),
        method("_run_training_loop", "6187d0a5ef6d04590766411397c6ea98a8417f842a4205730f19204dbdae63c0"),
    ),
    reason="A step that runs out of memory ends the run.",
    prevents="A game that is started during the night ends a training that would fit in smaller pieces, or later.",
    upstream_revision=REVISION,
    mixin=StepAgain,
)
