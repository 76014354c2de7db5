"""The forecast against what PyTorch says a card held, with a few blocks of real width."""

from dataclasses import replace

import pytest
import torch

from diffusionforce.pipeline.bench.model import BenchmarkShape
from diffusionforce.trainer.forecast_bench.jobs import BenchJob
from diffusionforce.trainer.forecast_bench.models import wan_shaped
from diffusionforce.trainer.forecast_bench.planning import Planning
from diffusionforce.trainer.forecast_bench.running import Bench, OutOfBudgetError
from diffusionforce.trainer.forecast_bench.workspaces import workspace_sizes

NUM_CARDS = torch.cuda.device_count()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(NUM_CARDS == 0, reason="needs a CUDA card"),
]
MODEL = wan_shaped("wan", BenchmarkShape(num_blocks=4))
JOB = BenchJob(name="job", model="wan", num_tokens=4096, num_microbatches=2, chunks_each=1, num_steps=1)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench([torch.device("cuda", index) for index in range(min(2, NUM_CARDS))])


@pytest.fixture(scope="module")
def planning(bench: Bench) -> Planning:
    return Planning({"wan": MODEL}, workspace_sizes(bench.devices[0]))


@pytest.mark.parametrize("num_cards", [1, 2])
def test_a_step_holds_what_was_forecast(bench: Bench, planning: Planning, num_cards: int):
    if num_cards > NUM_CARDS:
        pytest.skip("needs two CUDA cards")
    job = replace(JOB, num_cards=num_cards, recompute="pipeline" if num_cards > 1 else "model")
    planned = planning.planned(job)
    seen = bench.run(MODEL, planned)
    assert max(map(abs, seen.stray_bytes)) < 64 << 20
    for forecast, measured in zip(planned.forecast.peak_bytes, seen.peak_bytes, strict=False):
        assert forecast == pytest.approx(measured, rel=0.06)


def test_too_small_a_budget_is_told_and_leaves_the_card_usable(bench: Bench, planning: Planning):
    planned = planning.planned(replace(JOB, num_cards=1, recompute="model"))
    with pytest.raises(OutOfBudgetError, match="out of memory"):
        bench.run(MODEL, planned, budgets_bytes=[round(0.9 * planned.forecast.peak_bytes[0])])
    assert bench.run(MODEL, planned).step_s > 0
