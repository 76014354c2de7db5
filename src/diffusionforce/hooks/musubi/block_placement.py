"""4: every block goes to its device, and stays there when the model is prepared for training."""

from typing import Any

import torch

from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.placement import Placement, place_blocks, verify_placement


class BlockPlacement(EngineTrainer):
    """Places the transformer as soon as it is loaded."""

    def on_transformer_loaded(self, args: Any, accelerator: Any, transformer: Any) -> None:
        """Place it, and tell Accelerate that it is placed."""
        super().on_transformer_loaded(args, accelerator, transformer)
        placement = self.assignment.placement
        blocks = self.assignment.blocks_of(transformer)
        place_transformer(transformer, blocks, placement)
        # Accelerate takes a model with such a map of more than one entry for one that was placed before: it does not
        # move it, and wraps its forward in autocast all the same, which some of the engine's families rely on.
        transformer.hf_device_map = {str(index): str(device) for index, device in enumerate(placement.devices)}


def place_transformer(transformer: Any, blocks: list[Any], placement: Placement) -> None:
    """Move blocks to their devices, and everything else to the first.

    Args:
        transformer: The model.
        blocks: Its blocks in calling order.
        placement: Where they belong.

    Raises:
        DeviceError: A tensor did not arrive where it was sent.
    """
    inside = {id(module) for block in blocks for module in block.modules()}
    place_blocks(blocks, placement)
    for module in transformer.modules():
        if id(module) not in inside:
            _move_own_tensors(module, placement.devices[0])
    verify_placement(blocks, placement)


def _move_own_tensors(module: torch.nn.Module, device: torch.device) -> None:
    """Move a module's tensors, without those of its children: these are hidden from it meanwhile."""
    children: dict[str, Any] = vars(module)["_modules"]
    vars(module)["_modules"] = {}
    try:
        module.to(device)
    finally:
        vars(module)["_modules"] = children


HOOK = Seam(
    number=4,
    name="block-placement",
    overrides=(
        method("on_transformer_loaded", "d0cafbd80d7d80b5752c5b9e4bf8b9b508de081dcf7d875640a20898e2d514ae"),
        method("_prepare_with_accelerator", "e4a1ca298cacee8fee202992ec5875280d345e65b23d5b15000af67389a91e7b"),
    ),
    reason="Accelerate may move the whole model to the training device.",
    prevents="All blocks are on the first card again, which runs out of memory.",
    upstream_revision=REVISION,
    mixin=BlockPlacement,
)
