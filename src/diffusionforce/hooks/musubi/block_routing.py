"""6: tensors follow the blocks from device to device, in sampling and in training."""

from typing import Any

from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.executor.step import StepExecutor


class BlockRouting(EngineTrainer):
    """Wraps the blocks of the prepared model, and recomputes activations where they are made.

    A model that recomputes around its blocks would recompute through the wrapper: it would copy everything a second
    time, and draw the dropout of the first device. So the model's own recomputing is switched off.
    """

    executor: StepExecutor | None = None

    def _prepare_with_accelerator(self, args: Any, accelerator: Any, transformer: Any, *rest: Any) -> Any:
        """Prepare, then wrap the blocks."""
        prepared = super()._prepare_with_accelerator(args, accelerator, transformer, *rest)
        model = accelerator.unwrap_model(prepared[0])
        if args.gradient_checkpointing:
            model.disable_gradient_checkpointing()
        assignment = self.assignment
        blocks = assignment.blocks_of(model)
        executor = StepExecutor(
            blocks,
            assignment.placement,
            recompute=args.gradient_checkpointing,
            contexts=assignment.contexts,
        )
        self.executor = executor.install()
        assignment.listener.on_placed(model, blocks)
        return prepared

    def release(self) -> None:
        """Give the blocks their own forwards back."""
        if self.executor is not None:
            self.executor.remove()
            self.executor = None
        super().release()


HOOK = Seam(
    number=6,
    name="block-routing",
    overrides=(
        method("_prepare_with_accelerator", "e4a1ca298cacee8fee202992ec5875280d345e65b23d5b15000af67389a91e7b"),
    ),
    reason="All blocks, and all tensors that they share, are on one device.",
    prevents='"Expected all tensors to be on the same device" in the first block on another card.',
    upstream_revision=REVISION,
    mixin=BlockRouting,
)
