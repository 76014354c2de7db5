"""The pocket model on real cards by a plan: budgets that bind, samples with blocks aside, and the comparison."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.support.pocket_runs import Run, tiny_job
from tests.support.trainer_process import trainer

from diffusionforce.engines.limits import enforce
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.errors import CardMemoryError, DeviceError
from diffusionforce.runs import RunFolder
from diffusionforce.wire import Compared, Done, Message, Planned, Step

NUM_CARDS = torch.cuda.device_count()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(NUM_CARDS == 0, reason="needs a CUDA card"),
]
MIB = 1 << 20
needs_two = pytest.mark.skipif(NUM_CARDS < 2, reason="needs two CUDA cards")
CARDS = pytest.mark.parametrize("num_cards", [1, pytest.param(2, marks=needs_two)])


@pytest.fixture(autouse=True)
def _without_limits() -> Iterator[None]:
    yield
    gc.collect()
    for index in range(NUM_CARDS):
        torch.cuda.set_per_process_memory_fraction(1.0, index)
    torch.cuda.empty_cache()


def plan(num_cards: int, *, num_aside: int = 0, budget_bytes: int | None = None) -> RunPlan:
    devices = tuple(
        DevicePlan(device=f"cuda:{index}", label=f"GPU {index}", budget_bytes=budget_bytes, num_aside=num_aside)
        for index in range(num_cards)
    )
    if num_cards == 1:
        return RunPlan(devices=devices, chunk_sizes=(10,), stage_of_chunk=(0,))
    return RunPlan(devices=devices, chunk_sizes=(3, 3, 2, 2), stage_of_chunk=(0, 1, 0, 1))


def test_the_allocator_refuses_what_is_over_the_budget():
    # What earlier tests of the process still hold counts too.
    held_bytes = torch.cuda.memory_reserved(0)
    enforce([DevicePlan(device="cuda:0", label="GPU 0", budget_bytes=held_bytes + 256 * MIB)])
    kept = torch.empty(200 * MIB, dtype=torch.uint8, device="cuda:0")
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(100 * MIB, dtype=torch.uint8, device="cuda:0")
    del kept
    torch.empty(200 * MIB, dtype=torch.uint8, device="cuda:0")


def test_a_card_with_nothing_to_give_is_refused():
    with pytest.raises(DeviceError, match="GPU 0 has no memory to give"):
        enforce([DevicePlan(device="cuda:0", label="GPU 0", budget_bytes=0)])


@CARDS
def test_samples_with_blocks_aside_change_no_loss(tmp_path: Path, num_cards: int):
    settings = {
        "steps": 4,
        "training__batch_size": 4,
        "training__gradient_checkpointing": True,
        "lora__dropout": 0.1,
        "devices__use": [f"cuda:{index}" for index in range(num_cards)],
    }
    without = Run(tiny_job(tmp_path / "without", **settings), plan=plan(num_cards)).losses
    job = tiny_job(tmp_path / "with", **settings, samples__prompts=["Blob"], samples__every_steps=1)
    run = Run(job, plan=plan(num_cards, num_aside=4, budget_bytes=2048 * MIB))
    assert isinstance(run.end, Done) and len(list(run.folder.samples_dir.iterdir())) == 5
    assert run.losses == without


def test_a_budget_that_is_too_small_ends_in_an_autopsy(tmp_path: Path):
    job = tiny_job(tmp_path, dataset__width=512, dataset__height=512, training__batch_size=16, devices__use=["cuda:0"])
    run = Run(job, plan=plan(1, budget_bytes=256 * MIB), begin=False)
    with pytest.raises(CardMemoryError, match=r"^GPU 0 ran out of memory .*more did not fit") as caught:
        run.train()
    assert caught.value.device == "cuda:0" and (caught.value.wanted_bytes or 0) > MIB
    assert "seen: allocated at most" in caught.value.detail


@CARDS
def test_a_whole_run_is_planned_compared_and_learnt_from(
    tmp_path: Path, num_cards: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    devices = [f"cuda:{index}" for index in range(num_cards)]
    said: list[list[Message]] = []
    for name in ("first", "second"):
        job = tiny_job(
            tmp_path / name, steps=6, training__batch_size=4, devices__use=devices, memory__budget_gb=[3.0]
        ).model_copy(update={"profile_name": "same"})
        with trainer(job, is_fake=False) as child:
            messages, code = child.finish()
        assert code == 0, messages[-1]
        said.append(messages)
        comparison = RunFolder.open(job.run_dir).read_state().comparison
        assert comparison is not None and [one.device for one in comparison.devices] == devices
        for one in comparison.devices:
            assert one.seen_bytes < 3 << 30
    first, second = ([one for one in messages if isinstance(one, Planned)] for messages in said)
    assert [device.device for device in first[0].devices] == devices
    assert all(device.budget_bytes == 3 << 30 for device in first[0].devices)
    assert len([one for one in said[0] if isinstance(one, Step)]) == 6
    compared = [[one for one in messages if isinstance(one, Compared)] for messages in said]
    assert [len(one) for one in compared] == [2, 2]
    # The second forecast knows the first run: no card holds more than a tenth beyond it any more.
    for device in compared[1][-1].devices:
        assert device.seen_bytes <= 1.1 * device.planned_bytes
    assert second[0].step_s is not None
    assert len(list((tmp_path / "home" / "lessons").iterdir())) == 1
