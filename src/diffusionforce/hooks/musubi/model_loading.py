"""3: every tensor of the model is read to the device of its block, none of them onto the first card as a whole."""

import importlib
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from diffusionforce.hooks.musubi.direct_loading import devices_by_name, read_directly
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam


class ModelLoading(EngineTrainer):
    """Has the weights read as if into RAM, where hook 18 sends each tensor on; hook 4 looks whether all arrived."""

    ends_in_ram = False
    """Whether the engine's loader moves the finished model to RAM, so that sending it elsewhere before is in vain."""

    def load_transformer(
        self,
        accelerator: Any,
        args: Any,
        dit_path: str,
        attn_mode: str,
        split_attn: bool,
        loading_device: Any,
        dit_weight_dtype: Any,
    ) -> Any:
        """Load the transformer, whatever device the trainer wants it on."""
        with self._straight_to_devices(Path(dit_path)):
            return super().load_transformer(accelerator, args, dit_path, attn_mode, split_attn, "cpu", dit_weight_dtype)

    def _straight_to_devices(self, path: Path) -> AbstractContextManager[None]:
        """What sends the tensors of a file, or of all files of its set, to their devices."""
        if self.ends_in_ram or path.suffix != ".safetensors" or not path.is_file():
            return nullcontext()
        engine: Any = importlib.import_module("musubi_tuner.utils.safetensors_utils")
        files = engine.get_split_weight_filenames(str(path)) or [str(path)]
        names: list[str] = []
        for file in files:
            with engine.MemoryEfficientSafeOpen(file) as opened:
                names += opened.keys()
        assignment = self.assignment
        device_of = devices_by_name(
            names,
            block_lists=assignment.block_lists,
            devices=assignment.device_of_block,
            home=assignment.placement.devices[0],
        )
        return read_directly(map(Path, files), device_of) if device_of is not None else nullcontext()


HOOK = Seam(
    number=3,
    name="model-loading",
    overrides=(
        method("load_transformer", "673af063a5e4f6466de86fa143be5b04ab2d960b68a072158afb41cba68726c3"),
        method("_load_dit_and_swap", "7048b0a273d7aff8d850c2f2a86194773b94279513b07a58ecda52a0b72cfaf3"),
    ),
    reason="The whole model fits on the training device, and is loaded there.",
    prevents="The first card runs out of memory before anything can be put on the second.",
    upstream_revision=REVISION,
    mixin=ModelLoading,
)
