"""An optimiser that keeps what it was given, to be named to the engine."""

from typing import Any

import torch
from tests.support.virtual_devices import real_of

GRADIENTS: list[list[torch.Tensor | None]] = []
"""Of every step since it was last emptied, in the optimiser's order of parameters."""


class RecordingAdamW(torch.optim.AdamW):
    """Keeps the gradients of every step."""

    def step(self, closure: Any = None) -> Any:
        """Keep them, then take the step."""
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        GRADIENTS.append([None if one.grad is None else real_of(one.grad).clone() for one in parameters])
        return super().step(closure)
