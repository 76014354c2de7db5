"""5: the matrices of the LoRA go to the device of the layer that they belong to."""

from typing import Any

import torch

from diffusionforce.errors import EngineError
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam


class LoraPlacement(EngineTrainer):
    """Moves the LoRA after Accelerate has put all of it on the first device."""

    def _prepare_with_accelerator(self, args: Any, accelerator: Any, transformer: Any, *rest: Any) -> Any:
        """Prepare, then move the LoRA. The optimiser keeps its parameters: only what they hold is moved."""
        prepared = super()._prepare_with_accelerator(args, accelerator, transformer, *rest)
        network = accelerator.unwrap_model(prepared[1])
        placement = self.assignment.placement
        blocks = self.assignment.blocks_of(accelerator.unwrap_model(transformer))
        # Not where the layer lies: that is RAM, for a block that is brought in for its turn.
        device_of_layer = {
            id(layer): device
            for block, device in zip(blocks, placement.device_of_block, strict=True)
            for layer in block.modules()
        }
        for lora in network.unet_loras:
            lora.to(device_of_layer.get(id(layer_of(lora)), placement.devices[0]))
        return prepared


def layer_of(lora: Any) -> torch.nn.Module:
    """The layer that a LoRA module was put on.

    A LoRA keeps no reference to it but the forward that it replaced; with several on one layer each keeps the forward
    of the one before.

    Raises:
        EngineError: There is none, because the LoRA is of a kind that works otherwise.
    """
    inner = lora
    while not isinstance(getattr(inner, "weight", None), torch.Tensor):
        inner = getattr(getattr(inner, "org_forward", None), "__self__", None)
        if inner is None:
            raise EngineError(
                f"The LoRA of {getattr(lora, 'lora_name', lora)} does not say which layer it is on, so its place on "
                "several devices is unknown.",
                hint="Train on one device, or with the engine's own LoRA.",
            )
    return inner


HOOK = Seam(
    number=5,
    name="lora-placement",
    overrides=(
        method("_prepare_with_accelerator", "e4a1ca298cacee8fee202992ec5875280d345e65b23d5b15000af67389a91e7b"),
    ),
    reason="The LoRA is on the training device, like all of the model.",
    prevents='"Expected all tensors to be on the same device" in the first LoRA of a block on another card.',
    upstream_revision=REVISION,
    mixin=LoraPlacement,
)
