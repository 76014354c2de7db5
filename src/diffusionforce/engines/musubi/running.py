"""One run of the engine: files found, pictures and captions prepared, options written, trained."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from diffusionforce.datasets import Dataset
from diffusionforce.engines.contract import Controls, Output, Report
from diffusionforce.engines.musubi.access import open_engine
from diffusionforce.engines.musubi.arguments import EngineArguments, MemoryUse, Places, training_arguments
from diffusionforce.engines.musubi.names import lora_name
from diffusionforce.engines.musubi.preparation import Preparation
from diffusionforce.engines.musubi.readiness import Ready, require_ready
from diffusionforce.engines.musubi.sample_prompts import prompts_file
from diffusionforce.engines.musubi.training import Training, chain_of
from diffusionforce.engines.plans import RunPlan
from diffusionforce.engines.pocket.devices import choose_devices
from diffusionforce.errors import EngineError
from diffusionforce.hooks.musubi.notes import read_notes
from diffusionforce.hooks.musubi.plain_states import require_plain
from diffusionforce.job import Job, write_whole
from diffusionforce.wire import Done, Message, Stopped, Warn

PROMPTS = "prompts.json"


class _StopAsked(Exception):  # noqa: N818 - a request, not an error
    """Somebody asked the run to stop before it trained."""


@dataclass(frozen=True, kw_only=True)
class MusubiRun:
    """A job that is carried out.

    Attributes:
        job: The job.
        dataset: Its pictures.
        output: The run's folders.
        report: Takes the records.
        controls: What the outside asks for.
        plan: Where blocks go and how much each card may hold; None spreads them evenly over all cards.
    """

    job: Job
    dataset: Dataset
    output: Output
    report: Report
    controls: Controls
    plan: RunPlan | None

    def to_the_end(self) -> Done | Stopped:
        """Run everything.

        Raises:
            UserError: The run cannot go on; what was saved before stays.
        """
        ready = require_ready(self.job)
        open_engine()
        if self.job.resume is not None:  # Before the preparation, which takes minutes.
            require_plain(self.job.resume)
            read_notes(self.job.resume)
        try:
            devices = self._devices(ready)
            arguments, files = self._arguments(ready, devices)
        except _StopAsked:
            return Stopped(step=0)
        training = Training(
            job=self.job,
            family=ready.family,
            arguments=arguments,
            output=self.output,
            report=self.report,
            controls=self.controls,
            devices=devices,
            plan=self.plan,
            files=files,
        )
        return training.run()

    def _devices(self, ready: Ready) -> tuple[torch.device, ...]:
        if self.plan is not None:
            return tuple(torch.device(one.device) for one in self.plan.devices)
        num_blocks = sum(blocks.count for blocks in chain_of(ready.family))
        devices = choose_devices(self.job.profile.devices.use, num_blocks=num_blocks)
        if devices[0].type != "cuda":
            raise EngineError(
                f"{ready.family.title} cannot be trained without a graphics card.",
                hint="On the processor, train the profile pocket-demo.",
            )
        return devices

    def _arguments(self, ready: Ready, devices: tuple[torch.device, ...]) -> tuple[EngineArguments, Mapping[str, str]]:
        """Prepare what is trained on, and write the options down; gives the names of what was prepared, too."""
        prepared = Preparation(
            ready=ready,
            dataset=self.dataset,
            profile=self.job.profile,
            picture_device=self._device_of("pictures") or str(devices[0]),
            caption_device=self._device_of("captions") or str(devices[-1]),
            announce=self._announce,
        ).run()
        prompts = None
        if self.job.profile.samples.prompts:
            prompts = self.output.root / PROMPTS
            told = prompts_file(self.job.profile, family=ready.family, dataset_dir=self.job.dataset_dir)
            write_whole(prompts, told)
        arguments = training_arguments(
            self.job.profile,
            family=ready.family,
            files=ready.files,
            places=Places(
                dataset_config=prepared.config,
                output_dir=self.output.checkpoints_dir,
                output_name=lora_name(self.job),
                sample_prompts=prompts,
                resume=self.job.resume,
            ),
            memory=memory_use(self.plan, num_devices=len(devices)),
            file_precision=ready.file_precision,
        )
        if prompts is not None:
            self._tell_what_is_left_out(ready, arguments)
        return arguments, prepared.files

    def _tell_what_is_left_out(self, ready: Ready, arguments: EngineArguments) -> None:
        """Warn of files that are here and that samples are made without."""
        for file in ready.family.files:
            if file.role in ready.files and "samples" in file.uses and file.role not in arguments.values:
                self.report(
                    Warn(
                        sentence=f"Samples are made with the model that is trained, without its {file.title}: that "
                        "takes a card on which all of the model is.",
                        hint="The LoRA is the same; look at it with the other model afterwards.",
                    )
                )

    def _device_of(self, call: str) -> str:
        """Where the forecast found room; empty without one."""
        return self.plan.device_of_call.get(call, "") if self.plan is not None else ""

    def _announce(self, message: Message) -> None:
        """Report something that happens before the first step; a good moment to stop."""
        self.report(message)
        if self.controls.stop_requested:
            raise _StopAsked


def memory_use(plan: RunPlan | None, *, num_devices: int) -> MemoryUse:
    """How weights are held.

    Args:
        plan: The run's plan, if it has one.
        num_devices: Cards that it runs on.
    """
    if plan is None:
        return MemoryUse(is_whole=num_devices == 1)
    stays = not plan.paged and not any(one.num_aside for one in plan.devices)
    return MemoryUse(eight_bit=plan.weights == "fp8", is_whole=num_devices == 1 and stays)
