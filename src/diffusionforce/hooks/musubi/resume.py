"""16: a run that goes on where another stopped has its steps, epochs, pictures and random numbers.

The trainer restores the LoRA and the optimiser, and then counts from 0: files get the names of others, samples and
saves come at other steps, and as many steps as ever follow. Its counters are local variables of one long function.

So the steps that were done are gone through once more without doing anything: the loop is given empty batches, whose
loss is the one that was noted, and an optimiser that does nothing. That takes about a millisecond a step, and after it
every counter, name and average is what it was. What is needed for it is noted beside each saved state. The trainer
writes a state file by file into its place; here it gets that place in one move, when all of it has been read back.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from diffusionforce.errors import RunFolderError
from diffusionforce.hooks.musubi.notes import HostNumbers, RunNotes, read_notes, write_notes
from diffusionforce.hooks.musubi.numbers import EveryNumber
from diffusionforce.hooks.musubi.plain_states import require_plain
from diffusionforce.hooks.musubi.replay import ReplayedLoader, Silenced
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.recompute.random_numbers import RandomNumbers
from diffusionforce.pipeline.shortage import shortage_of
from diffusionforce.runs import new_checkpoint

_QUIET: dict[str, Any] = {
    "save_every_n_steps": None,
    "save_every_n_epochs": None,
    "sample_every_n_steps": None,
    "sample_every_n_epochs": None,
    "sample_at_first": False,
    "max_grad_norm": 0.0,
}
"""Options of the trainer while it goes through what was done. Nothing is clipped, because a gradient scaler takes it
ill if that is not followed by a step."""
_OPTIONS, _ACCELERATOR, _LOADER, _OPTIMIZER, _SCHEDULER = 0, 1, 5, 10, 15
"""Where the arguments of `_run_training_loop` are."""

_BATCH = 2
"""Where the batch is among the arguments of `process_batch` after the first two."""


class Resume(EngineTrainer):
    """Notes what a saved state lacks, and goes through what was done."""

    def __init__(self) -> None:
        super().__init__()
        self._item_losses: list[float] = []
        """Of every batch since the run began."""
        self._num_batches = 0
        """Of an epoch."""
        self._accumulation = 1
        """Batches of a step."""
        self._epoch_start = HostNumbers.now()
        """At the start of the epoch: the order of its pictures comes from them."""
        self._finished_step = self._finished_batches = 0
        self._finished_numbers: EveryNumber | None = None
        """Of the end of the last finished step, as are its batches; None before the first."""
        self._going_on: RunNotes | None = None
        """Of the state that this run goes on from; None when everything of it was gone through."""

    def _register_hooks_and_resume(self, args: Any, accelerator: Any, network: Any) -> None:
        """Load the state, and the notes beside it.

        Raises:
            RunFolderError: It is damaged, holds more than numbers, or is of another LoRA.
        """
        if args.resume:
            require_plain(Path(args.resume))
            self._going_on = read_notes(Path(args.resume))
        try:
            super()._register_hooks_and_resume(args, accelerator, network)
        except (RuntimeError, ValueError, KeyError, SafetensorError) as error:
            if shortage_of(error) is not None:
                raise
            raise _of_another_lora(args.resume, error) from error
        accelerator.register_save_state_pre_hook(self._note)
        accelerator.save_state = self._whole(accelerator.save_state)

    def _run_training_loop(self, *args: Any) -> None:
        """Train, having gone through what was done.

        Raises:
            RunFolderError: The state is of a run with another dataset.
        """
        given, options, loader = list(args), args[_OPTIONS], args[_LOADER]
        self._num_batches, self._accumulation = len(loader), options.gradient_accumulation_steps
        if self._going_on is None:
            given[_LOADER] = ReplayedLoader(loader, num_done=0, on_epoch=self._begin_epoch, on_first_real=lambda: None)
            super()._run_training_loop(*given)
            return
        _require_same(self._going_on, num_batches=self._num_batches, accumulation=self._accumulation)
        self._item_losses = list(self._going_on.item_losses)
        usual = {name: getattr(options, name) for name in _QUIET}
        _set(options, _QUIET)
        given[_ACCELERATOR].step = 0  # Counts the batches of a step; it was restored to what it is after all of them.
        cards = RandomNumbers(self.assignment.placement.devices)
        numbers, states = HostNumbers.now(), cards.read()

        def begin() -> None:
            """The first batch that was not done: from here on everything is as it was."""
            _set(options, usual)
            cards.write(states)
            numbers.restore()
            self._going_on = None
            self._note_finished(self._finished_step)
            self.saved_step = self._finished_step

        given[_LOADER] = ReplayedLoader(
            loader, num_done=len(self._item_losses), on_epoch=self._begin_epoch, on_first_real=begin
        )
        for index in (_OPTIMIZER, _SCHEDULER):
            given[index] = Silenced(given[index], is_silent=self._is_replaying)
        super()._run_training_loop(*given)

    def process_batch(self, args: Any, accelerator: Any, *rest: Any, **named: Any) -> tuple[Any, dict[str, float]]:
        """Run the batch, or give the loss that it had."""
        if self._is_replaying():
            batch: dict[str, Any] = rest[_BATCH]
            loss = self._item_losses[int(batch["number"])]
            return torch.tensor(loss, device=accelerator.device, requires_grad=True), {}
        loss, metrics = super().process_batch(args, accelerator, *rest, **named)
        self._item_losses.append(loss.detach().item())
        return loss, metrics

    def scale_shift_latents(self, latents: Any) -> Any:
        """Scale them; those of an empty batch have no channels to scale by."""
        return latents if self._is_replaying() else super().scale_shift_latents(latents)

    def on_post_optimizer_step(
        self, args: Any, accelerator: Any, network: Any, transformer: Any, sync_gradients: bool, global_step: int
    ) -> None:
        """Pass it on, unless no step was taken."""
        if sync_gradients:
            self._note_finished(global_step + 1)
        if not self._is_replaying():
            super().on_post_optimizer_step(args, accelerator, network, transformer, sync_gradients, global_step)

    def return_to_finished(self) -> int:
        """Put random numbers and losses back to the end of the last finished step; gives its number."""
        if self._finished_numbers is not None:
            self._finished_numbers.restore()
        return self._finished_step

    def _note_finished(self, step: int) -> None:
        self._finished_step, self._finished_batches = step, len(self._item_losses)
        self._finished_numbers = EveryNumber.now(self.assignment.placement.devices)

    def _is_replaying(self) -> bool:
        return self._going_on is not None

    def _begin_epoch(self, *, has_begun: bool) -> None:
        """Draw the order of pictures from the numbers that it was drawn from, and keep them."""
        if has_begun and self._going_on is not None:
            self._going_on.epoch_start.restore()
        self._epoch_start = HostNumbers.now()

    def _whole(self, save: Callable[..., Any]) -> Callable[..., Any]:
        """Saving as it is, but into a neighbour that takes its place when it is whole and has been read back."""

        def save_whole(output_dir: str, *rest: Any, **named: Any) -> str:
            manifest = self.assignment.manifest.model_copy(update={"step": self._finished_step})
            with new_checkpoint(Path(output_dir), manifest) as folder:
                save(str(folder), *rest, **named)
            return output_dir

        return save_whole

    def _note(self, models: Any, weights: Any, folder: str) -> None:
        """Called by Accelerate when a state is saved."""
        notes = RunNotes(
            item_losses=tuple(self._item_losses[: self._finished_batches]),
            num_batches=self._num_batches,
            accumulation=self._accumulation,
            epoch_start=self._epoch_start,
        )
        write_notes(notes, Path(folder))


def _require_same(notes: RunNotes, *, num_batches: int, accumulation: int) -> None:
    if (notes.num_batches, notes.accumulation) != (num_batches, accumulation):
        raise RunFolderError(
            f"The saved state is of a run with {notes.num_batches} batches an epoch and {notes.accumulation} batches a "
            f"step, and this one has {num_batches} and {accumulation}.",
            hint="Go on with the same pictures and the same batch size, or start a new run from the LoRA file.",
        )


def _of_another_lora(folder: str, error: Exception) -> RunFolderError:
    return RunFolderError(
        f"{folder} is of a LoRA of another rank, or of another model.",
        hint="Go on with the lora.rank and the model of the run that saved it.",
        detail=str(error),
    )


def _set(options: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(options, name, value)


HOOK = Seam(
    number=16,
    name="resume",
    overrides=(
        method("_register_hooks_and_resume", "a0b902856bd2893ab716ebeb04e59027c9f16a66eece3a7e95925f8484b3bcbe"),
        method("_run_training_loop", "6187d0a5ef6d04590766411397c6ea98a8417f842a4205730f19204dbdae63c0"),
        method("process_batch", "ee21ea13a00cc5864d078dc8b52aad66840d7a2753e5f47eead609405fbc089c"),
        method("scale_shift_latents", "b864963f70255d1748ec936429185022bd43a6df40f85f51613b8ccd94f88c42"),
        method("on_post_optimizer_step", "90e8d995bb685d2b1a26656456fc878df73dffc3625238a0e4c8557c40d4580e"),
    ),
    reason="A run that goes on from a saved state counts its steps from 0, with new random numbers.",
    prevents="Checkpoints overwrite others, samples come at other steps, and the run takes all its steps once more.",
    upstream_revision=REVISION,
    mixin=Resume,
)
