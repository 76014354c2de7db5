"""All that a run of the pocket engine has come to after a step, saved, and taken up again.

The LoRA file is for other programs: rounded to bfloat16, without the optimiser's averages. To go on exactly as if it
had never stopped, a run also needs the matrices as they are, both averages of the optimiser, every generator of random
numbers, where it stands in the order of its pictures, and what it has measured so far. That is kept here: tensors in a
safetensors file, everything else as JSON beside it. Nothing depends on the devices, so that a run may go on on others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from diffusionforce.errors import RunFolderError
from diffusionforce.runs import CheckpointManifest, read_checked, require_whole
from diffusionforce.wire import to_json

TENSORS = "state.safetensors"
NOTES = "progress.json"
_LORA, _OPTIMISER, _POSITION = "lora.", "optimiser.", "position."


class Measured(BaseModel):
    """One measurement of the held-out loss."""

    model_config = ConfigDict(frozen=True)

    step: int
    loss: float


class ProgressNotes(BaseModel):
    """What of a run's progress is no tensor.

    Attributes:
        due: How much of the next regularisation picture is due; see `batches`.
        loss_average: Running average of the losses, None before the first step.
        num_losses: How many losses are in it.
        held_out: Every measurement so far.
        prompts: Those that samples are made of; None where they are the profile's.
        num_pictures: Pictures that are dealt, drawn ones included.
        num_own: How many of them are the user's.
        digest: Of the pictures and their captions.
    """

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")

    schema_version: Literal[1] = 1
    due: float
    loss_average: float | None
    num_losses: int
    held_out: tuple[Measured, ...]
    prompts: tuple[str, ...] | None
    num_pictures: int
    num_own: int
    digest: str

    @property
    def num_drawn(self) -> int:
        """How many of the pictures were drawn."""
        return self.num_pictures - self.num_own


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A run as it stood after a step."""

    step: int
    notes: ProgressNotes
    lora: Mapping[str, Tensor]
    """Matrices by name, float32 on the CPU."""
    optimiser: Mapping[str, Tensor]
    """What the optimiser remembers of each matrix, by `NAME.KEY`, on the CPU."""
    position: Mapping[str, Tensor]
    """States of generators, and pictures that are yet to be dealt."""

    def files(self) -> dict[str, bytes]:
        """The files of a checkpoint."""
        groups = ((_LORA, self.lora), (_OPTIMISER, self.optimiser), (_POSITION, self.position))
        tensors = {prefix + name: tensor for prefix, group in groups for name, tensor in group.items()}
        return {TENSORS: save(tensors), NOTES: to_json(self.notes, indent=1) + b"\n"}


def read_progress(folder: Path) -> tuple[Progress, CheckpointManifest]:
    """Read a checkpoint of this engine, compared with its checksums.

    Raises:
        RunFolderError: It is damaged, or none of this engine.
    """
    manifest = require_whole(folder)
    content = read_checked(folder, TENSORS, manifest=manifest)
    try:
        tensors = load(content)
        notes = ProgressNotes.model_validate_json(read_checked(folder, NOTES, manifest=manifest))
    except (SafetensorError, ValidationError) as error:
        raise RunFolderError(
            f"{folder} is no checkpoint that this version can read.",
            hint="It may come from a newer DiffusionForce: update, or go on from another checkpoint.",
            detail=str(error),
        ) from error
    progress = Progress(
        step=manifest.step,
        notes=notes,
        lora=_group(tensors, _LORA),
        optimiser=_group(tensors, _OPTIMISER),
        position=_group(tensors, _POSITION),
    )
    return progress, manifest


def _group(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
