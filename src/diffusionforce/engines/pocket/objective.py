"""What the training minimises: flow matching, and the same loss on fixed noise to measure progress.

A picture x and noise n are mixed to (1 - s) * x + s * n at a noise level s (sigma) between 0 and 1; the model
predicts the velocity n - x. Losses of single steps jump about with s and n, far more than a LoRA improves them, so
progress is measured on pictures kept out of training, with noise and levels that are the same before and after.

All random numbers come from generators on the CPU and are then moved: a run on a card sees the same ones as a run
on the processor, and their loss curves can be compared.

Legend: B pictures in a batch, H and W their height and width in pixels.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from diffusionforce.engines.pocket.dataset import PreparedSet
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.precision import Precision
from diffusionforce.engines.pocket.text import TextFeatures

HELD_OUT_SEED = 1234
HELD_OUT_SIGMAS = (0.44, 0.63, 0.75, 0.86)
"""Noise levels of the held-out loss: where a picture's subject, and not its pixels or its mood, is decided."""


def draw_sigmas(count: int, generator: torch.Generator, *, mean: float, std: float, shift: float = 1.0) -> Tensor:
    """Draw noise levels from a logit-normal distribution.

    Args:
        count: How many.
        generator: On the CPU.
        mean: Of the logit; above 0 means more noise.
        std: Spread of the logit.
        shift: Pushes the levels towards noise (above 1) or picture (below 1) afterwards.

    Returns:
        (count,) float32 on the CPU, between 0 and 1.
    """
    sigma = torch.sigmoid(torch.randn(count, generator=generator) * std + mean)
    return shift * sigma / (1 + (shift - 1) * sigma)


def add_noise(pictures: Tensor, noise: Tensor, sigma: Tensor) -> Tensor:
    """Mix pictures with noise, both (B, 3, H, W), at levels (B,)."""
    level = sigma[:, None, None, None]
    return (1 - level) * pictures + level * noise


def flow_loss(
    transformer: PocketTransformer, pictures: Tensor, text: TextFeatures, *, sigma: Tensor, noise: Tensor
) -> Tensor:
    """The squared error of the predicted velocity.

    Args:
        transformer: The model.
        pictures: (B, 3, H, W) float32 from -1 to 1.
        text: The captions of the pictures.
        sigma: Noise levels, (B,).
        noise: (B, 3, H, W).

    Returns:
        One number a picture, (B,) float32.
    """
    velocity = transformer.velocity(add_noise(pictures, noise, sigma), sigma, text)
    return ((velocity - (noise - pictures)) ** 2).mean((1, 2, 3))


class HeldOutLoss:
    """The loss on pictures that are not trained on, with the same noise at every call.

    Args:
        pictures: The held-out pictures.
        device: Where the model's ends are.
        precision: Number format of the forward pass.
    """

    def __init__(self, pictures: PreparedSet, *, device: torch.device, precision: Precision) -> None:
        self._pictures = pictures
        self._device = device
        self._precision = precision

    @property
    def num_passes(self) -> int:
        """Forward passes of one measurement."""
        return len(self._pictures) * len(HELD_OUT_SIGMAS)

    @torch.no_grad()
    def measure(self, transformer: PocketTransformer, *, on_pass: Callable[[int, int], None] | None = None) -> float:
        """Return the mean loss. The training's random numbers are not touched.

        Args:
            transformer: The model, in evaluation mode.
            on_pass: Called with the forward passes done and their total.
        """
        generator = torch.Generator().manual_seed(HELD_OUT_SEED)
        losses: list[Tensor] = []
        for level in HELD_OUT_SIGMAS:
            for index in range(len(self._pictures)):
                losses.append(self._loss_of(transformer, index, level, generator))
                if on_pass:
                    on_pass(len(losses), self.num_passes)
        return torch.cat(losses).mean().item()

    def _loss_of(self, transformer: PocketTransformer, index: int, level: float, generator: torch.Generator) -> Tensor:
        picture, text = self._pictures.batch([index])
        noise = torch.randn(picture.shape, generator=generator)
        with self._precision.applied():
            return flow_loss(
                transformer,
                picture.to(self._device),
                text.to(self._device),
                sigma=torch.full((1,), level, device=self._device),
                noise=noise.to(self._device),
            )
