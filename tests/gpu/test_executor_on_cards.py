"""The step executor on two real cards against the plain model on one."""

import itertools
import threading

import pytest
import torch
from tests.support.gradients import Gradients, gradient_differences
from tests.support.small_dit import Batch, flow_loss, small_batch, small_dit

from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.placement import even_placement, place_blocks, verify_placement
from diffusionforce.pipeline.recompute.graphs import BlockGraphs
from diffusionforce.pipeline.router import Router
from diffusionforce.pipeline.schedule.generators import Costs, best, gpipe, interleaved, turns

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]
OPTIONS = {"num_blocks": 8, "width": 256, "heads": 4, "checkpointing": True, "skip": True, "dropout": 0.1}


def batches(num_microbatches: int) -> list[Batch]:
    made = []
    for index in range(num_microbatches):
        x, timestep, text, target = (tensor.cuda(0) for tensor in small_batch(1, seed=index))
        made.append((x, timestep, text, target))
    return made


def gradients_of(model: torch.nn.Module) -> Gradients:
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    return {
        name: None if parameter.grad is None else parameter.grad.cpu()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def plain(num_microbatches: int, **changes) -> Gradients:
    model = small_dit(**{**OPTIONS, **changes}).cuda(0)
    for index, batch in enumerate(batches(num_microbatches)):
        torch.manual_seed(100 + index)
        (flow_loss(model, batch) / num_microbatches).backward()
    return gradients_of(model)


@pytest.mark.parametrize(
    ("chunks", "make_order"),
    [*itertools.product([1, 2], ["turns", "gpipe", "interleaved", "best"]), (4, "interleaved"), (4, "best")],
)
@pytest.mark.parametrize("way", ["model checkpoints", "recompute", "graphs", "tail in order"])
def test_gradients_equal_one_card(make_order, chunks, way):
    num_microbatches = 4
    expected = plain(num_microbatches)
    model = small_dit(**{**OPTIONS, "checkpointing": way in ("model checkpoints", "tail in order")}).cuda(0)
    placement = even_placement(8, ["cuda:0", "cuda:1"], chunks_per_stage=chunks)
    place_blocks(model.blocks, placement)
    verify_placement(model.blocks, placement)
    costs = Costs.equal(placement.device_of_chunk, backward_s=3, tail_s=0.1)
    generators = {"turns": turns, "gpipe": gpipe, "interleaved": interleaved, "best": best}
    order = generators[make_order](costs, num_microbatches=num_microbatches)
    data = batches(num_microbatches)
    graphs = BlockGraphs() if way == "graphs" else None
    executor = StepExecutor(
        model.blocks,
        placement,
        recompute=way == "recompute",
        graphs=graphs,
        tail_on_own_stream=way != "tail in order",
    )
    with executor.install():
        for _ in range(3):
            model.zero_grad(set_to_none=True)
            executor.step(
                order,
                microbatches=[lambda batch=batch: flow_loss(model, batch) for batch in data],
                seeds=[100 + index for index in range(num_microbatches)],
            )
            assert gradient_differences(expected, gradients_of(model), tolerance=1e-5) == []
    assert graphs is None or graphs.num_captured == 8
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("micro-batch")]


def test_graphs_under_autocast_with_lora_in_fp32():
    """The gradients of a block are then of two types, and its weights are cast inside the graphs."""
    options = {**OPTIONS, "checkpointing": False}
    model = small_dit(**options).cuda(0)
    for index, batch in enumerate(batches(2)):
        torch.manual_seed(100 + index)
        with torch.autocast("cuda", torch.bfloat16):
            loss = flow_loss(model, batch)
        (loss / 2).backward()
    expected = gradients_of(model)
    model, graphs = small_dit(**options).cuda(0), BlockGraphs()
    placement = even_placement(8, ["cuda:0", "cuda:1"], chunks_per_stage=2)
    place_blocks(model.blocks, placement)
    order = interleaved(Costs.equal(placement.device_of_chunk), num_microbatches=2)
    functions = [lambda batch=batch: flow_loss(model, batch) for batch in batches(2)]
    with StepExecutor(model.blocks, placement, graphs=graphs).install() as executor:
        for _ in range(2):
            model.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16):
                executor.step(order, microbatches=functions, seeds=[100, 101])
    assert graphs.num_captured == 8
    assert gradient_differences(expected, gradients_of(model), tolerance=0.03) == []


def test_the_router_alone_gives_the_gradients_of_one_card():
    expected = plain(1, dropout=0.0)
    model = small_dit(**{**OPTIONS, "dropout": 0.0}).cuda(0)
    placement = even_placement(8, ["cuda:0", "cuda:1"])
    place_blocks(model.blocks, placement)
    with Router(model.blocks, placement).install():
        for _ in range(3):
            model.zero_grad(set_to_none=True)
            flow_loss(model, batches(1)[0]).backward()
            assert gradient_differences(expected, gradients_of(model), tolerance=1e-6) == []


def test_memory_does_not_grow_from_step_to_step():
    model = small_dit(**{**OPTIONS, "num_blocks": 4}).cuda(0)
    placement = even_placement(4, ["cuda:0", "cuda:1"], chunks_per_stage=2)
    place_blocks(model.blocks, placement)
    order = interleaved(Costs.equal(placement.device_of_chunk), num_microbatches=2)
    data = batches(2)
    held: list[tuple[int, int]] = []
    with StepExecutor(model.blocks, placement).install() as executor:
        for _ in range(200):
            executor.step(order, microbatches=[lambda batch=batch: flow_loss(model, batch) for batch in data])
            torch.cuda.synchronize(0)
            torch.cuda.synchronize(1)
            held.append((torch.cuda.memory_allocated(0), torch.cuda.memory_allocated(1)))
    assert held[199] == held[19]
