"""From noise to a picture: Euler steps along the predicted velocity, with classifier-free guidance.

Legend: H and W height and width of the sample in pixels.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from PIL import Image
from torch import Tensor

from diffusionforce.engines.pocket.config import CHANNELS
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.precision import Precision
from diffusionforce.engines.pocket.text import TextFeatures


@dataclass(frozen=True, kw_only=True)
class SamplerSettings:
    """How samples are made."""

    num_steps: int = 25
    """Denoising steps; below 20 scenes begin to mix."""
    guidance: float = 2.5
    """How much further to go in the direction of the prompt than the model would; 1 switches guidance off."""
    width_px: int = 256
    height_px: int = 256


@torch.no_grad()
def sample_picture(
    transformer: PocketTransformer,
    prompt: TextFeatures,
    empty: TextFeatures,
    *,
    seed: int,
    settings: SamplerSettings,
    device: torch.device,
    precision: Precision,
    on_step: Callable[[int, int], None] | None = None,
) -> Image.Image:
    """Make one sample.

    The noise is drawn on the CPU from its own generator: the same seed gives the same picture on any device (within
    rounding), and training goes on as if no sample had been made.

    Args:
        transformer: The model, in evaluation mode.
        prompt: One encoded prompt.
        empty: The encoded empty prompt.
        seed: Of the noise.
        settings: Size, steps, guidance.
        device: Where the model's ends are.
        precision: Number format of the forward passes.
        on_step: Called with the steps done and their total.

    Returns:
        An RGB picture.
    """
    size = (1, CHANNELS, settings.height_px, settings.width_px)
    x = torch.randn(size, generator=torch.Generator().manual_seed(seed)).to(device)
    text = (prompt if settings.guidance == 1 else TextFeatures.join([prompt, empty])).to(device)
    sigmas = torch.linspace(1, 0, settings.num_steps + 1).tolist()
    for step in range(settings.num_steps):
        with precision.applied():
            velocity = guided_velocity(transformer, x, sigmas[step], text, settings.guidance)
        x = x + (sigmas[step + 1] - sigmas[step]) * velocity
        if on_step:
            on_step(step + 1, settings.num_steps)
    return to_picture(x[0])


def guided_velocity(
    transformer: PocketTransformer, x: Tensor, sigma: float, text: TextFeatures, guidance: float
) -> Tensor:
    """The velocity of one picture; with guidance, prompt and empty prompt share a forward pass.

    Args:
        transformer: The model.
        x: The picture so far, (1, 3, H, W).
        sigma: Its noise level.
        text: The prompt, and behind it the empty prompt where there is guidance.
        guidance: As in `SamplerSettings`.

    Returns:
        (1, 3, H, W) float32.
    """
    copies = len(text)
    velocity = transformer.velocity(
        x.expand(copies, -1, -1, -1).contiguous(), torch.full((copies,), sigma, device=x.device), text
    ).float()
    if copies == 1:
        return velocity
    asked, unasked = velocity.chunk(2)
    return unasked + guidance * (asked - unasked)


def to_picture(x: Tensor) -> Image.Image:
    """An RGB picture of (3, H, W) numbers from -1 to 1; what lies outside is clipped."""
    pixels = ((x.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)
    return Image.fromarray(pixels.permute(1, 2, 0).cpu().numpy())
