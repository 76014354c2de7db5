"""One optimiser step of the LoRA: batches dealt, noise drawn, gradients summed, clipped and applied."""

import zlib
from dataclasses import dataclass

import torch

from diffusionforce.engines.pocket.batches import BatchOrder
from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.objective import draw_sigmas, flow_loss
from diffusionforce.engines.pocket.precision import Precision
from diffusionforce.engines.pocket.preparation import Materials
from diffusionforce.engines.pocket.schedule import learning_rate
from diffusionforce.errors import UserError
from diffusionforce.job import Profile

_BETAS = (0.9, 0.99)
"""The second forgets faster than usual: a run has hundreds of steps, not a million."""


class DivergedError(UserError):
    """The loss is no longer a number."""


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What a step measured."""

    loss: float
    """Mean over all pictures of the step."""
    grad_norm: float
    """Norm of all gradients together, before clipping."""
    learning_rate: float


class Stepper:
    """Takes the optimiser steps of one run.

    All its random numbers come from its own generators on the CPU, one for each purpose: the same profile deals the
    same pictures with the same noise on any device, whatever else happens in between.

    Args:
        transformer: The model with its LoRA.
        lora: The LoRA; its matrices are what the optimiser changes.
        materials: Pictures and captions.
        profile: All settings.
        device: Where the model's ends are.
        precision: Number format of the forward pass.
    """

    def __init__(
        self,
        transformer: PocketTransformer,
        lora: Lora,
        materials: Materials,
        *,
        profile: Profile,
        device: torch.device,
        precision: Precision,
    ) -> None:
        self._transformer = transformer
        self._pictures = materials.pictures
        self._settings = profile.training
        self._device = device
        self._precision = precision
        self._matrices = lora.parameters()
        self._optimiser = torch.optim.AdamW(
            self._matrices,
            lr=self._settings.learning_rate,
            betas=_BETAS,
            weight_decay=self._settings.weight_decay,
        )
        seed = self._settings.seed
        self._noise = torch.Generator().manual_seed(stream_seed(seed, "noise"))
        self._order = BatchOrder(
            materials.num_own,
            num_regularisation=len(materials.pictures) - materials.num_own,
            regularisation_share=profile.dataset.regularisation_share,
            seed=stream_seed(seed, "order"),
        )

    def take_step(self, step: int) -> StepResult:
        """Take a step.

        Args:
            step: Its number, from 1.

        Raises:
            DivergedError: The loss is infinite or not a number. The LoRA is still as the step before left it.
        """
        rate = learning_rate(self._settings, step)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        self._optimiser.zero_grad(set_to_none=True)
        loss = sum(self._add_gradients() for _ in range(self._settings.gradient_accumulation))
        norm = torch.nn.utils.clip_grad_norm_(self._matrices, self._settings.max_grad_norm or float("inf")).item()
        self._require_numbers(step, loss, norm)
        self._optimiser.step()
        return StepResult(loss=loss, grad_norm=norm, learning_rate=rate)

    def _add_gradients(self) -> float:
        """Add the gradients of one batch, and return its share of the step's loss."""
        settings = self._settings
        pictures, text = self._pictures.batch(self._order.next_batch(settings.batch_size))
        sigma = draw_sigmas(
            len(pictures),
            self._noise,
            mean=settings.logit_mean,
            std=settings.logit_std,
            shift=settings.flow_shift,
        )
        noise = torch.randn(pictures.shape, generator=self._noise)
        with self._precision.applied():
            losses = flow_loss(
                self._transformer,
                pictures.to(self._device),
                text.to(self._device),
                sigma=sigma.to(self._device),
                noise=noise.to(self._device),
            )
        loss = losses.mean() / settings.gradient_accumulation
        loss.backward()
        return loss.item()

    def _require_numbers(self, step: int, loss: float, norm: float) -> None:
        if not (abs(loss) < float("inf") and abs(norm) < float("inf")):
            raise DivergedError(
                f"The training broke down at step {step}: the loss is {loss}, its gradient {norm}.",
                hint=f"Lower training.learning_rate (now {self._settings.learning_rate:g}) and start again; what was "
                "saved before is still there.",
            )


def stream_seed(seed: int, purpose: str) -> int:
    """The seed of the random numbers of one purpose, so that no two purposes share theirs."""
    return zlib.crc32(f"{seed} {purpose}".encode())
