"""6: tensors follow the blocks from device to device, in sampling and in training."""

from collections.abc import Iterator
from typing import Any

from diffusionforce.hooks.musubi.assignment import Assignment
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.aside import SampleRoom
from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.pager.pager import DEFAULT_SLOTS, CardPaging, Pager
from diffusionforce.pipeline.pager.slots import visits_of
from diffusionforce.pipeline.placement import Placement


class BlockRouting(EngineTrainer):
    """Wraps the blocks of the prepared model, and recomputes activations where they are made.

    A model that recomputes around its blocks would recompute through the wrapper: it would copy everything a second
    time, and draw the dropout of the first device. So the model's own recomputing is switched off.
    """

    executor: StepExecutor | None = None
    room: SampleRoom | None = None
    """Where samples are made."""
    _pager: Pager | None = None

    def _prepare_with_accelerator(self, args: Any, accelerator: Any, transformer: Any, *rest: Any) -> Any:
        """Prepare, then wrap the blocks."""
        prepared = super()._prepare_with_accelerator(args, accelerator, transformer, *rest)
        model = accelerator.unwrap_model(prepared[0])
        if args.gradient_checkpointing:
            model.disable_gradient_checkpointing()
        assignment = self.assignment
        blocks = assignment.blocks_of(model)
        # The pager lies innermost, so that it sees the blocks' calls when they are made.
        self._pager = pager = Pager(blocks, list(_cards(assignment)))
        pager.follow([_visits(assignment.placement, stage) for stage in range(len(assignment.placement.devices))])
        executor = StepExecutor(
            blocks,
            assignment.placement,
            recompute=args.gradient_checkpointing,
            contexts=assignment.contexts,
        )
        self.executor = executor.install()
        num_aside = assignment.num_aside or (0,) * len(assignment.placement.devices)
        self.room = SampleRoom(pager, num_aside=num_aside, wrappers=[executor])
        assignment.listener.on_placed(model, blocks)
        return prepared

    def release(self) -> None:
        """Give the blocks their own forwards back."""
        if self.executor is not None:
            self.executor.remove()
            self.executor = None
        if self._pager is not None:
            self._pager.close()
            self._pager = None
        super().release()


def _cards(assignment: Assignment) -> Iterator[CardPaging]:
    placement = assignment.placement
    for stage, device in enumerate(placement.devices):
        mine = placement.blocks_of_stage(stage)
        yield CardPaging(
            device=device,
            blocks=mine,
            paged=assignment.paged.intersection(mine),
            num_slots=assignment.num_slots[stage] if assignment.num_slots else DEFAULT_SLOTS,
        )


def _visits(placement: Placement, stage: int) -> list[int]:
    """A stage's blocks in the order of one micro-batch; with several it differs, which costs time only."""
    mine = [c for c, owner in zip(placement.chunks, placement.stage_of_chunk, strict=True) if owner == stage]
    return visits_of([*(("F", chunk) for chunk in mine), *(("B", chunk) for chunk in reversed(mine))])


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
