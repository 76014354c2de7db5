"""Tensors without contents, against the ones that PyTorch has for its compiler."""

from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from tests.support.traced_models import SMALL_WAN, Example, mixed_example, pocket_example, wan_example
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from diffusionforce.pipeline.tracer import parts
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
    fakes = PytorchsOwn(allow_non_fake_inputs=True)
    monkeypatch.setattr(tracing, "HollowMode", lambda: fakes)
    monkeypatch.setattr(parts, "hollow_like", fakes.like)
    assert_alike(found, asdict(trace_training(subject)))


class PytorchsOwn(FakeTensorMode):
    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs)

    def like(self, meta: torch.Tensor) -> torch.Tensor:
        with self:
            plain = torch.empty_strided(meta.size(), meta.stride(), dtype=meta.dtype, device="cpu")
            return nn.Parameter(plain, meta.requires_grad) if isinstance(meta, nn.Parameter) else plain


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


def test_nobody_is_asked_for_a_device_by_way_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    # It was asked twice for every operation, which took longer than the operations.
    seen: set[str] = set()
    dispatch = StorageCounter.__torch_dispatch__

    def noted(self: StorageCounter, func: Any, *others: Any, **named: Any) -> Any:
        seen.add(func.namespace)
        return dispatch(self, func, *others, **named)

    monkeypatch.setattr(StorageCounter, "__torch_dispatch__", noted)
    trace_training(EXAMPLES["mixed precision"].subject())
    assert "aten" in seen and "prim" not in seen


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


def test_what_changes_its_shape_or_its_data_is_known_by_what_it_is_now() -> None:
    with HollowMode():
        x, wide = torch.empty(4, 1, 8), torch.empty(3, 5)
        assert x.squeeze_(1) is x and (x + 1).shape == (4, 8)
        assert (x.resize_(16, 16) + 1).shape == (16, 16)
        wide.data = torch.ones(2, 7, dtype=torch.half)
        assert (wide * 1).dtype == torch.half and wide.untyped_storage().nbytes() == 28


def test_a_conjugate_is_made_real_by_a_copy_where_a_card_makes_one() -> None:
    launches: list[int] = []
    for other in (lambda x: x, torch.conj):
        with HollowMode(), StorageCounter() as counter:
            x = torch.empty(4, 4, dtype=torch.complex64)
            before = counter.launches
            _ = x * other(x)
            launches.append(counter.launches - before)
    assert launches == [1, 2]


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
