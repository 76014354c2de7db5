"""12: samples are made where there is room for them, and a pass that does not fit is given up.

Blocks step aside to RAM while a pass runs and come back afterwards, as if nothing had been. Where that made too little
room the pass is made once more, with more of them aside: an allocator whose pieces cannot grow, as on Windows, leaves
holes that nothing fits in, and how large those are nobody knows before.
"""

from typing import Any

from diffusionforce.hooks.musubi.block_routing import BlockRouting
from diffusionforce.hooks.musubi.upstream import REVISION, method
from diffusionforce.hooks.seam import Seam


class SamplePass(BlockRouting):
    """Makes samples with the blocks aside."""

    def sample_images(
        self,
        accelerator: Any,
        args: Any,
        epoch: int | None,
        steps: int,
        vae: Any,
        transformer: Any,
        sample_parameters: Any,
        dit_dtype: Any,
    ) -> None:
        """Make a pass, if need be with more blocks aside; tell the listener if it did not fit."""
        assert self.room is not None, "the blocks are wrapped before the first sample"
        self.before_samples(args, accelerator, transformer)
        make, was_training = super().sample_images, transformer.training
        for is_again in (False, True):
            before = self.room.aside
            shortage = self.room.run(
                lambda: make(accelerator, args, epoch, steps, vae, transformer, sample_parameters, dit_dtype)
            )
            if shortage is None:
                return
            transformer.train(was_training)
            if is_again or self.room.aside == before:
                self.assignment.listener.on_samples_skipped(steps, shortage=shortage)
                return


HOOK = Seam(
    number=12,
    name="sample-room",
    overrides=(method("sample_images", "8e1311aeec4ef72b930419c510180ef2ab1891216d21cc6d78110bab4a43021c"),),
    reason="What trains leaves room for samples, or blocks are swapped by the trainer.",
    prevents="A sample that is larger than what is trained on ends the training: out of memory.",
    upstream_revision=REVISION,
    mixin=SamplePass,
)
