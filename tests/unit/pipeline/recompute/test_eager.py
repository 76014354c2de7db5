import weakref

import torch
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from diffusionforce.pipeline.recompute.eager import recomputed
from diffusionforce.pipeline.recompute.random_numbers import OwnRandomNumbers


class Layer(nn.Module):
    """Gives a dict, takes nested arguments, drops out and counts its runs."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.num_runs = nn.Linear(4, 4), 0

    def forward(self, inputs, *, factor):
        self.num_runs += 1
        dropped = functional.dropout(self.linear(inputs["x"]), 0.5)
        return {"y": dropped * factor, "sum": (dropped.sum(), inputs["x"].mean())}


def gradients(run, *, bf16=False):
    torch.manual_seed(0)
    layer, x, factor = Layer(), torch.randn(2, 4, requires_grad=True), torch.randn(4, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        result = run(layer, ({"x": x},), {"factor": factor})
    (result["y"].float().sum() + result["sum"][0].float() * 2).backward()
    return [x.grad, factor.grad, layer.linear.weight.grad, layer.linear.bias.grad], layer


def direct(layer, args, kwargs):
    return layer(*args, **kwargs)


def test_gradients_with_dropout_and_nested_values_equal_the_direct_call():
    for bf16 in (False, True):
        expected, _ = gradients(direct, bf16=bf16)
        found, layer = gradients(recomputed, bf16=bf16)
        for one, other in zip(found, expected, strict=True):
            assert one is not None and other is not None and torch.equal(one, other)
        assert layer.num_runs == 2


def test_what_was_cast_of_a_blocks_weights_goes_with_its_forward():
    # Symptom: a card held 0.3 GiB more than planned, the LoRA of all blocks a second time.
    class Watching(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.casts = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if func is torch.ops.aten._to_copy.default and args[0] is layer.weight:
                self.casts.append(weakref.ref(result))
            return result

    layer = nn.Linear(4, 4)
    with torch.autocast("cpu", torch.bfloat16), Watching() as seen:
        result = recomputed(layer, (torch.randn(2, 4, requires_grad=True),), {})
        assert [cast() for cast in seen.casts] == [None]
    result.float().sum().backward()
    assert layer.weight.grad is not None


def test_the_gradient_of_a_transposed_input_lies_as_without_recomputing():
    # Symptom: gradients of HunyuanVideo 1.5 differed from those of one device in the last bit, summed in another order.
    strides: list[tuple[int, ...]] = []

    def run(call):
        made = torch.randn(1, 4, 6, requires_grad=True)
        tokens = made.transpose(1, 2) * 1.0
        assert not tokens.is_contiguous()
        tokens.register_hook(lambda gradient: strides.append(gradient.stride()))
        call(lambda x: x.square() @ torch.ones(4, 4), (tokens,), {}).sum().backward()

    run(direct)
    run(recomputed)
    (expected, found) = strides
    assert found == expected


def test_the_backward_leaves_the_random_numbers_where_they_were():
    torch.manual_seed(0)
    layer = Layer()
    result = recomputed(layer, ({"x": torch.randn(2, 4)},), {"factor": torch.ones(4)})
    before = torch.get_rng_state()
    result["y"].sum().backward()
    assert torch.equal(torch.get_rng_state(), before)
    assert layer.linear.weight.grad is not None


def test_own_random_numbers_go_on_where_they_stopped():
    torch.manual_seed(5)
    expected = torch.rand(4)
    torch.manual_seed(1)
    outside = torch.rand(2)
    torch.manual_seed(1)
    numbers, found = OwnRandomNumbers(5, []), []
    for part in range(2):
        with numbers.active():
            found.append(torch.rand(2))
        assert torch.equal(torch.rand(1)[0], outside[part])
    assert torch.equal(torch.cat(found), expected)
