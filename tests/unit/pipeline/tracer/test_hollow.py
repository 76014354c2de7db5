"""Tensors without contents, against the ones that PyTorch has for its compiler."""

from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from tests.support.traced_models import SMALL_WAN, Example, mixed_example, pocket_example, wan_example
from torch._subclasses.fake_tensor import FakeTensorMode

from diffusionforce.pipeline.tracer import trace as tracing
from diffusionforce.pipeline.tracer.hollow import HollowMode, contents_kept, is_hollow
from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.pipeline.tracer.trace import Subject, trace_training

EXAMPLES: dict[str, Example] = {
    "recomputed": wan_example(checkpointing=True),
    "kept": wan_example(checkpointing=False),
    "pocket": pocket_example(),
    "mixed precision": mixed_example(checkpointing=True),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_trace_finds_what_it_found_on_pytorchs_own_tensors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = EXAMPLES[name].subject()
    found = asdict(trace_training(subject))
    monkeypatch.setattr(tracing, "HollowMode", lambda: FakeTensorMode(allow_non_fake_inputs=True))
    assert_alike(found, asdict(trace_training(subject)))


def assert_alike(one: Any, other: Any) -> None:
    """The same within some per cent: PyTorch's tensors keep the sums of a layer norm in 16 bits, and cards in 32."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_alike(one[key], other[key])
    elif isinstance(one, list | tuple):
        for left, right in zip(one, other, strict=True):
            assert_alike(left, right)
    else:
        assert one == pytest.approx(other, rel=0.025)


def test_a_model_of_few_blocks_stands_for_all_of_them() -> None:
    whole = trace_training(wan_example(checkpointing=True).subject())
    few = wan_example(checkpointing=True, shape=replace(SMALL_WAN, num_blocks=3)).subject()
    assert whole == trace_training(replace(few, num_alike=lambda _model: [1, 1, SMALL_WAN.num_blocks - 2]))


def test_it_claims_to_be_on_the_processor_and_holds_nothing() -> None:
    with HollowMode():
        huge = torch.zeros(1 << 40)
        assert is_hollow(huge) and huge.device.type == "cpu" and (huge + 1).shape == huge.shape
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert F.linear(torch.ones(2, 4), torch.ones(3, 4)).dtype == torch.bfloat16
        with pytest.raises(RuntimeError, match="item"):
            huge.sum().item()


def test_gradients_flow_and_views_share() -> None:
    with HollowMode(), StorageCounter() as counter:
        weight = torch.ones(64, 64, requires_grad=True)
        before = counter.live
        assert weight.view(32, 128).t()[3:].untyped_storage()._cdata == weight.untyped_storage()._cdata
        assert counter.live == before
        (weight.view(32, 128) * 2).sum().backward()
        assert weight.grad is not None and weight.grad.shape == (64, 64)


def test_results_are_looked_up_by_shape_stride_and_dtype_and_are_new_each_time() -> None:
    with HollowMode():
        x = torch.empty(8, 16)
        first, again, turned, half = x * 2, x * 2, x.t() * 2, x.half() * 2
        assert first.untyped_storage()._cdata != again.untyped_storage()._cdata
        assert (turned.shape, turned.stride()) == ((16, 8), (1, 16))
        assert half.dtype == torch.float16
        parts = torch.native_layer_norm(x, (16,), None, None, 1e-5)
        assert [tuple(part.shape) for part in parts] == [(8, 16), (8, 1), (8, 1)]
        assert x.add_(1) is x


def test_what_was_made_before_becomes_hollow_and_stays_one_storage() -> None:
    table = torch.arange(12.0)
    with HollowMode(), StorageCounter() as counter:
        halves = table[:6].view(2, 3), table[6:].view(2, 3)
        assert all(map(is_hollow, halves))
        assert counter.live == 512, "both are views of one table"
        with contents_kept():
            assert (table * 2).tolist()[-1] == 22
        assert is_hollow(table * 2)


def test_a_subject_need_not_say_how_many_blocks_it_has() -> None:
    subject: Subject = EXAMPLES["kept"].subject()
    assert subject.num_alike is None and len(trace_training(subject).kind_of_block) == SMALL_WAN.num_blocks
