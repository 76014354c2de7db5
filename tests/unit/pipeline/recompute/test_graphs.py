"""What of captured graphs can be tested without a card; the replays are in tests/gpu."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.placement import even_placement
from diffusionforce.pipeline.recompute import graphs
from diffusionforce.pipeline.recompute.graphs import BlockGraphs, NotCapturableError
from diffusionforce.pipeline.schedule.generators import Costs, turns

CPU = torch.device("cpu")


@dataclass
class Group:
    shift: torch.Tensor


def test_without_a_card_blocks_are_recomputed():
    block, x = nn.Linear(3, 3), torch.randn(2, 3, requires_grad=True)
    runner = BlockGraphs()
    runner.run(block, block.forward, (x,), {}).sum().backward()
    found = (x.grad, block.weight.grad)
    expected = torch.autograd.grad(block(x).sum(), (x, block.weight))
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True) if one is not None)
    assert runner.num_captured == 0


def test_the_executor_hands_training_calls_to_the_graphs_and_no_others():
    """The executor once took graphs and forgot to pass them on: everything ran, only slowly."""
    calls: list[nn.Module] = []

    class Noting(BlockGraphs):
        def run(self, block, forward, args, kwargs):
            calls.append(block)
            return super().run(block, forward, args, kwargs)

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    with StepExecutor(model, even_placement(2, ["cpu", "cpu"]), graphs=Noting()).install() as executor:
        with torch.no_grad():
            model(torch.randn(1, 3))
        assert calls == []
        executor.step(
            turns(Costs.equal([0, 1]), num_microbatches=1), microbatches=[lambda: model(torch.randn(1, 3)).sum()]
        )
    assert calls == list(model)


def test_a_wrapped_forward_is_not_captured():
    """A pager brings weights in at each call of the forward that it wraps; a replay would not call it."""
    block = nn.Linear(2, 2)
    assert graphs.is_own_forward(block, block.forward)
    inner = block.forward
    block.forward = lambda input: inner(input)
    assert not graphs.is_own_forward(block, block.forward)


def key(*args):
    return graphs._call_key(args, torch.device("meta"))


def on_card(*size: int, **options) -> torch.Tensor:
    return torch.empty(*size, device="meta", **options)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((on_card(2),), (on_card(3),)),
        ((on_card(2),), (on_card(2, dtype=torch.float16),)),
        ((on_card(2),), (on_card(2, requires_grad=True),)),
        ((on_card(2, 3),), (on_card(3, 2).t(),)),
        ((torch.tensor([2]),), (torch.tensor([3]),)),
        ((1,), (1.0,)),
        (({"a": None},), ({"b": None},)),
        (([on_card(1)],), ((on_card(1),),)),
        ((Group(on_card(1)),), (Group(on_card(2)),)),
    ],
)
def test_calls_that_differ_have_graphs_of_their_own(one, other):
    assert key(*one) == key(*one)
    assert key(*one) != key(*other)


def test_values_on_the_card_do_not_matter():
    assert key(on_card(2), Group(on_card(1)), [None, "text"]) == key(on_card(2), Group(on_card(1)), [None, "text"])


@pytest.mark.parametrize("argument", [object(), torch.zeros(1000)], ids=["unknown object", "large host tensor"])
def test_calls_that_cannot_be_compared_are_not_captured(argument):
    with pytest.raises(NotCapturableError):
        key(argument)


def test_gradients_of_several_types_come_out_as_they_went_in():
    given = [torch.randn(2, 3), None, torch.randn(4).bfloat16(), torch.randn(3, 2).t(), torch.randn(()).bfloat16()]
    made: list[torch.Tensor] = []

    def buffer(role: str, index: int, like: torch.Tensor) -> torch.Tensor:
        made.append(torch.full_like(like, float("nan")))
        return made[-1]

    buffers = graphs.GradientBuffers(given, buffer, num_inputs=1)
    buffers.fill(given)
    found = buffers.copied()
    assert [flat.numel() for flat in made] == [6, 5, 6]
    for one, other in zip(given, found, strict=True):
        assert (one is None) == (other is None)
        assert one is None or other is None or (torch.equal(one, other) and one.dtype == other.dtype)
    made[0].zero_()
    assert found[0] is not None and found[0].abs().sum() > 0
