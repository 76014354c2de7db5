"""Every random number generator that a training of the engine draws from, as it is at a moment."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from diffusionforce.pipeline.recompute.random_numbers import RandomNumbers


@dataclass(frozen=True)
class EveryNumber:
    """PyTorch's generators of the host and of cards, Python's and NumPy's."""

    _devices: tuple[torch.device, ...]
    _torch: list[torch.Tensor]
    _python: tuple[Any, ...]
    _numpy: Any

    @classmethod
    def now(cls, devices: Iterable[torch.device]) -> Self:
        """As they are.

        Args:
            devices: Whose generators count beside the host's.
        """
        kept = tuple(devices)
        return cls(kept, RandomNumbers(kept).read(), random.getstate(), np.random.get_state())

    def restore(self) -> None:
        """Set the generators to them."""
        RandomNumbers(self._devices).write(self._torch)
        random.setstate(self._python)
        np.random.set_state(self._numpy)
