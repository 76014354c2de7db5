"""6: tensors follow the blocks from device to device, in sampling and in training."""

from collections.abc import Iterator, Sequence
from typing import Any

from diffusionforce.hooks.musubi.assignment import Assignment, turns_order
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.aside import SampleRoom
from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.pager.pager import DEFAULT_SLOTS, CardPaging, Pager
from diffusionforce.pipeline.pager.slots import visits_of
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.recompute.graphs import BlockGraphs
from diffusionforce.pipeline.schedule.ticks import Op


class BlockRouting(EngineTrainer):
    """Wraps the blocks of the prepared model, and recomputes activations where they are made.

    A model that recomputes around its blocks would recompute through the wrapper: it would copy everything a second
    time, and draw the dropout of the first device. So the model's own recomputing is switched off.
    """

    executor: StepExecutor | None = None
    room: SampleRoom | None = None
    """Where samples are made."""
    _pager: Pager | None = None
    _order: Sequence[Op] = ()
    _ordered = (0, False)
    """Micro-batches of `_order`, and whether they go one after the other."""

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
        self.order_of(assignment.portions.num_pieces * args.gradient_accumulation_steps)
        graphs = BlockGraphs() if assignment.graphs else None
        executor = StepExecutor(
            blocks,
            assignment.placement,
            recompute=args.gradient_checkpointing,
            graphs=graphs,
            contexts=assignment.contexts,
        )
        self.executor = executor.install()
        num_aside = assignment.num_aside or (0,) * len(assignment.placement.devices)
        self.room = SampleRoom(pager, num_aside=num_aside, wrappers=[executor], graphs=graphs)
        assignment.listener.on_placed(model, blocks)
        return prepared

    def order_of(self, num_microbatches: int) -> Sequence[Op]:
        """The schedule for a number of micro-batches, which blocks in RAM are brought in by from now on."""
        wanted = (num_microbatches, self.assignment.portions.in_turn)
        if wanted != self._ordered:
            assert self._pager is not None, "the blocks are wrapped before the first step"
            placement = self.assignment.placement
            make = turns_order if self.assignment.portions.in_turn else self.assignment.order
            self._order, self._ordered = tuple(make(placement, num_microbatches)), wanted
            self._pager.follow([_visits(self._order, placement, stage) for stage in range(len(placement.devices))])
        return self._order

    def release(self) -> None:
        """Give the blocks their own forwards back."""
        if self.executor is not None:
            self.executor.remove()
            self.executor = None
        if self._pager is not None:
            self._pager.close()
            self._pager, self._ordered = None, (0, False)
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


def _visits(order: Sequence[Op], placement: Placement, stage: int) -> list[int]:
    """A stage's blocks in the order in which a step comes to them: a block comes once for every micro-batch."""
    mine = (op for op in order if placement.stage_of_chunk[op.chunk] == stage)
    return visits_of((op.kind, placement.chunks[op.chunk]) for op in mine)


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
