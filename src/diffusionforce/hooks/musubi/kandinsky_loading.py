"""17: Kandinsky 5 is read into RAM as well."""

from typing import Any

from diffusionforce.hooks.hook import Target
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer
from diffusionforce.hooks.seam import Seam


class KandinskyLoading(EngineTrainer):
    """Its loader does not use the device that it is given, but reads into RAM where blocks are to be swapped."""

    ends_in_ram = True

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
        """Load it as if blocks were to be swapped."""
        usual = args.blocks_to_swap
        args.blocks_to_swap = 1
        try:
            return super().load_transformer(
                accelerator, args, dit_path, attn_mode, split_attn, loading_device, dit_weight_dtype
            )
        finally:
            args.blocks_to_swap = usual


HOOK = Seam(
    number=17,
    name="kandinsky-loading",
    overrides=(
        (
            Target(
                module="musubi_tuner.kandinsky5_train_network",
                attribute="Kandinsky5NetworkTrainer.load_transformer",
            ),
            "42c4b0713abe289a3328fa1117fe3cad6df98d7bcd745749cf1ff540eb88f295",
        ),
    ),
    reason="The loader of Kandinsky 5 puts the whole model on the training device.",
    prevents="The first card runs out of memory when the model is loaded.",
    upstream_revision=REVISION,
    mixin=KandinskyLoading,
)
