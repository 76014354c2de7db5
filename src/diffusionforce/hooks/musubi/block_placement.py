"""4: every block goes to its device, and stays there when the model is prepared for training."""

from collections.abc import Collection
from typing import Any

import torch

from diffusionforce.errors import DeviceError
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.placement import Placement

_RAM = torch.device("cpu")


class BlockPlacement(EngineTrainer):
    """Places the transformer as soon as it is loaded."""

    def on_transformer_loaded(self, args: Any, accelerator: Any, transformer: Any) -> None:
        """Place it, and tell Accelerate that it is placed."""
        super().on_transformer_loaded(args, accelerator, transformer)
        placement = self.assignment.placement
        blocks = self.assignment.blocks_of(transformer)
        place_transformer(transformer, blocks, placement, paged=self.assignment.paged)
        # Accelerate takes a model with such a map of more than one entry for one that was placed before: it does not
        # move it, and wraps its forward in autocast all the same, which some of the engine's families rely on.
        transformer.hf_device_map = {str(index): str(device) for index, device in enumerate(placement.device_of_block)}


def place_transformer(
    transformer: Any, blocks: list[Any], placement: Placement, *, paged: Collection[int] = ()
) -> None:
    """Move blocks to their devices, and everything else to the first.

    Args:
        transformer: The model.
        blocks: Its blocks in calling order.
        placement: Where they belong.
        paged: Blocks that live in RAM, for which their devices may have no room: they stay there.

    Raises:
        DeviceError: A tensor did not arrive where it was sent, or there are more or fewer blocks.
    """
    if len(blocks) != placement.num_blocks:
        raise DeviceError(f"The placement is for {placement.num_blocks} blocks, but the model has {len(blocks)}.")
    inside = {id(module) for block in blocks for module in block.modules()}
    for index, (block, device) in enumerate(zip(blocks, placement.device_of_block, strict=True)):
        place = _RAM if index in paged else device
        block.to(place)
        _require_at(block, index, place)
    for module in transformer.modules():
        if id(module) not in inside:
            _move_own_tensors(module, placement.devices[0])


def _require_at(block: torch.nn.Module, index: int, place: torch.device) -> None:
    for name, tensor in [*block.named_parameters(), *block.named_buffers()]:
        if tensor.device != place:
            raise DeviceError(f'Tensor "{name}" of block {index} is on {tensor.device} instead of {place}.')


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
