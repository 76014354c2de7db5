"""What is noted beside a saved state of the engine, to go on from it exactly."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from diffusionforce.errors import RunFolderError

FILE_NAME = "diffusionforce.json"


@dataclass(frozen=True, kw_only=True)
class HostNumbers:
    """The states of the host's random number generators: PyTorch's, Python's and NumPy's."""

    torch_state: tuple[int, ...]
    """Its bytes."""
    python_state: tuple[Any, ...]
    numpy_state: tuple[Any, ...]

    @classmethod
    def now(cls) -> Self:
        """As they are."""
        kind, keys, *rest = np.random.get_state()
        version, words, gauss = random.getstate()
        return cls(
            torch_state=tuple(torch.get_rng_state().numpy().tobytes()),
            python_state=(version, tuple(words), gauss),
            numpy_state=(kind, tuple(int(key) for key in keys), *rest),  # pyright: ignore
        )

    def restore(self) -> None:
        """Set the generators to them."""
        self._give(torch.set_rng_state, random.setstate, np.random.set_state)

    def require_whole(self) -> None:
        """Refuse states that no generator can be set to.

        Raises:
            ValueError: They are such.
        """
        try:
            self._give(torch.Generator().set_state, random.Random().setstate, np.random.RandomState().set_state)
        except (RuntimeError, TypeError, OverflowError) as error:
            raise ValueError(f"no states of random numbers: {error}") from error

    def _give(
        self, to_torch: Callable[[Any], Any], to_python: Callable[[Any], Any], to_numpy: Callable[[Any], Any]
    ) -> None:
        to_torch(torch.tensor(self.torch_state, dtype=torch.uint8))
        version, words, gauss = self.python_state
        to_python((version, tuple(words), gauss))
        kind, keys, *rest = self.numpy_state
        to_numpy((kind, np.array(keys, dtype=np.uint32), *rest))


class RunNotes(BaseModel):
    """Where a run was when its state was saved."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")

    item_losses: tuple[float, ...]
    """Of every batch that was trained on."""
    num_batches: int
    """Of an epoch."""
    accumulation: int
    """Batches of a step."""
    epoch_start: HostNumbers

    @field_validator("epoch_start")
    @classmethod
    def _can_be_restored(cls, numbers: HostNumbers) -> HostNumbers:
        numbers.require_whole()
        return numbers


def write_notes(notes: RunNotes, folder: Path) -> None:
    """Write them into the folder of a state."""
    (folder / FILE_NAME).write_text(notes.model_dump_json(), encoding="utf-8")


def read_notes(folder: Path) -> RunNotes:
    """Read them from the folder of a state.

    Raises:
        RunFolderError: They are not there or damaged.
    """
    try:
        return RunNotes.model_validate_json((folder / FILE_NAME).read_bytes())
    except (OSError, ValidationError) as error:
        raise RunFolderError(
            f"{folder} is no state that a run can go on from.",
            hint="Choose another saved state, or start a new run from the LoRA file.",
            detail=str(error),
        ) from error
