"""Goes through the jobs: forecast, run, one row each, written as soon as it is known."""

import sys
import time
import traceback
from collections.abc import Iterator

import torch

from diffusionforce.errors import UserError
from diffusionforce.trainer.forecast_bench.edge import trials
from diffusionforce.trainer.forecast_bench.jobs import BenchJob, bench_jobs, chosen
from diffusionforce.trainer.forecast_bench.models import bench_models
from diffusionforce.trainer.forecast_bench.options import BenchOptions
from diffusionforce.trainer.forecast_bench.planning import PlannedJob, Planning
from diffusionforce.trainer.forecast_bench.report import HEADINGS, Row, Table, json_line, table_line
from diffusionforce.trainer.forecast_bench.running import Bench, OutOfBudgetError
from diffusionforce.trainer.forecast_bench.timing import Timing
from diffusionforce.trainer.forecast_bench.workspaces import workspace_sizes
from diffusionforce.ugpum.allocator import WorkspaceSizes

EDGE_JOBS = (
    "wan 1024 x 2; wan 4096 x 4; wan 4096 x 4, mode B in 12 GiB; wan fp8 4096 x 2; klein 4096 x 2; "
    "wan 4096 x 2, one card; wan 4096 x 2, one card, paged"
)
"""What is run at the edge, unless other jobs are named."""
_LARGE_CARD = WorkspaceSizes(product_bytes=32 << 20)
"""What is shown without a card: the workspaces of a Hopper chip."""


class ForecastTable:
    """One run of the table.

    Args:
        options: What was asked.
    """

    def __init__(self, options: BenchOptions) -> None:
        self._options = options
        self._begin_s = time.monotonic()
        self._records: list[str] = []
        self._models = bench_models(is_small=options.is_small)
        names = options.names or ("" if not options.edge else EDGE_JOBS)
        self.jobs = chosen(bench_jobs(is_small=options.is_small), names)
        if options.devices:
            self.jobs = tuple(job for job in self.jobs if job.num_cards <= len(options.devices))
        self._table = Table()

    def run(self) -> Table:
        """Do what was asked."""
        if self._options.only_list:
            for job in self.jobs:
                self._line(job.name)
            return self._table
        sizes = workspace_sizes(self._options.devices[0]) if self._options.devices else _LARGE_CARD
        planning = Planning(self._models, sizes)
        self._line(f"workspaces: {sizes.product_bytes >> 20} MiB, {sizes.biased_bytes >> 20} MiB more with a bias")
        self._write_json({"workspaces": vars(sizes), "torch": torch.__version__})
        if self._options.edge:
            self._run_edge(planning)
        else:
            self._run_table(planning)
        return self._table

    def _run_table(self, planning: Planning) -> None:
        bench = Bench(self._options.devices) if self._options.devices else None
        timing = Timing(self._options.devices)
        self._line(table_line(HEADINGS))
        for job in self._in_time():
            row = self._row(job, planning, bench, timing)
            self._table.rows.append(row)
            self._line(table_line(row.cells()))
            self._write_json(row.record())
        for line in self._table.summary():
            self._line(line)
        self._write_json(self._table.record())

    def _row(self, job: BenchJob, planning: Planning, bench: Bench | None, timing: Timing) -> Row:
        planned: PlannedJob | None = None
        predicted_s: float | None = None
        try:
            planned = planning.planned(job)
            if bench is None:
                return Row(name=job.name, planned=planned)
            model = self._models[job.model]
            predicted_s = timing.predicted_s(model, bench.place(model, planned), planned)
            budgets = [job.budget_bytes] * job.num_cards if job.budget_bytes else []
            seen = bench.run(model, planned, budgets_bytes=budgets)
            return Row(name=job.name, planned=planned, predicted_s=predicted_s, seen=seen)
        except (UserError, OutOfBudgetError) as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - one job that fails must not take the others with it
            problem = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            sys.stderr.write(traceback.format_exc())
        return Row(name=job.name, planned=planned, predicted_s=predicted_s, problem=problem)

    def _run_edge(self, planning: Planning) -> None:
        bench = Bench(self._options.devices)
        num_as_forecast, num = 0, 0
        for job in self._in_time():
            try:
                for trial in trials(bench, self._models[job.model], planning.planned(job)):
                    num, num_as_forecast = num + 1, num_as_forecast + trial.as_forecast
                    self._line(trial.line())
                    self._write_json(trial.record())
            except Exception as error:  # noqa: BLE001 - one job that fails must not take the others with it
                sys.stderr.write(traceback.format_exc())
                self._line(f"{job.name}: {type(error).__name__}: {error}")
        self._line(f"{num_as_forecast} of {num} trials went as forecast.")

    def _in_time(self) -> Iterator[BenchJob]:
        """The jobs, for as long as there is time to begin one."""
        for job in self.jobs:
            if time.monotonic() - self._begin_s > self._options.time_limit_s:
                self._line(f"The time is over: {job.name} and what follows were not begun.")
                return
            yield job

    def _write_json(self, record: dict[str, object]) -> None:
        if self._options.json_path is not None:
            self._records.append(json_line(record))
            self._options.json_path.write_text("".join(self._records), encoding="utf-8")

    def _line(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
