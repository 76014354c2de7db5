"""How much memory a model needs, from its own code, without a card.

Formulas for the memory of a training step are wrong for the next model: what is kept for the backward depends on every
line of its code, on checkpointing, on mixed precision, on LoRA's place and dropout. So the code itself runs, on
tensors that have shapes but no contents (`hollow`): forward, loss, backward, and the optimiser's step. A counter sees
each storage that comes and goes (`memory`), marks cut the run at the blocks' boundaries (`blocks`), and operations that
a card does in its own way are stood in for (`standins`). The result are numbers for each kind of block;
`ugpum.forecast` puts them together for a placement and a schedule.

The tensors claim to be on the CPU: a build of PyTorch without CUDA cannot run a backward on those of a card.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from diffusionforce.pipeline.nesting import list_tensors
from diffusionforce.pipeline.tracer.blocks import Marks, WatchedBlocks, storage_bytes
from diffusionforce.pipeline.tracer.hollow import HollowMode
from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.pipeline.tracer.numbers import BlockTrace, CallTrace, ModelTrace, OptimizerTrace, OuterTrace
from diffusionforce.pipeline.tracer.optimizer import state_bytes, trace_optimizer
from diffusionforce.pipeline.tracer.parts import made_of_nothing, make_hollow, part_of
from diffusionforce.pipeline.tracer.standins import CardKernels, autocast_for_cards

_CPU = torch.device("cpu")
_NOTHING = OptimizerTrace(fixed_bytes=0, share=0.0)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is traced: one model and how it is used."""

    make_model: Callable[[], nn.Module]
    """Makes the model, with LoRA, in training mode if it is to be trained. Called with the meta device as default."""
    blocks_of: Callable[[nn.Module], Sequence[nn.Module]]
    """The blocks in calling order."""
    make_batch: Callable[[torch.device], Any]
    """Makes one micro-batch on a device, nested in any way; its contents do not matter."""
    run: Callable[[nn.Module, Any], torch.Tensor]
    """Training: the loss of a micro-batch, a scalar. Sampling: one evaluation of the model."""
    make_optimizer: Callable[[list[nn.Parameter]], torch.optim.Optimizer] | None = None
    """Makes the optimiser that training uses."""
    recompute: bool = False
    """Checkpoint every block from outside, for models that do not do it themselves."""
    num_alike: Callable[[nn.Module], Sequence[int]] | None = None
    """For each block of a model that was made with fewer blocks than it has, how many it stands for; such a block comes
    after two like it. None where the model was made whole."""


def trace_training(subject: Subject) -> ModelTrace:
    """Trace forward, backward and optimiser step.

    Args:
        subject: The model and how it is used.
    """
    with _Run(subject) as run:
        run.micro_batch(backward=True)
        parameters = [p for p in run.watched_parameters() if p.grad is not None]
        optimizer = _NOTHING
        if subject.make_optimizer is not None and parameters:
            optimizer = trace_optimizer(subject.make_optimizer, parameters, run.counter)
        return run.result(optimizer)


def trace_sampling(subject: Subject) -> ModelTrace:
    """Trace one evaluation of the model without gradients.

    Args:
        subject: The model and how it is used.
    """
    with _Run(replace(subject, make_optimizer=None)) as run, torch.no_grad():
        run.micro_batch(backward=False)
        return run.result(_NOTHING)


def trace_call(
    make_module: Callable[[], nn.Module],
    make_inputs: Callable[[torch.device], Any],
    call: Callable[[nn.Module, Any], Any],
) -> CallTrace:
    """Trace a module that runs by itself without gradients, as text encoders and VAEs do.

    Args:
        make_module: Makes it; called with the meta device as default.
        make_inputs: Makes its inputs on a device.
        call: Runs it on the inputs.
    """
    with ExitStack() as stack:
        module = made_of_nothing(make_module)
        made = make_hollow(module, skipping=())
        counter, kernels = stack.enter_context(_counted()), CardKernels()
        stack.enter_context(torch.no_grad())
        own = list_tensors([*module.parameters(), *module.buffers()])
        inputs = make_inputs(_CPU)
        for tensor in [*made, *own, *list_tensors(inputs)]:
            counter.note(tensor)
        marks = Marks(counter, kernels)
        marks.mark("call")
        with kernels:
            result = call(module, inputs)
        marks.stop()
        return CallTrace(
            weights_bytes=storage_bytes(own),
            input_bytes=storage_bytes(list_tensors(inputs)),
            output_bytes=storage_bytes(list_tensors(result)),
            peak_bytes=marks.named("call").rise_bytes,
            flops=marks.named("call").flops,
        )


class _Run:
    """A model on fake tensors, its blocks watched."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._stack, self._kernels = ExitStack(), CardKernels()
        self._model = made_of_nothing(subject.make_model)
        self._blocks = list(subject.blocks_of(self._model))
        self._num_alike = [1] * len(self._blocks) if subject.num_alike is None else subject.num_alike(self._model)

    def __enter__(self) -> "_Run":
        with self._stack as stack:
            self.counter = stack.enter_context(_counted())
            self._marks = Marks(self.counter, self._kernels)
            self._watched = WatchedBlocks(self._blocks, self._marks, recompute=self._subject.recompute)
            self._running = [self._blocks[index] for index in self._watched.representatives]
            made = make_hollow(self._model, skipping=[block for block in self._blocks if block not in self._running])
            self._watched.install()
            self._batch = self._subject.make_batch(_CPU)
            for tensor in [*made, *self._model.parameters(), *self._model.buffers(), *list_tensors(self._batch)]:
                if tensor.device.type != "meta":
                    self.counter.note(tensor)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def micro_batch(self, *, backward: bool) -> None:
        """Run the model once."""
        self._marks.intervals.clear()
        self._watched.begin()
        self._marks.mark("prologue")
        with self._kernels:
            result = self._subject.run(self._model, self._batch)
            torch.clear_autocast_cache()
            if backward:
                self._watched.in_backward = True
                _backward(result)
        self._marks.stop()

    def watched_parameters(self) -> list[nn.Parameter]:
        """The trained parameters of the blocks that run, those of the last block first."""
        return [p for block in reversed(self._running) for p in block.parameters() if p.requires_grad]

    def result(self, optimizer: OptimizerTrace) -> ModelTrace:
        """Put the numbers together."""
        state = state_bytes(self._subject.make_optimizer, self.counter)
        prologue, tail = self._marks.named("prologue"), self._marks.named("tail")
        backward = {interval.name[1]: interval for interval in self._marks.intervals if interval.name[0] == "B"}
        kinds: list[BlockTrace] = []
        for index in self._watched.representatives:
            forward, back = self._marks.named("F", index), backward.get(index)
            kinds.append(
                BlockTrace(
                    part=part_of([self._blocks[index]], state),
                    output_bytes=self._watched.output_bytes[index],
                    kept_bytes=forward.after_bytes - forward.before_bytes,
                    forward_bytes=forward.rise_bytes,
                    backward_bytes=back.rise_bytes + self._held_again_bytes(index) if back else 0,
                    forward_flops=forward.flops,
                    backward_flops=back.flops if back else 0,
                    launches=forward.launches + (back.launches if back else 0),
                    forward_moved_bytes=forward.moved_bytes,
                    backward_moved_bytes=back.moved_bytes if back else 0,
                )
            )
        return ModelTrace(
            kinds=tuple(kinds),
            kind_of_block=tuple(
                kind for kind, num in zip(self._watched.kind_of_block, self._num_alike, strict=True) for _ in range(num)
            ),
            outer=OuterTrace(
                part=part_of([self._model], state, without=self._blocks),
                batch_bytes=storage_bytes(list_tensors(self._batch)),
                shared_bytes=self._watched.shared_bytes,
                prologue_kept_bytes=prologue.after_bytes - prologue.before_bytes,
                prologue_bytes=prologue.rise_bytes,
                tail_bytes=tail.rise_bytes,
                flops=prologue.flops + tail.flops,
            ),
            optimizer=optimizer,
        )

    def _held_again_bytes(self, index: int) -> int:
        """Checkpointing stops at the last tensor to keep; the pipeline goes on and holds the block's result too."""
        return self._watched.output_bytes[index] if self._subject.recompute else 0


def _backward(loss: torch.Tensor) -> None:
    """The public ways to begin a backward switch function modes off, and recomputing would run without stand-ins."""
    run: Callable[..., Any] = torch.autograd.graph._engine_run_backward
    run((loss,), (torch.ones_like(loss),), False, False, (), allow_unreachable=True, accumulate_grad=True)


@contextmanager
def _counted() -> Iterator[StorageCounter]:
    """Everything made here is hollow and counted, and autocast works as on a card."""
    hollow = HollowMode()
    counter = StorageCounter(run=hollow.run)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with autocast_for_cards(), hollow, counter:
            yield counter
    finally:
        if was_enabled:
            gc.enable()
