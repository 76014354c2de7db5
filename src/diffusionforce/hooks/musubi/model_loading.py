"""3: the model is read into RAM, not onto the first card."""

from typing import Any

from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam


class ModelLoading(EngineTrainer):
    """Reads the weights into RAM, from where hook 4 puts each block on its device."""

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
        return super().load_transformer(accelerator, args, dit_path, attn_mode, split_attn, "cpu", dit_weight_dtype)


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
