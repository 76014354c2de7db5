"""The pager with real copy streams: nothing is read before it has arrived, nothing is overwritten while it is read.

The blocks are wide enough that a copy takes longer than a block's kernels, so a missing wait gives wrong gradients.
"""

import logging

import pytest
import torch
from tests.support.small_dit import Batch, SmallDit, flow_loss, small_batch, small_dit

from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.pager.pager import CardPaging, Pager
from diffusionforce.pipeline.pager.slots import visits_of
from diffusionforce.pipeline.placement import Placement, place_blocks, verify_placement
from diffusionforce.pipeline.schedule.generators import Costs, interleaved
from diffusionforce.pipeline.splitter.model import Cut

NUM_CARDS = torch.cuda.device_count()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(NUM_CARDS == 0, reason="needs a CUDA card"),
]
NUM_BLOCKS = 10
SHAPE = {"num_blocks": NUM_BLOCKS, "width": 1024, "heads": 8}


def batch_on_first_card(seed: int) -> Batch:
    x, timestep, text, target = (tensor.cuda(0) for tensor in small_batch(2, seed=seed))
    return x, timestep, text, target


BATCHES = [batch_on_first_card(seed) for seed in range(4)] if NUM_CARDS else []


def model_on_first_card(*, checkpointing: bool) -> SmallDit:
    return small_dit(checkpointing=checkpointing, **SHAPE).to("cuda:0")


def gradients(model: SmallDit) -> dict[str, torch.Tensor]:
    found = {name: p.grad.cpu() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return found


def plain_step(model: SmallDit) -> dict[str, torch.Tensor]:
    for batch in BATCHES:
        (flow_loss(model, batch) / len(BATCHES)).backward()
    return gradients(model)


def largest_difference(expected: dict[str, torch.Tensor], found: dict[str, torch.Tensor]) -> float:
    """Relative to the largest entry of each gradient."""
    assert expected.keys() == found.keys() and len(expected) > NUM_BLOCKS
    return max(((found[name] - wanted).abs().max() / wanted.abs().max()).item() for name, wanted in expected.items())


def assert_equal(expected: dict[str, torch.Tensor], found: dict[str, torch.Tensor]) -> None:
    assert expected.keys() == found.keys() and len(expected) > NUM_BLOCKS
    wrong = [name for name in expected if not torch.equal(expected[name], found[name])]
    assert not wrong, f"{len(wrong)} gradients differ, the first is {wrong[0]}"


@pytest.mark.parametrize("checkpointing", [True, False])
@pytest.mark.parametrize("pinned_gib", [4, 0])
def test_one_card_gives_the_same_bits_step_after_step(
    checkpointing: bool, pinned_gib: int, caplog: pytest.LogCaptureFixture
):
    expected = plain_step(model_on_first_card(checkpointing=checkpointing))
    model = model_on_first_card(checkpointing=checkpointing)
    plan = CardPaging(
        device=torch.device("cuda:0"), blocks=tuple(range(NUM_BLOCKS)), paged=frozenset(range(NUM_BLOCKS)), num_slots=2
    )
    with caplog.at_level(logging.WARNING):
        pager = Pager(list(model.blocks), [plan], pinned_limit_bytes=pinned_gib << 30)
    assert bool(pager.pinned.locked_bytes) == bool(pinned_gib)
    assert ("could be locked" in caplog.text) != bool(pinned_gib)
    pager.follow([visits_of([("F", range(NUM_BLOCKS)), ("B", range(NUM_BLOCKS))])])
    for _ in range(5):
        assert_equal(expected, plain_step(model))
    assert pager.counts[0].late_loads == 0
    pager.close()


@pytest.mark.skipif(NUM_CARDS < 2, reason="needs two CUDA cards")
@pytest.mark.parametrize("recompute", [True, False])
def test_two_cards_page_and_interleave_to_the_same_gradients(recompute: bool):
    expected = plain_step(model_on_first_card(checkpointing=False))
    model = model_on_first_card(checkpointing=False)
    cards = (0, 1, 0, 1)
    devices = (torch.device("cuda:0"), torch.device("cuda:1"))
    order = interleaved(Costs.equal(cards), num_microbatches=len(BATCHES))
    cut = Cut(chunk_sizes=(3, 2, 3, 2), card_of_chunk=cards, order=tuple(order))
    placement = Placement(devices=devices, chunk_sizes=cut.chunk_sizes, stage_of_chunk=cards)
    place_blocks(model.blocks, placement)
    plans = [
        CardPaging(device=devices[0], blocks=(0, 1, 2, 5, 6, 7), paged=frozenset({0, 2, 5, 6, 7}), num_slots=2),
        CardPaging(device=devices[1], blocks=(3, 4, 8, 9), paged=frozenset({3, 8, 9}), num_slots=2),
    ]
    pager = Pager(list(model.blocks), plans, pinned_limit_bytes=4 << 30)
    verify_placement(model.blocks, placement, paged={block for plan in plans for block in plan.paged})
    pager.follow([cut.visits(0), cut.visits(1)])
    with StepExecutor(model.blocks, placement, recompute=recompute).install() as executor:
        for _ in range(5):
            executor.step(order, microbatches=[lambda batch=batch: flow_loss(model, batch) for batch in BATCHES])
            assert largest_difference(expected, gradients(model)) <= 1e-6
    assert [count.late_loads for count in pager.counts] == [0, 0]
    pager.close()
