"""13: what happens in a run is told as it happens, not read from what the trainer prints."""

import contextlib
import math
import shutil
import time
from pathlib import Path
from typing import Any, Literal, NoReturn

import torch

from diffusionforce.hooks.musubi.assignment import SampleReport, StepReport
from diffusionforce.hooks.musubi.batch_names import FILES
from diffusionforce.hooks.musubi.microbatches import STEP_LOSS
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.aside import SampleRoom
from diffusionforce.pipeline.schedule.simulation import Timeline

_NETWORK, _BATCH = 1, 2
"""Where they are among the arguments of `process_batch` after the first two."""
_MAKING = ".making"
"""Folder in the samples' folder for what is being written."""


class Events(EngineTrainer):
    """Tells the listener of steps, samples and checkpoints."""

    def __init__(self) -> None:
        super().__init__()
        self._losses: list[float] = []
        self._files: list[str] = []
        """Of the pictures of this step."""
        self._step_loss: float | None = None
        self._grad_norm: float | None = None
        self._learning_rate = 0.0
        self._optimizer: Any = None
        self._mark_s = 0.0
        self._num_in_pass = 0

    def on_train_start(self, args: Any, accelerator: Any, network: Any, transformer: Any, optimizer: Any) -> None:
        """Note what later events need."""
        super().on_train_start(args, accelerator, network, transformer, optimizer)
        self._optimizer = optimizer
        if not self.assignment.is_placed:  # Hook 6 tells it of blocks that we place.
            self.assignment.listener.on_placed(transformer, self.assignment.blocks_of(transformer))
        clip = accelerator.clip_grad_norm_

        def clip_and_note(*clip_args: Any, **clip_kwargs: Any) -> Any:
            norm = clip(*clip_args, **clip_kwargs)
            self._take_in_norm(norm, args, accelerator)
            return norm

        accelerator.clip_grad_norm_ = clip_and_note
        self._mark_s = time.perf_counter()

    def process_batch(self, args: Any, accelerator: Any, *rest: Any, **named: Any) -> tuple[Any, dict[str, float]]:
        """Run it, and note its loss and the rate that the step will be taken with.

        Raises:
            DivergedError: The loss is no number, or a gradient that nobody clips. The LoRA is still as the step before
                left it.
        """
        # The scheduler moves on before the trainer says that a step was taken.
        self._learning_rate = float(self._optimizer.param_groups[0]["lr"])
        self._files += rest[_BATCH].get(FILES, ())
        loss, metrics = super().process_batch(args, accelerator, *rest, **named)
        value = loss.detach().item()
        if not math.isfinite(value):
            self._refuse("loss", value)
        self._losses.append(value)
        self._step_loss = metrics.get(STEP_LOSS)
        if args.max_grad_norm == 0 and accelerator.sync_gradients and accelerator.scaler is None:
            # Whoever ran the batch ran its backward pass as well: hook 2 or 7.
            given = accelerator.unwrap_model(rest[_NETWORK]).get_trainable_params()
            gradients = [parameter.grad for parameter in given if parameter.grad is not None]
            self._take_in_norm(torch.nn.utils.get_total_norm(gradients), args, accelerator)
        return loss, metrics

    def _take_in_norm(self, norm: Any, args: Any, accelerator: Any) -> None:
        """Note the norm of a step's gradients.

        Raises:
            DivergedError: It is no number, and no gradient scaler is there, which looks by itself and passes over such
                a step. What was finished is saved.
        """
        self._grad_norm = norm
        if accelerator.scaler is None and not math.isfinite(norm):
            self.keep_finished(args, accelerator)
            self._refuse("gradient", float(norm))

    def _refuse(self, what: Literal["loss", "gradient"], value: float) -> NoReturn:
        """End the run by a bad number.

        Raises:
            DivergedError: Always.
        """
        self.assignment.listener.on_bad_number(what, value, learning_rate=self._learning_rate, files=tuple(self._files))

    def on_post_optimizer_step(
        self, args: Any, accelerator: Any, network: Any, transformer: Any, sync_gradients: bool, global_step: int
    ) -> None:
        """Tell of a step."""
        super().on_post_optimizer_step(args, accelerator, network, transformer, sync_gradients, global_step)
        if not sync_gradients:
            return
        loss = self._step_loss if self._step_loss is not None else sum(self._losses) / len(self._losses)
        norm = float(self._grad_norm) if self._grad_norm is not None else None
        now_s = time.perf_counter()
        report = StepReport(
            loss=loss,
            learning_rate=self._learning_rate,
            grad_norm=norm,
            seconds=now_s - self._mark_s,
            timeline=self.timeline(),
            locked_bytes=self.locked_bytes(),
            files=tuple(self._files),
        )
        self._losses.clear()
        self._files.clear()
        self._mark_s = now_s
        self.assignment.listener.on_step(global_step + 1, num_steps=args.max_train_steps, report=report)

    def locked_bytes(self) -> int:
        """RAM that is locked for blocks; the hook that wraps them knows."""
        room: SampleRoom | None = getattr(self, "room", None)
        return room.locked_bytes if room is not None else 0

    def timeline(self) -> Timeline | None:
        """What each device did in the last step; hook 7 knows."""
        inner = getattr(super(), "timeline", None)
        return inner() if inner is not None else None

    def sample_images(
        self,
        accelerator: Any,
        args: Any,
        epoch: int | None,
        steps: int,
        vae: Any,
        transformer: Any,
        sample_parameters: Any,
        dit_dtype: Any,
    ) -> None:
        """Make a pass of samples; it is no part of a step's time."""
        self._num_in_pass = len(sample_parameters or ())
        super().sample_images(accelerator, args, epoch, steps, vae, transformer, sample_parameters, dit_dtype)
        self._mark_s = time.perf_counter()
        with contextlib.suppress(OSError):  # The trainer made it.
            Path(args.output_dir, "sample").rmdir()

    def sample_image_inference(
        self,
        accelerator: Any,
        args: Any,
        transformer: Any,
        dit_dtype: Any,
        vae: Any,
        save_dir: str,
        sample_parameter: dict[str, Any],
        epoch: int | None,
        steps: int,
    ) -> None:
        """Make one sample, in a folder of its own, and give it its name when it is whole."""
        start_s = time.perf_counter()
        folder = self.assignment.samples_dir / _MAKING
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        super().sample_image_inference(
            accelerator, args, transformer, dit_dtype, vae, str(folder), sample_parameter, epoch, steps
        )
        index = int(sample_parameter.get("enum", 0))
        for path in _named(sorted(folder.rglob("*.*")), self.assignment.samples_dir, step=steps, index=index):
            report = SampleReport(
                index=index,
                num=self._num_in_pass,
                prompt=str(sample_parameter.get("prompt", "")),
                seed=int(sample_parameter.get("seed") or 0),
                path=path,
                seconds=time.perf_counter() - start_s,
            )
            self.assignment.listener.on_sample(steps, report=report)
        shutil.rmtree(folder, ignore_errors=True)

    def on_post_save(
        self,
        args: Any,
        accelerator: Any,
        network: Any,
        transformer: Any,
        ckpt_name: str,
        save_dtype: Any,
        metadata: Any,
        force_sync_upload: bool,
    ) -> None:
        """Tell of a LoRA file; writing it is no part of a step's time."""
        super().on_post_save(
            args, accelerator, network, transformer, ckpt_name, save_dtype, metadata, force_sync_upload
        )
        path, self.saved_step = Path(args.output_dir) / ckpt_name, int(metadata.get("ss_steps", 0))
        self.assignment.listener.on_checkpoint(self.saved_step, path=path)
        self._mark_s = time.perf_counter()


def _named(made: list[Path], folder: Path, *, step: int, index: int) -> list[Path]:
    """Move what was made to its place, and give the new paths."""
    named: list[Path] = []
    for number, path in enumerate(made):
        layer = f"_layer_{number:02d}" if len(made) > 1 else ""
        target = folder / f"step_{step:06d}_prompt_{index:02d}{layer}{path.suffix}"
        path.replace(target)
        named.append(target)
    return named


HOOK = Seam(
    number=13,
    name="events",
    overrides=(
        method("on_train_start", "e582ace608b6429a8e52689f767056cf389bb225fb3bcfc9e564c69034320876"),
        method("process_batch", "ee21ea13a00cc5864d078dc8b52aad66840d7a2753e5f47eead609405fbc089c"),
        method("on_post_optimizer_step", "90e8d995bb685d2b1a26656456fc878df73dffc3625238a0e4c8557c40d4580e"),
        method("sample_images", "8e1311aeec4ef72b930419c510180ef2ab1891216d21cc6d78110bab4a43021c"),
        method("sample_image_inference", "f34e16fa25d41dd05bc74a29547c88d39187af9397e38cd2aea5181e2863d35a"),
        method("on_post_save", "9c195f57b0ffa7eb109d35d594a6b1f1edc8d21a5a060b8ad8f7ea1345f409b2"),
    ),
    reason="Progress is for people: a bar on the console.",
    prevents="A window would have to read numbers from text that changes with every version.",
    upstream_revision=REVISION,
    mixin=Events,
)
