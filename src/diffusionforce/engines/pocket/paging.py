"""Blocks of the transformer in RAM: always, or while samples are made."""

from collections.abc import Iterator
from contextlib import contextmanager

from diffusionforce.engines.plans import RunPlan
from diffusionforce.engines.pocket.microbatches import PieceRunner
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.pipeline.aside import SampleRoom
from diffusionforce.pipeline.pager.pager import DEFAULT_SLOTS, CardPaging, Pager
from diffusionforce.pipeline.pager.slots import visits_of
from diffusionforce.pipeline.placement import Placement


@contextmanager
def installed(
    transformer: PocketTransformer, placement: Placement, *, runner: PieceRunner, plan: RunPlan | None
) -> Iterator[SampleRoom]:
    """Let the blocks be called, paged as the plan says, and give what makes room for samples.

    Args:
        transformer: The model with its LoRA, on its devices.
        placement: Where its blocks are.
        runner: Runs the steps.
        plan: Says what is paged; None: nothing.
    """
    pager = Pager(list(transformer.blocks), _cards(placement, plan))
    pager.follow([_visits(placement, stage) for stage in range(len(placement.devices))])
    num_aside = [device.num_aside for device in plan.devices] if plan is not None else [0] * len(placement.devices)
    try:
        # The pager lies innermost, so that it sees the blocks' calls when they are made.
        with runner.installed():
            yield SampleRoom(pager, num_aside=num_aside, wrappers=runner.wrappers)
    finally:
        pager.close()


def _cards(placement: Placement, plan: RunPlan | None) -> list[CardPaging]:
    paged = plan.paged if plan is not None else frozenset[int]()
    return [
        CardPaging(
            device=device,
            blocks=placement.blocks_of_stage(stage),
            paged=paged.intersection(placement.blocks_of_stage(stage)),
            num_slots=plan.devices[stage].num_slots if plan is not None else DEFAULT_SLOTS,
        )
        for stage, device in enumerate(placement.devices)
    ]


def _visits(placement: Placement, stage: int) -> list[int]:
    """A stage's blocks in the order of one micro-batch; with several it differs, which costs time only."""
    mine = [c for c, owner in zip(placement.chunks, placement.stage_of_chunk, strict=True) if owner == stage]
    return visits_of([*(("F", chunk) for chunk in mine), *(("B", chunk) for chunk in reversed(mine))])
