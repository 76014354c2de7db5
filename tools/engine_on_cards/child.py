"""`python -m tools.engine_on_cards.child ROW tiny|full JOB_FILE`: the product's trainer process, text encoder apart.

It is `diffusionforce.trainer` with an engine that lets something stand for the text encoder. In its tiny form sizes are
small and a plan for two parts of the processor takes the place of one for cards, which the product does not train
without.
"""

import importlib
import sys
from pathlib import Path
from typing import Any

import torch

from diffusionforce.engines.musubi import MusubiEngine, open_engine
from diffusionforce.engines.musubi.readiness import require_ready
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.job import Job
from diffusionforce.runs import require_resumable
from diffusionforce.trainer.__main__ import main as train
from diffusionforce.trainer.planning import PlannedRun, plan_run
from diffusionforce.wire import Done, Stopped
from diffusionforce.wire.forecast import Forecast
from tools.engine_on_cards.models import Model, model_of, shrink
from tools.engine_on_cards.processor import let_engine_import
from tools.engine_on_cards.rows import ROWS, Row


class MeasuredEngine(MusubiEngine):
    """The engine, with something that stands for the text encoder.

    Args:
        model: The row's model.
        tiny_blocks: Blocks of the tiny model; 0 for the real one.
    """

    def __init__(self, model: Model, *, tiny_blocks: int) -> None:
        self._model = model
        self._tiny_blocks = tiny_blocks
        if tiny_blocks:
            open_engine()
            let_engine_import()
            shrink(model, num_blocks=tiny_blocks)

    def check(self, job: Job) -> None:
        """As ever, but a processor will do for the tiny model."""
        if not self._tiny_blocks:
            super().check(job)
            return
        require_ready(job)
        require_resumable(job)

    def train(self, job: Job, **named: Any) -> Done | Stopped:
        """As ever, with the encoder replaced before anything is loaded."""
        open_engine()
        importlib.import_module(f"musubi_tuner.{self._model.family.trainer.train}")
        self._model.kind.replace_encoder()
        return super().train(job, **named)


def tiny_plan(row: Row, job: Job) -> PlannedRun:
    """A plan for parts of the processor, with blocks in RAM and one that steps aside for samples.

    Paging is left out with two transformers, which change places in RAM.
    """
    num, has_two = row.blocks, row.profile.startswith("wan22")
    pages = bool(row.budget_gib) and not has_two
    each = num // (2 * row.num_cards)
    plan = RunPlan(
        devices=tuple(
            DevicePlan(device="cpu", label=f"part {index}", num_aside=int(row.makes_samples and bool(row.budget_gib)))
            for index in range(row.num_cards)
        ),
        chunk_sizes=(num,) if row.num_cards == 1 else (each, each, each, num - 3 * each),
        stage_of_chunk=(0,) if row.num_cards == 1 else (0, 1, 0, 1),
        paged=frozenset({1, 2}) if pages else frozenset(),
        num_microbatches=2 if row.num_cards > 1 else row.batch_size // (row.at_a_time or row.batch_size),
        weights=row.weights,
        words=f"tiny, {row.weights} weights",
    )
    forecast = Forecast(
        profile_name=job.profile_name,
        title=job.profile.title,
        engine="musubi",
        num_blocks=num,
        rig=(),
        is_here=True,
        ram_total_bytes=0,
        ram_usable_bytes=0,
        times="unknown",
        phases=(),
        ways=(),
    )
    return PlannedRun(plan=plan, forecast=forecast, rig=(), modelled_s=1.0)


def main(name: str, size: str, job_file: Path) -> int:
    """Train the job, and return the exit code."""
    row, tiny = ROWS[name], size == "tiny"
    if tiny:
        torch.set_num_threads(1)

    def load_engine(profile: Any) -> MeasuredEngine:
        return MeasuredEngine(model_of(profile.model.family), tiny_blocks=row.blocks if tiny else 0)

    def plan_tiny(job: Job, /, *, finds_changes: bool = True) -> PlannedRun:
        return tiny_plan(row, job)

    return train(job_file, load_engine=load_engine, make_plan=plan_tiny if tiny else plan_run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
