"""Number formats and threads."""

import pytest
import torch

from diffusionforce.engines.pocket import precision
from diffusionforce.engines.pocket.precision import limit_cpu_threads, sampling_precision, training_precision

CPU = torch.device("cpu")


@pytest.mark.parametrize(("wanted", "bf16"), [("fp32", False), ("bf16", True), ("auto", False)])
def test_training_on_a_processor(wanted: str, bf16: bool) -> None:
    assert training_precision(wanted, CPU).bf16 == bf16


@pytest.mark.parametrize("is_quick", [True, False])
def test_sampling_takes_what_the_processor_is_quick_at(monkeypatch: pytest.MonkeyPatch, is_quick: bool) -> None:
    monkeypatch.setattr(precision, "cpu_is_quick_at_bf16", lambda: is_quick)
    assert sampling_precision("auto", CPU).bf16 == is_quick
    assert not sampling_precision("fp32", CPU).bf16


def test_the_format_is_applied() -> None:
    matrix = torch.ones(2, 2)
    with training_precision("bf16", CPU).applied():
        assert torch.mm(matrix, matrix).dtype == torch.bfloat16
    with training_precision("fp32", CPU).applied():
        assert torch.mm(matrix, matrix).dtype == torch.float32


@pytest.mark.parametrize(("speeds", "answer"), [((1.0, 2.0), True), ((1.0, 1.1), False), ((1.0, 0.05), False)])
def test_the_processor_is_measured(monkeypatch: pytest.MonkeyPatch, speeds: tuple[float, float], answer: bool) -> None:
    fp32, bf16 = speeds
    monkeypatch.setattr(precision, "_product_s", lambda dtype: 1 / (bf16 if dtype == torch.bfloat16 else fp32))
    assert precision.cpu_is_quick_at_bf16.__wrapped__() is answer


@pytest.mark.parametrize(
    ("environment", "threads"),
    [({}, 7), ({"OMP_WAIT_POLICY": "passive"}, 8), ({"OMP_NUM_THREADS": "3"}, None)],
)
def test_threads_leave_room_unless_they_sleep(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], threads: int | None
) -> None:
    for name in ("OMP_WAIT_POLICY", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    chosen: list[int] = []
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr(torch, "set_num_threads", chosen.append)
    limit_cpu_threads()
    assert chosen == ([threads] if threads else [])
