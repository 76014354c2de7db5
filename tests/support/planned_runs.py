"""Plans of runs on two cards that are not there, and a trainer process that trains by one with a pretended engine.

`python -m tests.support.planned_runs JOB_FILE`. `FAKE_PLAN` chooses, by words with commas between them:

    refused     nothing fits
    memory      the second card runs out of memory in step 3
    foreign     likewise, and another program has its memory
    slow        steps take twice as long as planned
"""

import os
import sys
from pathlib import Path

from diffusionforce.engines.contract import Controls, Datasets, Output, Report
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.errors import CardMemoryError
from diffusionforce.job import Job, Profile
from diffusionforce.trainer.__main__ import main
from diffusionforce.trainer.planning import PlannedRun, refusal, run_plan
from diffusionforce.wire import DeviceReading, Done, Step, Stopped
from diffusionforce.wire.forecast import CardNeed, Forecast, ForecastCard, PhaseNeed, Way, WayCard

GIB = 1 << 30
RIG = ("RTX 3090 GPU-a driver 1", "RTX 3060 GPU-b driver 1")
LABELS = ("GPU 0 (RTX 3090)", "GPU 1 (RTX 3060)")
STEP_S = 0.5


def forecast(
    *, needed_gib: tuple[float, float] = (12, 8), fits: bool = True, step_s: float | None = STEP_S
) -> Forecast:
    """A split over two cards, with blocks of the second stepping aside for samples."""
    budgets = (20 * GIB, 10 * GIB)
    needed = [int(one * GIB) for one in needed_gib]
    way = Way(
        words="split, bf16 weights, 4 micro-batches",
        kind="split",
        mode="C",
        weights="bf16",
        num_microbatches=4,
        schedule="interleaved",
        fits=fits,
        recommended=fits,
        reason="The fastest way that fits." if fits else "needs 2 GB more on GPU 1 (RTX 3060).",
        step_s=step_s,
        cards=tuple(
            WayCard(device=f"cuda:{index}", num_blocks=5, num_paged=0, needed_bytes=need, missing_bytes=0)
            for index, need in enumerate(needed)
        ),
        chunk_sizes=(3, 3, 2, 2),
        card_of_chunk=(0, 1, 0, 1),
    )
    return Forecast(
        profile_name="pocket-demo",
        title="Pocket demo",
        engine="pocket",
        num_blocks=10,
        rig=tuple(
            ForecastCard(
                device=f"cuda:{index}",
                label=label,
                total_bytes=budget + 2 * GIB,
                taken_bytes=GIB,
                reserve_bytes=GIB,
                budget_bytes=budget,
            )
            for index, (label, budget) in enumerate(zip(LABELS, budgets, strict=True))
        ),
        is_here=True,
        ram_total_bytes=64 * GIB,
        ram_usable_bytes=32 * GIB,
        times="catalogue" if step_s is not None else "unknown",
        phases=(
            PhaseNeed(phase="training", cards=tuple(CardNeed(weights_bytes=need) for need in needed), words="64 x 64"),
            PhaseNeed(phase="sampling", cards=(CardNeed(weights_bytes=GIB),) * 2, num_aside=(0, 4)),
        ),
        ways=(way,),
        refusal=() if fits else ("This needs 2 GB more on GPU 1 (RTX 3060).",),
        ways_out=() if fits else ("fp8 weights (fits, 0.6 s a step)",),
    )


def planned(*, needed_gib: tuple[float, float] = (12, 8), step_s: float | None = STEP_S, words: str = "") -> PlannedRun:
    """The plan of that forecast."""
    made = forecast(needed_gib=needed_gib, step_s=step_s)
    way = made.ways[0].model_copy(update={"words": words or made.ways[0].words})
    return PlannedRun(plan=run_plan(made, way), forecast=made, rig=RIG, modelled_s=STEP_S)


def step(number: int, *, seconds: float = STEP_S, peaks_gib: tuple[float, float] = (12, 8), num_steps: int = 4) -> Step:
    """A step on the two cards, whose peaks are given."""
    devices = tuple(
        DeviceReading(device=f"cuda:{index}", peak_bytes=int(peak * GIB), busy=0.8)
        for index, peak in enumerate(peaks_gib)
    )
    return Step(
        step=number, num_steps=num_steps, loss=0.1, learning_rate=1e-4, seconds=seconds, eta_s=1, devices=devices
    )


class PlannedEngine:
    """Pretends to train by its plan."""

    def check(self, job: Job) -> None:
        """Accept every job."""

    def train(
        self,
        job: Job,
        *,
        datasets: Datasets,
        output: Output,
        report: Report,
        controls: Controls,
        plan: RunPlan | None = None,
    ) -> Done | Stopped:
        """Report steps that are as planned, or as `FAKE_PLAN` says."""
        assert plan is not None, "the plan was not handed on"
        assert [type(device) for device in plan.devices] == [DevicePlan] * 2
        for number in range(1, job.profile.training.steps + 1):
            if number == 3 and {"memory", "foreign"} & _words():
                raise CardMemoryError(
                    f"{LABELS[1]} ran out of memory in the backward pass of step 3.",
                    hint="The LoRA of step 2 is saved.",
                    device="cuda:1",
                    wanted_bytes=GIB,
                    held_bytes=int((4 if "foreign" in _words() else 9.5) * GIB),
                )
            report(
                step(number, seconds=(2 if "slow" in _words() else 1) * STEP_S, num_steps=job.profile.training.steps)
            )
        return Done(step=job.profile.training.steps, lora="", seconds=1)


def _words() -> set[str]:
    return set(os.environ.get("FAKE_PLAN", "").split(","))


def _load_engine(profile: Profile) -> PlannedEngine:
    return PlannedEngine()


def _make_plan(job: Job, /, *, finds_changes: bool = True) -> PlannedRun:
    if "refused" in _words():
        raise refusal(forecast(fits=False))
    # With recomputed activations, and with smaller pictures, the second card needs less.
    training, dataset = job.profile.training, job.profile.dataset
    saved = (2 if training.gradient_checkpointing else 0) + (0.5 if dataset.width < 256 else 0)
    return planned(needed_gib=(12, 8 - saved))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), load_engine=_load_engine, make_plan=_make_plan))
