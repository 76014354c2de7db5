"""The order in which blocks that live in RAM are brought in: that of the step's own schedule."""

import torch

from diffusionforce.hooks.musubi.assignment import interleaved_order
from diffusionforce.hooks.musubi.block_routing import _visits
from diffusionforce.pipeline.placement import Placement

CPU = torch.device("cpu")
PLACEMENT = Placement(devices=(CPU, CPU), chunk_sizes=(2, 1, 1, 2), stage_of_chunk=(0, 1, 0, 1))


def test_blocks_come_in_the_order_of_the_schedule_once_for_each_micro_batch() -> None:
    # With the order of one micro-batch the pager foresaw the wrong block at every turn.
    order = interleaved_order(PLACEMENT, 3)
    visits = _visits(order, PLACEMENT, 0)
    assert {block: visits.count(block) for block in set(visits)} == {0: 6, 1: 6, 3: 6}
    mine = [op for op in order if op.chunk in (0, 2)]
    expected = {("F", 0): [0, 1], ("B", 0): [1, 0], ("F", 2): [3], ("B", 2): [3]}
    assert visits == [block for op in mine for block in expected[op.kind, op.chunk]]


def test_one_micro_batch_goes_there_and_back() -> None:
    assert _visits(interleaved_order(PLACEMENT, 1), PLACEMENT, 1) == [2, 4, 5, 5, 4, 2]
