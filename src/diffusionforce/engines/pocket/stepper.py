"""One optimiser step of the LoRA: batches dealt, noise drawn, gradients summed, clipped and applied."""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from diffusionforce.engines.health import broken_down
from diffusionforce.engines.pocket.batches import BatchOrder
from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.engines.pocket.microbatches import DeviceWork, Piece, PieceRunner
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.objective import draw_sigmas, flow_loss
from diffusionforce.engines.pocket.precision import Precision
from diffusionforce.engines.pocket.preparation import Materials
from diffusionforce.engines.pocket.schedule import RATES, learning_rate
from diffusionforce.engines.pocket.text import TextFeatures
from diffusionforce.job import Profile
from diffusionforce.job.profile import TrainingSettings
from diffusionforce.pipeline.portions import Portions
from diffusionforce.pipeline.recompute.random_numbers import RandomNumbers

_BETAS = (0.9, 0.99)
"""The second forgets faster than usual: a run has hundreds of steps, not a million."""
_LARGEST_UPDATE = 10.0
"""No step of the optimiser changes a weight by more than this many learning rates."""
_LARGEST_WEIGHT = 1e38
"""Beyond three times this, bfloat16 and float32 know infinity only."""


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What a step measured."""

    loss: float
    """Mean over all pictures of the step."""
    grad_norm: float
    """Norm of all gradients together, before clipping."""
    learning_rate: float
    files: tuple[str, ...]
    """Names of its pictures' files."""
    work: dict[torch.device, DeviceWork]
    """What each device did; empty on a single one."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Pictures with their captions and noise, on the CPU."""

    pictures: Tensor
    """(B, 3, H, W) float32 from -1 to 1."""
    text: TextFeatures
    sigma: Tensor
    """Noise level of each picture, (B,)."""
    noise: Tensor
    """(B, 3, H, W)"""

    def pick(self, indices: Tensor) -> "Batch":
        """A part of the batch."""
        return Batch(
            pictures=self.pictures[indices],
            text=self.text.pick(indices.tolist()),
            sigma=self.sigma[indices],
            noise=self.noise[indices],
        )


class Stepper:
    """Takes the optimiser steps of one run.

    All its random numbers come from its own generators on the CPU, one for each purpose: the same profile deals the
    same pictures with the same noise on any device, whatever else happens in between.

    Args:
        transformer: The model with its LoRA.
        lora: The LoRA; its matrices are what the optimiser changes.
        materials: Pictures and captions.
        runner: Runs the forward and backward passes.
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
        runner: PieceRunner,
        profile: Profile,
        device: torch.device,
        precision: Precision,
    ) -> None:
        self._transformer = transformer
        self._runner = runner
        self._pictures = materials.pictures
        self._files = materials.files
        self._dealt: list[int] = []
        self._most_weight = math.inf
        """No weight is larger; not looked at yet."""
        self._profile = profile
        self._settings = profile.training
        self._device = device
        self._precision = precision
        self._matrices = lora.parameters()
        self._optimiser = make_optimiser(self._matrices, self._settings)
        batch_size, num_batches = self._settings.batch_size, self._settings.gradient_accumulation
        self.portions = Portions(
            batch_size=batch_size,
            num_batches=num_batches,
            num_pieces=runner.num_pieces(batch_size, num_batches=num_batches),
            overlap=runner.schedule != "single",
        )
        """How much of a step is on the devices at once; another may be asked for between two steps."""
        seed = self._settings.seed
        self._numbers = RandomNumbers([matrix.device for matrix in self._matrices])
        self._noise = torch.Generator().manual_seed(stream_seed(seed, "noise"))
        self._order = BatchOrder(
            materials.num_own,
            num_regularisation=len(materials.pictures) - materials.num_own,
            regularisation_share=profile.dataset.regularisation_share,
            seed=stream_seed(seed, "order"),
        )

    @property
    def optimiser(self) -> torch.optim.Optimizer:
        """What changes the matrices."""
        return self._optimiser

    @property
    def due(self) -> float:
        """How much of the next regularisation picture is due."""
        return self._order.due

    def position(self) -> dict[str, Tensor]:
        """Every generator of random numbers and the order of the pictures, as they are between two steps."""
        numbers = {f"numbers.{name}": state for name, state in self._numbers.by_name().items()}
        return {**self._order.position(), "noise": self._noise.get_state(), **numbers}

    def restore(self, position: Mapping[str, Tensor], *, due: float) -> None:
        """Go on from where another run stood; generators of cards that it did not use stay as they are."""
        self._order.restore(position, due=due)
        self._noise.set_state(position["noise"])
        prefix = "numbers."
        self._numbers.write_by_name(
            {name.removeprefix(prefix): state for name, state in position.items() if name.startswith(prefix)}
        )

    def take_step(self, step: int) -> StepResult:
        """Take a step; one that fails leaves no trace in the random numbers and the order of the pictures.

        Args:
            step: Its number, from 1.

        Raises:
            DivergedError: The loss, a gradient or a weight is infinite or not a number. The LoRA is still as the step
                before left it.
        """
        position, due = self.position(), self.due
        try:
            return self._take_step(step)
        except BaseException:
            self.restore(position, due=due)
            raise

    def _take_step(self, step: int) -> StepResult:
        rate = learning_rate(self._settings, step)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        self._optimiser.zero_grad(set_to_none=True)
        self._dealt.clear()
        pieces = self._pieces()
        losses = self._runner.run(pieces, in_turn=self.portions.in_turn)
        loss = sum(loss * piece.weight for loss, piece in zip(losses, pieces, strict=True))
        norm = torch.nn.utils.clip_grad_norm_(self._matrices, self._settings.max_grad_norm or float("inf")).item()
        self._require_numbers(step, loss=loss, norm=norm, rate=rate)
        self._optimiser.step()
        return StepResult(
            loss=loss, grad_norm=norm, learning_rate=rate, files=self._dealt_files(), work=self._runner.work()
        )

    def _dealt_files(self) -> tuple[str, ...]:
        return tuple(self._files[index] if index < len(self._files) else "a drawn one" for index in self._dealt)

    def _pieces(self) -> list[Piece]:
        """Deal the pictures of a step, draw their noise, and cut them into pieces."""
        num_batches = self._settings.gradient_accumulation
        pieces: list[Piece] = []
        for _ in range(num_batches):
            # Drawn for the whole batch: into how many pieces it is cut must not change what is drawn.
            batch = self._next_batch()
            for part in torch.arange(len(batch.pictures)).chunk(self.portions.num_pieces):
                weight = len(part) / (len(batch.pictures) * num_batches)
                loss = partial(
                    mean_loss, self._transformer, batch.pick(part), device=self._device, precision=self._precision
                )
                pieces.append(Piece(loss=loss, weight=weight))
        return pieces

    def _next_batch(self) -> Batch:
        settings = self._settings
        dealt = self._order.next_batch(settings.batch_size)
        self._dealt += dealt
        pictures, text = self._pictures.batch(dealt)
        sigma = draw_sigmas(
            len(pictures),
            self._noise,
            mean=settings.logit_mean,
            std=settings.logit_std,
            shift=settings.flow_shift,
        )
        noise = torch.randn(pictures.shape, generator=self._noise)
        return Batch(pictures=pictures, text=text, sigma=sigma, noise=noise)

    def _require_numbers(self, step: int, *, loss: float, norm: float, rate: float) -> None:
        """Refuse to change the LoRA by what is no number, or until its weights are none."""
        what = f"the loss is {loss}, its gradient {norm}"
        if math.isfinite(loss) and math.isfinite(norm):
            if self._weights_stay_finite(rate):
                return
            what = f"weights of the LoRA, now up to {self._most_weight:.3g}, would become infinite"
        raise broken_down(self._profile, what=what, step=step, rate=rate, rates=RATES, files=self._dealt_files())

    def _weights_stay_finite(self, rate: float) -> bool:
        """Whether every weight is a number after a step; they are looked at only when they may have grown so far."""
        growth = abs(1 - rate * self._settings.weight_decay)
        after = self._most_weight * growth + rate * _LARGEST_UPDATE
        if not after < _LARGEST_WEIGHT:
            self._most_weight = max(matrix.detach().abs().max().item() for matrix in self._matrices)
            after = self._most_weight * growth + rate * _LARGEST_UPDATE
        if not after < _LARGEST_WEIGHT:
            return False
        self._most_weight = after
        return True


def make_optimiser(matrices: list[nn.Parameter], settings: TrainingSettings) -> torch.optim.Optimizer:
    """The optimiser of a run.

    Args:
        matrices: What it changes.
        settings: Learning rate and weight decay.
    """
    return torch.optim.AdamW(matrices, lr=settings.learning_rate, betas=_BETAS, weight_decay=settings.weight_decay)


def mean_loss(transformer: PocketTransformer, batch: Batch, *, device: torch.device, precision: Precision) -> Tensor:
    """The mean loss of a micro-batch, a scalar that carries gradient.

    Args:
        transformer: The model with its LoRA.
        batch: The micro-batch, on the CPU.
        device: Where the model's ends are.
        precision: Number format of the forward pass.
    """
    with precision.applied():
        losses = flow_loss(
            transformer,
            batch.pictures.to(device),
            batch.text.to(device),
            sigma=batch.sigma.to(device),
            noise=batch.noise.to(device),
        )
    return losses.mean()


def stream_seed(seed: int, purpose: str) -> int:
    """The seed of the random numbers of one purpose, so that no two purposes share theirs."""
    return zlib.crc32(f"{seed} {purpose}".encode())
