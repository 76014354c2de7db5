"""What a run leaves behind while it goes on: samples and LoRA files, each written whole or not at all."""

import contextlib
import io
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from PIL import Image

import diffusionforce
from diffusionforce.engines.contract import Output, Report
from diffusionforce.engines.pocket.dataset import encode_captions
from diffusionforce.engines.pocket.lora import Lora, LoraNotes
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.precision import Precision
from diffusionforce.engines.pocket.preparation import Materials
from diffusionforce.engines.pocket.progress import Progress
from diffusionforce.engines.pocket.sampler import SamplerSettings, sample_picture
from diffusionforce.engines.pocket.text import TextEncoder, TextFeatures
from diffusionforce.job import Job, write_whole
from diffusionforce.runs import manifest_of, remove_checkpoint, storage_error, write_checkpoint
from diffusionforce.runs.checkpoints import STATE_SUFFIX
from diffusionforce.runs.keeping import Save, surplus
from diffusionforce.wire import Checkpoint, Preparing, Sample


@dataclass(kw_only=True)
class SampleMaker:
    """Makes one sample of every prompt, with the same noise in every pass. At first the prompts are the profile's."""

    job: Job
    materials: Materials
    output: Output
    report: Report
    device: torch.device
    """Where the model's ends are."""
    precision: Precision
    prompts: tuple[str, ...] = field(init=False)
    _features: TextFeatures | None = field(init=False)

    def __post_init__(self) -> None:
        self.prompts = self.job.profile.samples.prompts
        self._features = self.materials.prompts

    def use_prompts(self, prompts: tuple[str, ...], encoder: TextEncoder) -> None:
        """Make samples of other prompts from now on."""
        self.prompts = prompts
        self._features = encode_captions(encoder, prompts) if prompts else None

    def make(self, transformer: PocketTransformer, *, step: int, interrupt: Callable[[], None]) -> None:
        """Make, write and report the samples of a step.

        Args:
            transformer: The model with its LoRA; it is in training mode again afterwards if it was before.
            step: Step that the samples are named after.
            interrupt: Called often; may raise to leave.

        Raises:
            UserError: A file could not be written.
        """
        was_training = transformer.training
        transformer.eval()
        try:
            for index in range(len(self.prompts)):
                self._make_one(transformer, index, step, interrupt)
        finally:
            transformer.train(was_training)

    def _make_one(self, transformer: PocketTransformer, index: int, step: int, interrupt: Callable[[], None]) -> None:
        settings = self.job.profile.samples
        assert self._features is not None
        seed, start_s = settings.seed + index, time.perf_counter()
        picture = sample_picture(
            transformer,
            self._features.pick([index]),
            self.materials.empty_prompt,
            seed=seed,
            settings=SamplerSettings(
                num_steps=settings.num_steps,
                guidance=settings.guidance,
                width_px=settings.width,
                height_px=settings.height,
            ),
            device=self.device,
            precision=self.precision,
            on_step=lambda done, total: interrupt(),
        )
        path = self.output.samples_dir / f"step_{step:06d}_prompt_{index:02d}.png"
        _write_png(path, picture)
        num_prompts = len(self.prompts)
        self.report(Preparing(stage="samples", done=index + 1, total=num_prompts, step=step))
        self.report(
            Sample(
                step=step,
                prompt_index=index,
                num_prompts=num_prompts,
                prompt=self.prompts[index],
                seed=seed,
                path=_inside(path, self.output),
                seconds=time.perf_counter() - start_s,
            )
        )


class CheckpointKeeper:
    """Saves the LoRA now and then, with all that is needed to go on, and keeps the saves that the profile wants kept.

    Args:
        job: Named in the files; its profile says what is kept.
        output: Where the files go.
        report: Told of every file.
    """

    def __init__(self, job: Job, *, output: Output, report: Report) -> None:
        self._job = job
        self._output = output
        self._report = report
        self._saves: list[Save] = []

    def save(self, lora: Lora, progress: Progress, *, is_final: bool = False) -> str:
        """Write a checkpoint and a LoRA file, and then remove the saves that no rule keeps.

        Args:
            lora: What to save.
            progress: How far the run has come.
            is_final: The last LoRA file has no step in its name, and makes no other one superfluous.

        Returns:
            The LoRA file's path relative to the run folder.

        Raises:
            UserError: A file could not be written; the older ones are still there.
        """
        step, held_out = progress.step, progress.notes.held_out
        held_out_loss = held_out[-1].loss if held_out and held_out[-1].step == step else None
        manifest = manifest_of(self._job, step=step, held_out_loss=held_out_loss)
        write_checkpoint(self._state_path(step), manifest, progress.files())
        path = self._lora_path(step)
        if is_final:
            path = path.with_name(f"{file_stem(self._job)}.safetensors")
        size_bytes = lora.save(path, self._notes(step))
        relative = _inside(path, self._output)
        self._report(Checkpoint(step=step, path=relative, size_bytes=size_bytes))
        if not is_final:
            self._keep(Save(step=step, held_out_loss=held_out_loss))
        return relative

    def _keep(self, new: Save) -> None:
        saves = [save for save in self._saves if save.step != new.step] + [new]
        removed = surplus(saves, self._job.profile.checkpoints)
        for step in removed:
            with contextlib.suppress(OSError):  # A file too many spoils nothing.
                self._lora_path(step).unlink(missing_ok=True)
            remove_checkpoint(self._state_path(step))
        self._saves = [save for save in saves if save.step not in removed]

    def _lora_path(self, step: int) -> Path:
        return self._output.checkpoints_dir / f"{file_stem(self._job)}_step_{step:06d}.safetensors"

    def _state_path(self, step: int) -> Path:
        return self._output.checkpoints_dir / f"{file_stem(self._job)}_step_{step:06d}{STATE_SUFFIX}"

    def _notes(self, step: int) -> LoraNotes:
        return LoraNotes(
            trigger=self._job.profile.dataset.trigger,
            step=step,
            profile_name=self._job.profile_name,
            dataset=self._job.dataset_dir.name,
            product_version=diffusionforce.__version__,
        )


def file_stem(job: Job) -> str:
    """A file name for the run's LoRA: its trigger word, or else its dataset, in plain letters."""
    name = job.profile.dataset.trigger or job.dataset_dir.name
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "lora"


def _write_png(path: Path, picture: Image.Image) -> None:
    content = io.BytesIO()
    picture.save(content, format="PNG")
    try:
        write_whole(path, content.getvalue())
    except OSError as error:
        raise storage_error(error, path) from error


def _inside(path: Path, output: Output) -> str:
    """The path relative to the run folder, with forward slashes."""
    return path.relative_to(output.root).as_posix()
