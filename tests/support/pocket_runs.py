"""Whole runs of the pocket engine, small enough for a test: 64 pixels, a few steps, the shipped weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.jobs import small_job

from diffusionforce.datasets import read_folder
from diffusionforce.engines.contract import Datasets, Lack
from diffusionforce.engines.plans import RunPlan
from diffusionforce.engines.pocket.training import PocketEngine
from diffusionforce.job import Job
from diffusionforce.runs import RunFolder
from diffusionforce.wire import Done, Message, Step, Stopped


class FakeControls:
    """Requests that a test makes at will."""

    def __init__(self) -> None:
        self.stop_requested = False
        self.save_asked = False
        self.sample_asked = False
        self.prompts: tuple[str, ...] | None = None
        self.lacks: list[Lack | None] = []
        self.stops_waiting = False

    def take_save_request(self) -> bool:
        asked, self.save_asked = self.save_asked, False
        return asked

    def take_sample_request(self) -> bool:
        asked, self.sample_asked = self.sample_asked, False
        return asked

    def take_prompts(self) -> tuple[str, ...] | None:
        prompts, self.prompts = self.prompts, None
        return prompts

    def wait_while(self, find_lack: Callable[[], Lack | None]) -> None:
        self.lacks.append(find_lack())
        self.stop_requested = self.stops_waiting


class Run:
    """One run and what it reported.

    Args:
        react: Called with every message, before the run goes on.
        plan: Where blocks go.
        begin: Whether to train at once.
    """

    def __init__(
        self,
        job: Job,
        react: Callable[[Message, FakeControls], None] | None = None,
        *,
        plan: RunPlan | None = None,
        begin: bool = True,
    ) -> None:
        self.folder = RunFolder.create(job.run_dir, job)
        self.messages: list[Message] = []
        self.controls = controls = FakeControls()

        def report(message: Message) -> None:
            self.messages.append(message)
            if react:
                react(message, controls)

        def train() -> Done | Stopped:
            engine = PocketEngine()
            engine.check(job)
            datasets = Datasets(
                training=read_folder(job.dataset_dir),
                held_out=read_folder(job.held_out_dir) if job.held_out_dir is not None else None,
            )
            return engine.train(job, datasets=datasets, output=self.folder, report=report, controls=controls, plan=plan)

        self.train = train
        if begin:
            self.end = train()

    def of_kind(self, kind: type) -> list:
        return [message for message in self.messages if isinstance(message, kind)]

    @property
    def losses(self) -> list[float]:
        return [step.loss for step in self.of_kind(Step)]


def tiny_job(folder: Path, **changes: Any) -> Job:
    folder.mkdir(exist_ok=True)
    small: dict[str, Any] = {"dataset__width": 64, "dataset__height": 64}
    small |= {"samples__width": 64, "samples__height": 64, "samples__num_steps": 2}
    return small_job(folder, **(small | changes))
