"""9: text encoders read the sample prompts where there is room for them."""

from typing import Any

import torch

from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.nesting import map_tensors


class TextEncoders(EngineTrainer):
    """Gives the encoders another device than the trainer's, and keeps what they say in RAM."""

    def process_sample_prompts(self, args: Any, accelerator: Any, sample_prompts: str) -> Any:
        """Read the prompts. The model is not loaded yet, so all of a card's memory is there for an encoder."""
        elsewhere = Elsewhere(accelerator, self.assignment.encoder_device)
        parameters = super().process_sample_prompts(args, elsewhere, sample_prompts)
        return map_tensors(parameters, lambda tensor: tensor.to("cpu"))


class Elsewhere:
    """An accelerator that names another device.

    Args:
        accelerator: The trainer's.
        device: The other device.
    """

    def __init__(self, accelerator: Any, device: torch.device) -> None:
        self._accelerator = accelerator
        self.device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._accelerator, name)


HOOK = Seam(
    number=9,
    name="text-encoders",
    overrides=(
        method("process_sample_prompts", "421f558b79282a9d9fecae03b95e6b2879f59e5572377363452007ec383f2c4a"),
        method("_prepare_sampling", "cdfd1b1f9c793826c0f419c1d798cda1d6821ccbe976a91adba350b62fbc404b"),
    ),
    reason="Text encoders of 10 to 50 GB are loaded on the training device to read the sample prompts.",
    prevents="The first card runs out of memory before the training begins.",
    upstream_revision=REVISION,
    mixin=TextEncoders,
)
