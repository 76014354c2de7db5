"""What the trainer process expects of an engine, and what it gives to it.

The trainer owns the process (protocol, signals, run state); an engine owns the mathematics. Between them stand
three things: the job, a way to report, and a way to be asked.

Before a run, an engine also says what it would run (`subjects`), so that memory and speed can be forecast. Nothing of
that may load torch until something is traced: a forecast that is known already is shown at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from diffusionforce.datasets import Dataset
from diffusionforce.engines.plans import RunPlan
from diffusionforce.engines.subjects import JobSubjects
from diffusionforce.job import Job
from diffusionforce.wire import Done, Message, Stopped

Report: TypeAlias = Callable[[Message], None]


@dataclass(frozen=True, kw_only=True)
class Lack:
    """What a run lacks and waits for, for people."""

    sentence: str
    hint: str


class Controls(Protocol):
    """Requests that arrived while the engine was busy; an engine looks between two steps.

    Each `take_` method answers whether the request was made since it was last asked.
    """

    @property
    def stop_requested(self) -> bool:
        """Whether the run should end after the current step, keeping what it has."""
        ...

    def take_save_request(self) -> bool:
        """Whether a checkpoint was asked for."""
        ...

    def take_sample_request(self) -> bool:
        """Whether a sample pass was asked for."""
        ...

    def take_prompts(self) -> tuple[str, ...] | None:
        """Other prompts for the samples to come, None if none were asked for. An engine may leave this unasked."""
        ...

    def wait_while(self, find_lack: Callable[[], Lack | None]) -> None:
        """Wait until nothing is lacking, somebody says to go on all the same, or the run is to stop.

        Args:
            find_lack: Returns what is lacking now, None if nothing is; asked every few seconds.
        """
        ...


class Output(Protocol):
    """Where an engine puts its files. All paths are inside the run folder."""

    @property
    def root(self) -> Path:
        """The run folder."""
        ...

    @property
    def samples_dir(self) -> Path:
        """Folder of the samples."""
        ...

    @property
    def checkpoints_dir(self) -> Path:
        """Folder of the LoRA files."""
        ...


@dataclass(frozen=True, kw_only=True)
class Datasets:
    """The pictures of a job with their captions, read and checked once, before anything is written."""

    training: Dataset
    held_out: Dataset | None
    """The pictures that measure the training; None if the job names none."""


class Engine(Protocol):
    """One way to train a LoRA."""

    def check(self, job: Job) -> None:
        """Refuse a job that cannot run, before anything is written.

        Raises:
            UserError: What is missing or wrong, all of it that can be known without loading the model.
        """
        ...

    def train(
        self,
        job: Job,
        *,
        datasets: Datasets,
        output: Output,
        report: Report,
        controls: Controls,
        plan: RunPlan | None = None,
    ) -> Done | Stopped:
        """Train, and return how it ended.

        Args:
            job: What to train, on what.
            datasets: Its pictures, checked.
            output: Where files go.
            report: Takes the records.
            controls: What the outside asks for.
            plan: Where blocks go and how much each card may hold. None: as the engine thinks best, without limits.

        Raises:
            CardMemoryError: Memory ran out; what can be saved has been.
            UserError: The run cannot go on; what was saved before stays.
        """
        ...


class Describe(Protocol):
    """Says what an engine would run: the function `subjects` in the engine's module of that name."""

    def __call__(self, job: Job, *, num_cards: int) -> JobSubjects:
        """Describe a job.

        Args:
            job: What would be trained, on what.
            num_cards: Graphics cards that it would run on; 0 where the processor does everything.

        Raises:
            UserError: The job cannot run, or the engine is not there.
        """
        ...
