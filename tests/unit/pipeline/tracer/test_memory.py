"""The counter and the stand-ins by themselves."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from diffusionforce.pipeline.tracer import standins
from diffusionforce.pipeline.tracer.blocks import kinds_of, storage_bytes
from diffusionforce.pipeline.tracer.memory import StorageCounter, allocated_bytes
from diffusionforce.pipeline.tracer.standins import CardKernels, autocast_for_cards

MIB = 1 << 20


@pytest.mark.parametrize(
    ("size", "taken"),
    [
        (0, 0),
        (1, 512),
        (513, 1024),
        (5 * MIB + 1, 5 * MIB + 512),
        (12 * MIB, 12 * MIB),
        (11 * MIB, 12 * MIB),
        (10 * MIB + 512 * 1024, 10 * MIB + 512 * 1024),
        (141_557_760, 142_606_336),
    ],
)
def test_sizes_are_rounded_as_the_allocator_rounds_them(size: int, taken: int) -> None:
    assert allocated_bytes(size) == taken


def test_views_share_and_the_last_one_frees() -> None:
    with StorageCounter() as counter:
        first = torch.empty(256, dtype=torch.float32)
        view = first.view(16, 16)[3:]
        assert counter.live == 1024
        second = first + 1
        assert counter.live == 2048
        del first, second
        assert counter.live == 1024
        del view
        assert (counter.live, counter.peak) == (0, 2048)
        counter.restart_peak()
        assert counter.peak == 0


def test_storages_belong_to_who_was_current_when_they_were_made() -> None:
    with StorageCounter() as counter:
        counter.owner = "a"
        kept = torch.empty(128)
        counter.owner = "b"
        other = torch.empty(256)
        del kept
        assert (counter.live_bytes["a"], counter.live_bytes["b"], counter.live) == (0, 1024, other.nbytes)


def test_a_number_that_does_not_exist_is_not_invented() -> None:
    with FakeTensorMode(), StorageCounter(), pytest.raises(DataDependentOutputException):
        torch.ones(1).sum().item()


@pytest.mark.parametrize(
    ("work", "moved_bytes"),
    [
        (lambda x: x + 1, 2 * 4 * 256 * 256),
        (lambda x: x.to(torch.bfloat16), (4 + 2) * 256 * 256),
        (lambda x: x.add_(x), 3 * 4 * 256 * 256),
        (lambda x: torch.empty_like(x).copy_(x), 2 * 4 * 256 * 256),
        (lambda x: x.transpose(0, 1)[3:], 0),
        (lambda x: x @ torch.empty(256, 2), 4 * (256 * 256 + 256 * 2 + 256 * 2)),
        (lambda x: torch.empty(2048, 2048) @ torch.empty(2048, 2048), 0),
        (lambda x: torch.cat([x, x]), 2 * 2 * 4 * 256 * 256),
        (lambda x: x + torch.empty(1).expand(256, 256), 2 * 4 * 256 * 256 + 4),
        (lambda x: F.rms_norm(x, (256,)), 2 * 4 * 256 * 256),
    ],
    ids=["add", "cast", "in place", "copy", "view", "few columns", "large product", "list", "expanded", "norm"],
)
def test_what_waits_for_memory_is_counted(work: Callable[[torch.Tensor], object], moved_bytes: int) -> None:
    x = torch.zeros(256, 256)
    with StorageCounter() as counter, CardKernels() as kernels:
        work(x)
    assert counter.moved_bytes + kernels.moved_bytes == moved_bytes


def test_a_norm_moves_its_input_again_for_its_gradients() -> None:
    x, weight = torch.zeros(64, 128, requires_grad=True), torch.ones(128, requires_grad=True)
    with CardKernels() as kernels:
        result = F.rms_norm(x, (128,), weight)
        result.backward(torch.empty_like(result))
    assert (kernels.launches, kernels.moved_bytes) == (3, (2 + 3 + 2) * x.nbytes)


def saved_bytes(function: object, *inputs: torch.Tensor) -> int:
    """What stays for the backward beside the inputs and the result."""
    with StorageCounter() as counter, CardKernels():
        for tensor in inputs:
            counter.note(tensor)
        before = counter.live
        result = function(*inputs)  # type: ignore[operator]
        return counter.live - before - storage_bytes([result])


def test_attention_saves_one_float_a_row_and_no_scores() -> None:
    query, key, value = (torch.randn(2, 4, n, 16, requires_grad=True) for n in (64, 128, 128))
    with CardKernels() as kernels:
        result = F.scaled_dot_product_attention(query, key, value)
        assert kernels.flops == 4 * 2 * 4 * 64 * 128 * 16
    assert result.shape == (2, 4, 64, 16)
    assert result.transpose(1, 2).is_contiguous(), "as the kernels lay it out, so that no copy follows"
    assert saved_bytes(F.scaled_dot_product_attention, query, key, value) == 4 * 2 * 4 * 64


def test_rms_norm_saves_one_float_a_row() -> None:
    x, weight = torch.randn(64, 128, requires_grad=True), torch.ones(128, requires_grad=True)
    assert saved_bytes(lambda x, w: F.rms_norm(x, (128,), w), x, weight) == 512
    nn.RMSNorm(128)(x).sum().backward()


@pytest.mark.parametrize(("promotes", "dtype"), [(True, torch.float32), (False, torch.bfloat16)])
def test_rms_norm_under_autocast_is_what_this_pytorch_makes_of_it(
    promotes: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pocket model's norms of queries and keys were counted in 32 bits, and cards with PyTorch 2.11 kept 16."""
    monkeypatch.setattr(standins, "RMS_NORM_IN_FULL_PRECISION", promotes)
    x, weight = torch.randn(4, 8, dtype=torch.bfloat16), torch.ones(8, dtype=torch.bfloat16)
    with autocast_for_cards(), CardKernels(), torch.autocast("cuda", dtype=torch.bfloat16):
        assert F.rms_norm(x, (8,), weight).dtype == dtype


def test_dropout_saves_a_byte_a_number() -> None:
    x = torch.randn(64, 128, requires_grad=True)
    assert saved_bytes(lambda x: F.dropout(x, 0.1), x) == 64 * 128
    assert saved_bytes(lambda x: F.dropout(x, 0.1, False) + 0, x) == 0


def test_norms_and_losses_run_in_full_precision_under_autocast_as_on_a_card() -> None:
    x = torch.randn(4, 8, dtype=torch.bfloat16)
    with autocast_for_cards(), CardKernels(), torch.autocast("cuda", dtype=torch.bfloat16):
        assert F.layer_norm(x, (8,)).dtype == torch.float32
        assert F.mse_loss(x, x).dtype == torch.float32
        assert F.linear(x.float(), torch.randn(8, 8)).dtype == torch.bfloat16
    assert not torch.is_autocast_enabled("cpu")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert F.layer_norm(x, (8,)).dtype == torch.bfloat16, "undone"


def test_the_first_block_of_a_kind_is_a_kind_of_its_own() -> None:
    double, single = (lambda: nn.Linear(4, 4)), (lambda: nn.Linear(4, 4, bias=False))
    kinds, representatives = kinds_of([double(), double(), double(), single(), single()])
    assert kinds == (0, 1, 1, 2, 3)
    assert representatives == (0, 1, 3, 4)
    frozen = double().requires_grad_(False)
    assert kinds_of([double(), frozen])[0] == (0, 1)


def test_what_starts_a_kernel_is_counted_and_what_only_looks_is_not() -> None:
    counter, x = StorageCounter(), torch.ones(4, 6)
    with counter:
        halves = x.view(2, 12).transpose(0, 1).split(6)
        torch.empty(3)
        assert counter.launches == 0
        (halves[0] @ halves[1].T).relu_().add(1)
        assert counter.launches == 3
