"""A batch whose noise has been drawn, of which any rows can be run by themselves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import torch

from diffusionforce.hooks.musubi.upstream import EngineTrainer


@dataclass(frozen=True, kw_only=True)
class DrawnBatch:
    """What the trainer's `process_batch` was given, with noise levels.

    Attributes:
        num_rows: Its pictures.
        global_step: Steps before that of the batch.
        loss_of: Runs the forward pass of some rows; gives the mean loss of their pictures, and metrics.
    """

    num_rows: int
    global_step: int
    loss_of: Callable[[slice], tuple[torch.Tensor, dict[str, float]]]

    @classmethod
    def draw(
        cls,
        trainer: EngineTrainer,
        args: Any,
        accelerator: Any,
        transformer: Any,
        batch: dict[str, Any],
        latents: Any,
        noise: Any,
        noise_scheduler: Any,
        dit_dtype: Any,
        network_dtype: Any,
        vae: Any,
        global_step: int,
    ) -> Self:
        """Draw for the whole batch: into how many pieces it is cut must not change what is drawn.

        Args:
            trainer: Runs the model.
            args: This and the rest is what `process_batch` is given.
        """
        noisy, timesteps = trainer.get_noisy_model_input_and_timesteps(
            args, noise, latents, batch["timesteps"], noise_scheduler, accelerator.device, dit_dtype
        )

        def loss_of(rows: slice) -> tuple[torch.Tensor, dict[str, float]]:
            part = {name: rows_of(value, rows, len(latents)) for name, value in batch.items()}
            # The trainer asks for the gradient of what the model is given, and may do so once more for the same rows.
            given = (latents[rows], part, noise[rows], noisy[rows].detach().clone(), timesteps[rows])
            output = trainer.call_dit(args, accelerator, transformer, *given, network_dtype)
            return trainer.compute_loss(
                args, output, timesteps[rows], noise_scheduler, dit_dtype, network_dtype, global_step
            )

        return cls(num_rows=len(latents), global_step=global_step, loss_of=loss_of)

    def cuts(self, num_pieces: int) -> list[tuple[slice, float]]:
        """Rows of each piece, and its share of the batch; the first are one larger where it does not divide."""
        parts = torch.arange(self.num_rows).tensor_split(min(self.num_rows, num_pieces))
        return [(slice(int(part[0]), int(part[-1]) + 1), len(part) / self.num_rows) for part in parts]


def rows_of(value: Any, rows: slice, num: int) -> Any:
    """Those rows of what has one for each picture: a tensor, or a list of tensors of different lengths."""
    return value[rows] if isinstance(value, (torch.Tensor, list)) and len(value) == num else value  # pyright: ignore
