"""A run's progress read from what is running, and given to what goes on."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from diffusionforce.engines.health import HealthWatch
from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.engines.pocket.preparation import Materials
from diffusionforce.engines.pocket.progress import Measured, Progress, ProgressNotes
from diffusionforce.engines.pocket.stepper import Stepper
from diffusionforce.errors import RunFolderError
from diffusionforce.wire import Warn


def capture(
    *,
    step: int,
    lora: Lora,
    stepper: Stepper,
    materials: Materials,
    health: HealthWatch,
    measured: Sequence[Measured],
    prompts: tuple[str, ...] | None,
) -> Progress:
    """How far a run has come, between two steps.

    Args:
        step: The last finished one.
        lora: What is trained.
        stepper: What trains it.
        materials: On what.
        health: Knows the running average of the losses.
        measured: Held-out losses so far.
        prompts: Those that were asked for on the way; None for the profile's.
    """
    return Progress(
        step=step,
        notes=ProgressNotes(
            due=stepper.due,
            loss_average=health.average,
            num_losses=health.count,
            held_out=tuple(measured),
            prompts=prompts,
            num_pictures=len(materials.pictures),
            num_own=materials.num_own,
            digest=materials.digest,
        ),
        lora=_lora_tensors(lora),
        optimiser=_optimiser_tensors(stepper.optimiser, lora),
        position=stepper.position(),
    )


def restore(progress: Progress, *, folder: Path, lora: Lora, stepper: Stepper, materials: Materials) -> Iterator[Warn]:
    """Put a run where another stood, and give what the user should know of it.

    Raises:
        RunFolderError: The checkpoint in the folder is of another LoRA, or of another number of pictures.
    """
    notes = progress.notes
    known, given = (notes.num_own, notes.num_pictures), (materials.num_own, len(materials.pictures))
    if known != given:
        raise RunFolderError(
            f"{folder} is of a run with {_pictures(known)}, and this one has {_pictures(given)}.",
            hint="Go on with the same pictures, or start a new run.",
        )
    _restore_lora(lora, progress, folder=folder)
    _restore_optimiser(stepper.optimiser, lora, progress)
    stepper.restore(progress.position, due=notes.due)
    if notes.digest != materials.digest:
        yield Warn(
            sentence="The pictures, their captions or their size are not those that the checkpoint was trained on.",
            hint="It goes on with what is there now; the losses before and after do not compare.",
        )


def _lora_tensors(lora: Lora) -> dict[str, Tensor]:
    """The matrices as they are, float32, copied to the CPU."""
    return {name: _copied(matrix) for name, matrix in lora.named_matrices()}


def _optimiser_tensors(optimiser: torch.optim.Optimizer, lora: Lora) -> dict[str, Tensor]:
    """What the optimiser remembers of each matrix, copied to the CPU."""
    return {
        f"{name}.{key}": _copied(value)
        for name, matrix in lora.named_matrices()
        for key, value in optimiser.state.get(matrix, {}).items()
    }


@torch.no_grad()
def _restore_lora(lora: Lora, progress: Progress, *, folder: Path) -> None:
    """Give the matrices the values that they had.

    Raises:
        RunFolderError: The checkpoint is of another LoRA.
    """
    matrices = dict(lora.named_matrices())
    shapes = {name: tuple(matrix.shape) for name, matrix in matrices.items()}
    found = {name: tuple(tensor.shape) for name, tensor in progress.lora.items()}
    if shapes != found:
        raise RunFolderError(
            f"{folder} is of a LoRA of another rank, or of another model.",
            hint="Go on with the lora.rank and the model of the run that saved it.",
            detail=f"{found}\nwanted: {shapes}",
        )
    for name, matrix in matrices.items():
        matrix.copy_(progress.lora[name])


def _restore_optimiser(optimiser: torch.optim.Optimizer, lora: Lora, progress: Progress) -> None:
    """Give the optimiser what it remembered, each matrix on the device that it is on now."""
    for name, matrix in lora.named_matrices():
        mine = {key: value for key, value in progress.optimiser.items() if key.rpartition(".")[0] == name}
        # The number of steps stays on the CPU, where the optimiser keeps it.
        optimiser.state[matrix] = {
            key.rpartition(".")[2]: value.clone() if value.dim() == 0 else value.to(matrix.device, copy=True)
            for key, value in mine.items()
        }


def _copied(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", copy=True).contiguous()


def _pictures(counts: tuple[int, int]) -> str:
    own, together = counts
    return f"{own} pictures" + (f" and {together - own} drawn ones" if together > own else "")
