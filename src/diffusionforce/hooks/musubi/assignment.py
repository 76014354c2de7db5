"""What one run is to do with the engine: where the model goes, in which pieces it works, and who is told."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn, Protocol

import torch

from diffusionforce.hooks.musubi.tiles import Tiles
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.portions import Portions
from diffusionforce.pipeline.schedule.generators import Costs, Op, interleaved, turns
from diffusionforce.pipeline.schedule.simulation import Timeline
from diffusionforce.pipeline.shortage import Shortage
from diffusionforce.runs import CheckpointManifest


class Listener(Protocol):
    """Is told what happens in a run, and asked whether something else is wanted of it."""

    @property
    def stop_requested(self) -> bool:
        """Whether the run should end after the current step, keeping what it has."""
        ...

    def take_save_request(self) -> bool:
        """Whether a checkpoint was asked for since the last call."""
        ...

    def take_sample_request(self) -> bool:
        """Whether a sample pass was asked for since the last call."""
        ...

    def take_prompts(self) -> Path | None:
        """A file of other prompts for the samples to come, if they were asked for since the last call."""
        ...

    def on_prompts_refused(self, error: Exception) -> None:
        """The other prompts could not be read; samples are made of those before."""
        ...

    def makes_room(self, error: BaseException) -> bool:
        """Forward or backward failed; whether they are to be run again, now that there is room for them."""
        ...

    def on_bad_number(
        self, what: Literal["loss", "gradient"], value: float, *, learning_rate: float, files: Sequence[str]
    ) -> NoReturn:
        """A step came to what is no number, before it changed anything.

        Args:
            what: What is none.
            value: Infinite, or not a number.
            learning_rate: Of the step.
            files: Prepared files of its pictures; empty where nobody knows them.

        Raises:
            DivergedError: Always.
        """
        ...

    def on_placed(self, transformer: Any, blocks: Sequence[Any]) -> None:
        """The model is on its devices."""
        ...

    def on_step(self, step: int, *, num_steps: int, report: "StepReport") -> None:
        """An optimiser step was taken; steps count from 1."""
        ...

    def on_sample(self, step: int, *, report: "SampleReport") -> None:
        """A sample was written."""
        ...

    def on_samples_skipped(self, step: int, *, shortage: Shortage) -> None:
        """A pass of samples was given up for lack of memory; the training goes on."""
        ...

    def on_checkpoint(self, step: int, *, path: Path) -> None:
        """A LoRA file was written."""
        ...


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """What one optimiser step came to."""

    loss: float
    """Mean over its pictures."""
    learning_rate: float
    """That it was taken with."""
    grad_norm: float | None
    """Norm of all gradients together before clipping; None where nobody measured it."""
    seconds: float
    """From the end of the step before; without samples and saves in between."""
    timeline: Timeline | None
    """What each device did; None where nobody noted it."""
    locked_bytes: int = 0
    """RAM that is locked for blocks."""
    files: tuple[str, ...] = ()
    """Prepared files of its pictures; empty where nobody knows them."""


@dataclass(frozen=True, kw_only=True)
class SampleReport:
    """One sample."""

    index: int
    """Of its prompt."""
    num: int
    """Samples of the pass."""
    prompt: str
    seed: int
    path: Path
    seconds: float


def interleaved_order(placement: Placement, num_microbatches: int) -> Sequence[Op]:
    """Micro-batches beside each other, so that all devices work."""
    return interleaved(Costs.equal(placement.stage_of_chunk), num_microbatches=num_microbatches)


def turns_order(placement: Placement, num_microbatches: int) -> Sequence[Op]:
    """One micro-batch after the other, which holds the activations of one alone."""
    return turns(Costs.equal(placement.stage_of_chunk), num_microbatches=num_microbatches)


@dataclass(kw_only=True)
class Assignment:
    """Set on the trainer before it trains."""

    placement: Placement
    """On one device that holds all of it the model stays as the engine has it."""
    block_lists: tuple[str, ...]
    """Attributes of the transformer that hold its blocks, in calling order."""
    listener: Listener
    samples_dir: Path
    manifest: CheckpointManifest = field(
        default_factory=lambda: CheckpointManifest(engine="musubi", step=0, num_steps=0)
    )
    """What checkpoints say about themselves; the step is filled in."""
    portions: Portions = field(default_factory=Portions)
    """Into how many micro-batches each batch is cut, as far as it has pictures; may change from step to step."""
    order: Callable[[Placement, int], Sequence[Op]] = interleaved_order
    """The schedule for a number of micro-batches."""
    encoder_device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    """Where text encoders read the sample prompts."""
    decoder_device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    """Where the autoencoder turns samples into pictures."""
    decoder_tiles: Tiles | None = None
    """In which it works there; None: on the whole at once."""
    paged: frozenset[int] = frozenset()
    """Blocks that live in RAM and are brought in for their turn."""
    num_slots: tuple[int, ...] = ()
    """For each device the paged blocks that it can hold at a time; empty: a usual number."""
    num_aside: tuple[int, ...] = ()
    """For each device the blocks that step aside while samples are made; empty: none."""
    graphs: bool = False
    """Whether blocks that stay on their card are replayed from captured graphs."""
    contexts: Sequence[Callable[[], AbstractContextManager[Any]]] = ()
    """Further thread-local state of a micro-batch."""

    @property
    def device_of_block(self) -> tuple[torch.device, ...]:
        """Where each block's weights lie between its turns: the processor, for blocks that live in RAM."""
        in_ram, devices = torch.device("cpu"), self.placement.device_of_block
        return tuple(in_ram if index in self.paged else device for index, device in enumerate(devices))

    @property
    def is_placed(self) -> bool:
        """Whether we place the blocks and run them: on several devices, or on one that does not hold all of them."""
        return len(self.placement.devices) > 1 or bool(self.paged) or any(self.num_aside)

    def blocks_of(self, transformer: Any) -> list[Any]:
        """The transformer's blocks in calling order."""
        return [block for name in self.block_lists for block in getattr(transformer, name)]
