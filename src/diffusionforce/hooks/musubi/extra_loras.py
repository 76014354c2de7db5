"""22: a sample may be made with further LoRAs on top of the one that is trained."""

import importlib
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file  # pyright: ignore[reportUnknownVariableType]

from diffusionforce.errors import WeightsError
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam

LORAS = "loras"
"""Key of a prompt: a list of tables with `path` and `strength`."""


class ExtraLoras(EngineTrainer):
    """Puts the LoRAs that a prompt names on the layers, and takes them off as if they had never been there.

    They are not merged into the weights: taking away what was added leaves other weights than there were.
    """

    def sample_image_inference(
        self,
        accelerator: Any,
        args: Any,
        transformer: Any,
        dit_dtype: Any,
        vae: Any,
        save_dir: str,
        sample_parameter: dict[str, Any],
        epoch: int | None,
        steps: int,
    ) -> None:
        """Make a sample with them.

        Raises:
            WeightsError: A file cannot be read, or is no LoRA of this model.
        """
        with ExitStack() as stack:
            for wanted in sample_parameter.get(LORAS) or ():
                network = self._network(args, transformer, Path(wanted["path"]), float(wanted.get("strength", 1.0)))
                stack.enter_context(stacked(network.unet_loras, self._device_of(transformer)))
            super().sample_image_inference(
                accelerator, args, transformer, dit_dtype, vae, save_dir, sample_parameter, epoch, steps
            )

    def _network(self, args: Any, transformer: Any, path: Path, strength: float) -> Any:
        """The LoRA of a file, not yet on the layers."""
        try:
            weights = load_file(path)
        except (OSError, SafetensorError) as error:
            raise WeightsError(f"The LoRA {path} of a sample cannot be read: {error}.") from error
        module = importlib.import_module(args.network_module)
        weights = self.convert_weight_keys(weights, module)
        network = module.create_arch_network_from_weights(strength, weights, unet=transformer, for_inference=True)
        if not network.unet_loras:
            raise WeightsError(f"The LoRA {path} of a sample is for another model.")
        for lora in network.unet_loras:  # As its own `apply_to` does, which also puts them on the layers.
            network.add_module(lora.lora_name, lora)
        network.load_state_dict(weights, strict=False)
        return network.requires_grad_(False).eval()

    def _device_of(self, transformer: Any) -> dict[int, torch.device]:
        """For each module of a block its device; weights that are paged do not say."""
        placement = self.assignment.placement
        pairs = zip(self.assignment.blocks_of(transformer), placement.device_of_block, strict=True)
        return {id(module): device for block, device in pairs for module in block.modules()}


@contextmanager
def stacked(loras: Sequence[Any], device_of: dict[int, torch.device]) -> Generator[None]:
    """With LoRA modules on their layers.

    Args:
        loras: Modules of the engine, which take a layer's forward over and keep the old one.
        device_of: The device of a layer by its identity; others tell by their weights.
    """
    undo: list[tuple[Any, Any]] = []
    try:
        for lora in loras:
            layer = lora.org_module
            undo.append((layer, layer.__dict__.get("forward")))
            lora.apply_to()
            lora.to(device_of.get(id(layer), layer.weight.device))
        yield
    finally:
        for layer, forward in reversed(undo):
            if forward is None:
                del layer.forward
            else:
                layer.forward = forward


HOOK = Seam(
    number=22,
    name="extra-loras",
    overrides=(
        method("sample_image_inference", "f34e16fa25d41dd05bc74a29547c88d39187af9397e38cd2aea5181e2863d35a"),
        method("convert_weight_keys", "095dcfccff7e174b1ef99e01f4ca4fd1bdc211c7fc69ba7a57134329ac77f92d"),
    ),
    reason="A sample shows the LoRA that is trained, alone.",
    prevents="How a LoRA goes with others is seen only after the training.",
    upstream_revision=REVISION,
    mixin=ExtraLoras,
)
