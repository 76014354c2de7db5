"""The pager beneath the step executor: two cards, interleaved micro-batches, the gradients of the whole model."""

import pytest
import torch
from tests.support.gradients import gradient_differences
from tests.support.small_dit import SmallDit, flow_loss, small_batch, small_dit

from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.pager.pager import CardPaging, Pager
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.schedule.generators import Costs, interleaved
from diffusionforce.pipeline.splitter.model import Cut

CPU = torch.device("cpu")
BATCHES = [small_batch(1, seed=seed) for seed in range(3)]


def gradients(model: SmallDit) -> dict[str, torch.Tensor | None]:
    found = {name: p.grad for name, p in model.named_parameters() if p.requires_grad}
    model.zero_grad(set_to_none=True)
    return found


@pytest.mark.parametrize(("checkpointing", "recompute"), [(True, False), (False, False), (False, True)])
def test_a_paged_interleaved_step_gives_the_gradients_of_the_resident_model(checkpointing: bool, recompute: bool):
    whole = small_dit(checkpointing=checkpointing, num_blocks=8)
    for batch in BATCHES:
        (flow_loss(whole, batch) / len(BATCHES)).backward()
    expected = gradients(whole)

    model = small_dit(checkpointing=checkpointing, num_blocks=8)
    cards = (0, 1, 0, 1)
    order = interleaved(Costs.equal(cards), num_microbatches=len(BATCHES))
    cut = Cut(chunk_sizes=(3, 2, 2, 1), card_of_chunk=cards, order=tuple(order))
    plans = [
        CardPaging(device=CPU, blocks=(0, 1, 2, 5, 6), paged=frozenset({0, 2, 5, 6}), num_slots=2),
        CardPaging(device=CPU, blocks=(3, 4, 7), paged=frozenset({3, 4, 7}), num_slots=2),
    ]
    pager = Pager(list(model.blocks), plans)
    pager.follow([cut.visits(0), cut.visits(1)])
    placement = Placement(devices=(CPU, CPU), chunk_sizes=cut.chunk_sizes, stage_of_chunk=cards)
    with StepExecutor(model.blocks, placement, recompute=recompute).install() as executor:
        for _ in range(2):
            executor.step(order, microbatches=[lambda batch=batch: flow_loss(model, batch) for batch in BATCHES])
            assert not gradient_differences(expected, gradients(model))
    assert [count.late_loads for count in pager.counts] == [0, 0], "the visits did not come in the schedule's order"
    pager.close()
