"""What is planned for a job is what its run holds: real executor, fake cards."""

import itertools
from dataclasses import replace

import pytest
import torch
from tests.support.fake_cards import executed_peaks

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.bench.model import BenchmarkShape
from diffusionforce.trainer.forecast_bench.jobs import BenchJob, bench_jobs
from diffusionforce.trainer.forecast_bench.models import BenchModel, bench_models, wan_shaped
from diffusionforce.trainer.forecast_bench.planning import Planning
from diffusionforce.ugpum.allocator import WorkspaceSizes, held_bytes
from diffusionforce.ugpum.replayed import replayed

MODELS = bench_models(is_small=True)
NO_WORKSPACES = WorkspaceSizes(product_bytes=0)


@pytest.fixture(scope="module")
def planning() -> Planning:
    return Planning(MODELS, NO_WORKSPACES)


def small_job(model: str, *, num_microbatches: int = 2, **rest: object) -> BenchJob:
    job = BenchJob(name="job", model=model, num_tokens=256, num_microbatches=num_microbatches, chunks_each=2)
    return replace(job, **rest)  # pyright: ignore[reportArgumentType]


def assert_held(model: BenchModel, *, tolerance: float, spare: float = 0.0) -> None:
    """Compare a plan with the executor's peaks, before the optimiser has any state; `spare` may be left over."""
    planned = Planning({model.name: model}, NO_WORKSPACES).planned(small_job(model.name))
    executed = executed_peaks(model, planned)
    forecast = [card.peak_bytes - card.optimizer_bytes for card in planned.forecast.cards]
    for planned_bytes, held in zip(forecast, executed, strict=True):
        assert (1 - tolerance) * held <= planned_bytes <= (1 + tolerance + spare) * held


@pytest.fixture(autouse=True)
def _memory_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True")


def test_the_executor_holds_what_was_planned():
    # Symptom: recomputing in the pipeline held one boundary tensor more than was forecast.
    shape = {"width": 64, "feed_forward_width": 160, "num_heads": 2, "num_text_tokens": 16, "patch_channels": 16}
    four_blocks = BenchmarkShape(**shape, num_blocks=4, lora_rank=4, dtype=torch.float32)  # pyright: ignore[reportArgumentType]
    # Where a block's backward follows at once it is not recomputed, which a model of four blocks notices.
    assert_held(wan_shaped("wan", four_blocks), tolerance=0.01, spare=0.03)


@pytest.mark.slow
# Tensors of a boundary are a large part of so small a model with two kinds of blocks: one too many is 2 %.
@pytest.mark.parametrize(("name", "tolerance"), [("wan fp8", 0.01), ("klein", 0.05)])
def test_the_executor_holds_what_was_planned_for_other_models(name: str, tolerance: float):
    assert_held(MODELS[name], tolerance=tolerance)


def test_eight_bits_save_weights_but_not_what_is_computed_with_them(planning: Planning):
    whole, eight = (planning.footprint(small_job(model)).blocks[1] for model in ("wan", "wan fp8"))
    assert sum(eight.part.weights_bytes.values()) < 0.35 * sum(whole.part.weights_bytes.values())
    assert eight.part.trained_bytes == whole.part.trained_bytes
    assert eight.backward_bytes > whole.backward_bytes, "every call makes a copy in the format of the activations"


def test_under_a_budget_blocks_are_paged_until_the_plan_fits(planning: Planning):
    free = planning.planned(small_job("wan"))
    most = held_bytes(max(free.forecast.peak_bytes))
    plans = (planning.planned(small_job("wan", budget_bytes=most - less)) for less in range(0, 2_000_000, 50_000))
    planned = next(plan for plan in plans if plan.layout.paged)
    assert set(planned.layout.card_of_chunk) == {0, 1}
    assert all(planned.held_bytes(card) <= planned.job.budget_bytes for card in (0, 1))
    with pytest.raises(DeviceError):
        planning.planned(small_job("wan", budget_bytes=held_bytes(100_000)))


def test_blocks_step_aside_until_a_sample_fits(planning: Planning):
    job = small_job("wan", num_microbatches=1, is_sample=True)
    free = planning.planned(job)
    assert free.num_aside == (0, 0) and not free.layout.paged
    tight = planning.planned(replace(job, budget_bytes=held_bytes(max(free.forecast.peak_bytes)) - 50_000))
    assert tight.num_aside[0] > 3 and len(tight.layout.paged) == sum(tight.num_aside)
    assert all(tight.held_bytes(card) <= tight.job.budget_bytes for card in (0, 1))
    assert tight.forecast.cards[0].optimizer_bytes > 0, "the training waits with its optimiser"


def test_replayed_blocks_hand_out_boundaries_only(planning: Planning):
    footprint = planning.footprint(small_job("wan"))
    graphs = replayed(footprint)
    before, after = footprint.blocks[1], graphs.footprint.blocks[1]
    assert after.backward_bytes < before.backward_bytes and after.kept_bytes == before.kept_bytes
    assert after.backward_bytes == before.part.gradient_bytes + before.output_bytes
    assert graphs.pool_bytes == max(kind.backward_bytes for kind in footprint.kinds)


def test_there_are_enough_jobs_and_each_names_a_model():
    jobs = bench_jobs(is_small=False)
    assert len(jobs) >= 12 and len({job.name for job in jobs}) == len(jobs)
    assert {job.model for job in jobs} == set(MODELS)
    changes = sum(a.model != b.model for a, b in itertools.pairwise(jobs))
    assert changes == len(MODELS) - 1, "every model's weights are made once"
