"""What the hooks notice of a training, told as the records that the window and the command line read."""

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

import torch
from safetensors import safe_open

from diffusionforce.engines.autopsy import skipped_samples
from diffusionforce.engines.contract import Controls, Lack, Output, Report
from diffusionforce.engines.health import HealthWatch, broken_down
from diffusionforce.engines.musubi.families import Family
from diffusionforce.engines.musubi.headers import read_header
from diffusionforce.engines.musubi.rates import usual_rates
from diffusionforce.engines.musubi.staging import place_of
from diffusionforce.engines.plans import RunPlan
from diffusionforce.engines.pocket.devices import Meters
from diffusionforce.engines.pocket.microbatches import DeviceWork
from diffusionforce.engines.pocket.schedule import TimeLeft
from diffusionforce.engines.pressure import Pressure, free_card_bytes, moved_to_ram
from diffusionforce.errors import DivergedError, UserError
from diffusionforce.hooks.musubi.assignment import SampleReport, StepReport
from diffusionforce.job import Profile
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.portions import Portions
from diffusionforce.pipeline.schedule.simulation import Timeline
from diffusionforce.pipeline.shortage import Shortage
from diffusionforce.rig.shared_memory import watch_shared_memory
from diffusionforce.runs.keeping import Save, surplus
from diffusionforce.wire import Checkpoint, DevicePlacement, Placed, Preparing, Sample, Span, Step, Warn


class Teller:
    """The listener of a run.

    Args:
        placement: Where the blocks are.
        output: The run's folders; paths are told relative to them.
        report: Takes the records.
        controls: What the outside asks for.
        plan: The run's plan, if it has one.
        portions: How much of a step is on the devices at once.
        sample_steps: Steps after which samples are made.
        num_steps: Of the run.
        write_prompts: Writes prompts into the file that the engine reads, and returns it.
        profile: Says which LoRA files are kept, and what may have gone wrong.
        family: The model.
        begins_after: The last step that was taken before the run; 0 for one that goes on from nothing.
        files: Names of the user's files by the places that they are laid out at.
    """

    def __init__(
        self,
        placement: Placement,
        *,
        output: Output,
        report: Report,
        controls: Controls,
        plan: RunPlan | None,
        portions: Portions,
        sample_steps: frozenset[int],
        num_steps: int,
        write_prompts: Callable[[tuple[str, ...]], Path],
        profile: Profile,
        family: Family,
        begins_after: int = 0,
        files: Mapping[str, str] | None = None,
    ) -> None:
        self.step = begins_after
        """The last that was taken."""
        self.saved_step = 0
        self.saved_path = ""
        """The last LoRA file, relative to the run folder."""
        self._placement = placement
        self._output = output
        self._report = report
        self._controls = controls
        self._plan = plan
        self._num_steps = num_steps
        self._time_left = TimeLeft(num_steps=num_steps, sample_steps=sample_steps)
        self._write_prompts = write_prompts
        self._meters = Meters.of(placement.devices)
        self._pass_s = 0.0
        self._profile, self._family = profile, family
        self._files = files or {}
        self._health = HealthWatch()
        self._pressure = Pressure(plan=plan, controls=controls, report=report, portions=portions)
        self._memory = watch_shared_memory()
        self._saves_first = self._has_saved_first = False
        """Whether a save is to come, or has come, before the run waits for what the system moved to RAM."""
        self._kept: dict[int, Path] = {}

    @property
    def stop_requested(self) -> bool:
        """Whether the run should end after the current step."""
        return self._controls.stop_requested

    def take_save_request(self) -> bool:
        """Whether a checkpoint was asked for since the last call."""
        asked, self._saves_first = self._saves_first, False
        return self._controls.take_save_request() or asked

    def take_sample_request(self) -> bool:
        """Whether a sample pass was asked for since the last call."""
        return self._controls.take_sample_request()

    def take_prompts(self) -> Path | None:
        """A file of other prompts for the samples to come; None where none are wanted, or they have a mistake."""
        prompts = self._controls.take_prompts()
        if not prompts:
            return None
        try:
            path = self._write_prompts(prompts)
        except UserError as error:
            self._report(Warn(sentence=f"The prompts stay as they were. {error.sentence}", hint=error.hint))
            return None
        self._report(Preparing(stage="text", done=0, total=len(prompts), step=self.step))
        return path

    def on_prompts_refused(self, error: Exception) -> None:
        """Warn that samples are made of the prompts before."""
        hint = "The text encoder is read into RAM for them; the training goes on." if _is_shortage(error) else ""
        self._report(
            Warn(sentence=f"The prompts stay as they were: {type(error).__name__}: {str(error)[:200]}", hint=hint)
        )

    def makes_room(self, error: BaseException) -> bool:
        """Wait for memory that another program took; tells whether the step is to be taken again."""
        return self._pressure.makes_room(error, step=self.step + 1)

    def on_bad_number(
        self, what: Literal["loss", "gradient"], value: float, *, learning_rate: float, files: Sequence[str]
    ) -> NoReturn:
        """End the run, which keeps its last good state.

        Raises:
            DivergedError: Always.
        """
        raise broken_down(
            self._profile,
            what=f"the loss is {value}" if what == "loss" else f"its gradient is {value}",
            step=self.step + 1,
            rate=learning_rate,
            rates=usual_rates(self._profile, family=self._family),
            files=self._named(files),
        )

    def on_placed(self, transformer: Any, blocks: Sequence[Any]) -> None:
        """Tell what lies where."""
        self._meters.forget_peaks()  # Of what prepared pictures and captions.
        self._report(Preparing(stage="model", done=1, total=1))
        self._report(
            Placed(
                devices=tuple(_placed(transformer, blocks, self._placement)),
                num_blocks=len(blocks),
                schedule="interleaved" if len(self._placement.devices) > 1 else "single",
            )
        )

    def on_step(self, step: int, *, num_steps: int, report: StepReport) -> None:
        """Tell of a step."""
        self.step = step
        self._time_left.note_step(report.seconds)
        work = _work(report.timeline, self._placement.devices) if report.timeline is not None else {}
        self._report(
            Step(
                step=step,
                num_steps=num_steps,
                loss=report.loss,
                learning_rate=report.learning_rate,
                grad_norm=report.grad_norm,
                seconds=report.seconds,
                eta_s=self._time_left.after(step),
                devices=self._meters.read(work),
            )
        )
        norm = report.grad_norm if report.grad_norm is not None else math.nan
        files = self._named(report.files)
        for warning in self._health.note(step, loss=report.loss, grad_norm=norm, files=files):
            self._report(warning)
        self._pressure.note_step(step)
        self._watch_memory(report.locked_bytes)

    def _watch_memory(self, locked_bytes: int) -> None:
        """Take less of a step at once where the system moves the cards' memory, or save and wait after the next."""

        def lack() -> Lack | None:
            moved_bytes = self._memory.moved_bytes(locked_bytes=locked_bytes)
            is_over = moved_bytes == 0 or free_card_bytes() >= moved_bytes
            return None if is_over else moved_to_ram(moved_bytes, step=self.step)

        if lack() is None or self._pressure.takes_less(self.step):
            self._has_saved_first = False
        elif not self._has_saved_first:
            self._saves_first = self._has_saved_first = True
        else:
            self._controls.wait_while(lack)
            self._memory.begin_anew()
            self._has_saved_first = False

    def on_sample(self, step: int, *, report: SampleReport) -> None:
        """Tell of a sample."""
        self._pass_s = report.seconds + (self._pass_s if report.index else 0.0)
        self._time_left.note_pass(self._pass_s)
        self._report(Preparing(stage="samples", done=report.index + 1, total=report.num, step=step))
        self._report(
            Sample(
                step=step,
                prompt_index=report.index,
                num_prompts=report.num,
                prompt=report.prompt,
                seed=report.seed,
                path=self._inside(report.path),
                seconds=report.seconds,
            )
        )
        self._meters.forget_peaks()  # A step's peak is what steps hold.

    def on_samples_skipped(self, step: int, *, shortage: Shortage) -> None:
        """Warn that samples were left out."""
        self._report(skipped_samples(shortage, step=step, plan=self._plan, tries_again=False))

    def on_checkpoint(self, step: int, *, path: Path) -> None:
        """Tell of a LoRA file.

        Raises:
            DivergedError: It holds numbers that are none; it is removed again, and those before stay.
            WeightsError: It is cut short.
        """
        read_header(path)
        if not _is_finite(path):
            path.unlink(missing_ok=True)
            raise DivergedError(
                f"The training broke down by step {step}: weights of the LoRA are no numbers any more.",
                hint="Lower training.learning_rate and start again; what was saved before is still there.",
            )
        self.saved_step, self.saved_path = step, self._inside(path)
        self._report(Checkpoint(step=step, path=self.saved_path, size_bytes=path.stat().st_size))
        if step < self._num_steps:  # The last one has a name of its own, and makes no other one superfluous.
            self._keep(step, path)

    def _keep(self, step: int, path: Path) -> None:
        """Remove the LoRA files that no rule keeps, now that there is a whole new one."""
        self._kept[step] = path
        for old in surplus([Save(step=one) for one in self._kept], self._profile.checkpoints):
            with contextlib.suppress(OSError):  # A file too many spoils nothing.
                self._kept.pop(old).unlink(missing_ok=True)

    def _named(self, files: Sequence[str]) -> list[str]:
        """What the user calls pictures that prepared files were made of."""
        return [self._files.get(place_of(file), Path(file).name) for file in files]

    def _inside(self, path: Path) -> str:
        """The path relative to the run folder, with forward slashes."""
        return path.relative_to(self._output.root).as_posix()


def _is_finite(path: Path) -> bool:
    """Whether every number of a file is one."""
    with safe_open(path, framework="pt") as file:
        return all(bool(torch.isfinite(file.get_tensor(name)).all()) for name in file.keys())  # noqa: SIM118


def _is_shortage(error: Exception) -> bool:
    return isinstance(error, MemoryError) or "allocate" in str(error)


def _placed(transformer: Any, blocks: Sequence[Any], placement: Placement) -> list[DevicePlacement]:
    in_blocks = {id(tensor) for block in blocks for tensor in block.parameters()}
    ends_bytes = sum(_size_bytes(one) for one in transformer.parameters() if id(one) not in in_blocks)
    placed: list[DevicePlacement] = []
    for stage, device in enumerate(placement.devices):
        mine = placement.blocks_of_stage(stage)
        own_bytes = sum(_size_bytes(one) for index in mine for one in blocks[index].parameters())
        is_card = device.type == "cuda"
        placed.append(
            DevicePlacement(
                device=str(device),
                name=torch.cuda.get_device_name(device) if is_card else "Processor",
                blocks=mine,
                weights_bytes=own_bytes + (ends_bytes if stage == 0 else 0),
                memory_total_bytes=torch.cuda.get_device_properties(device).total_memory if is_card else None,
            )
        )
    return placed


def _size_bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _work(timeline: Timeline, devices: Sequence[torch.device]) -> Mapping[torch.device, DeviceWork]:
    work: dict[torch.device, DeviceWork] = {}
    for device in dict.fromkeys(devices):
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
