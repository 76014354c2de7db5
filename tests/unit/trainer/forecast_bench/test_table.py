"""The table on two cards that the processor plays: every kind of job runs, rows say what was seen, problems end no
other row."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from diffusionforce.errors import DeviceError, UserError
from diffusionforce.pipeline.schedule.simulation import Costs
from diffusionforce.pipeline.schedule.ticks import Op
from diffusionforce.trainer.forecast_bench.__main__ import main
from diffusionforce.trainer.forecast_bench.edge import Trial
from diffusionforce.trainer.forecast_bench.jobs import bench_jobs, chosen
from diffusionforce.trainer.forecast_bench.models import bench_models
from diffusionforce.trainer.forecast_bench.options import parse
from diffusionforce.trainer.forecast_bench.planning import Planning
from diffusionforce.trainer.forecast_bench.report import Row, Table
from diffusionforce.trainer.forecast_bench.running import Bench, OutOfBudgetError, Seen
from diffusionforce.trainer.forecast_bench.table import ForecastTable
from diffusionforce.trainer.forecast_bench.timing import IssuedClock
from diffusionforce.trainer.forecast_bench.workspaces import workspace_sizes
from diffusionforce.ugpum.allocator import WorkspaceSizes

CPU = torch.device("cpu")
SMALL = ("forecast", "--small", "--device", "cpu,cpu")
MODELS = bench_models(is_small=True)


@pytest.mark.slow
def test_jobs_run_and_become_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "rows.json"
    names = "wan 1024 x 2; wan sample 12288, mode A; wan 4096 x 2, one card, paged; klein 4096 x 2"
    assert main([*SMALL, "--jobs", names, "--json", str(path)]) == 0
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows, summary = records[1:-1], records[-1]["summary"]
    assert [row["job"] for row in rows] == [name.strip() for name in names.split(";")]
    assert not any(row["problem"] for row in rows)
    assert all(row["step_s"] > 0 and row["predicted_s"] > 0 for row in rows)
    assert summary["num_measured"] == 4 and summary["memory_median"] is None, "a processor does not count"
    output = capsys.readouterr().out
    assert all(row["job"] in output for row in rows) and "median error" in output


def test_a_job_that_fails_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    plain = Bench.run

    def run(self: Bench, model: object, planned: object, **rest: object) -> Seen:
        if planned.job.num_microbatches == 2:  # pyright: ignore
            raise OutOfBudgetError("out of memory: 3 GiB allocated")
        return plain(self, model, planned, **rest)  # pyright: ignore

    monkeypatch.setattr(Bench, "run", run)
    assert main([*SMALL, "--jobs", "wan 1024"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "out of memory: 3 GiB allocated" in next(line for line in lines if line.startswith("wan 1024 x 2"))
    assert "%" in next(line for line in lines if line.startswith("wan 1024 x 4"))


def test_no_job_is_begun_when_the_time_is_over(capsys: pytest.CaptureFixture[str]):
    assert main([*SMALL, "--jobs", "wan 1024", "--time-limit", "-1"]) == 0
    assert "wan 1024 x 2 and what follows were not begun" in capsys.readouterr().out


def test_jobs_are_listed_without_a_card(capsys: pytest.CaptureFixture[str]):
    assert main(["forecast", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [job.name for job in bench_jobs(is_small=False)]


def test_unknown_jobs_and_devices_are_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(UserError, match="sdxl"):
        chosen(bench_jobs(is_small=False), "wan 1024; sdxl")
    assert [job.name for job in chosen(bench_jobs(is_small=False), "wan 4096 x 4")] == ["wan 4096 x 4"]
    assert len(chosen(bench_jobs(is_small=False), "klein; wan 1024")) == 4
    with pytest.raises(DeviceError, match="two, not 3"):
        parse(["forecast", "--device", "cpu,cpu,cpu"])
    with pytest.raises(DeviceError, match="There is no cuda:9"):
        parse(["forecast", "--device", "cpu,cuda:9"])
    assert main(["forecast", "--device", "cpu,cpu,cpu"]) == 1
    assert "one card or two" in capsys.readouterr().err


def test_one_card_runs_the_jobs_of_one_card():
    options = replace(parse(["forecast", "--device", "cpu", "--small"]), only_list=True)
    names = [job.name for job in ForecastTable(options).jobs]
    assert names == [job.name for job in bench_jobs(is_small=True) if job.num_cards == 1] != []


def test_blocks_step_aside_for_a_sample_and_come_back():
    model = MODELS["wan"]
    job = next(job for job in bench_jobs(is_small=True) if job.is_sample)
    planned = replace(Planning(MODELS, WorkspaceSizes(product_bytes=0)).planned(job), num_aside=(4, 4))
    bench = Bench([CPU, CPU])
    before = [parameter.detach().clone() for parameter in bench.module(model).parameters()]
    seen = bench.run(model, planned)
    assert len(seen.all_steps_s) == job.num_steps and seen.late_loads <= 8
    frozen = [
        (old, new) for old, new in zip(before, bench.module(model).parameters(), strict=True) if not new.requires_grad
    ]
    assert frozen and all(torch.equal(old, new) for old, new in frozen)


def test_the_host_sets_the_pace_where_it_is_the_slower_one():
    costs = Costs(device_of=(0, 1), forward_s=(1.0, 1.0), backward_s=(1.0, 1.0))
    order = [Op("F", 0, 0), Op("F", 0, 1), Op("F", 1, 0), Op("F", 1, 1)]

    def end_s(issue_s: float) -> float:
        clock = IssuedClock(costs, host_forward_s=(issue_s, issue_s), host_backward_s=(issue_s, issue_s))
        for op in order:
            clock.run(op)
        return max(span.end_s for span in clock.spans)

    assert end_s(0.0) == 3.0
    assert end_s(0.25) == 3.0, "issued under what runs already"
    assert end_s(2.0) == 8.0


def test_a_trial_says_whether_the_forecast_came_true():
    trial = Trial(name="job", share=1.02, budgets_bytes=(1 << 30,), ran=False, problem="out of memory")
    assert not trial.as_forecast and "NOT AS FORECAST" in trial.line()
    assert replace(trial, share=0.96).as_forecast
    assert replace(trial, ran=True, peak_reserved_bytes=(1 << 30,)).as_forecast


def test_errors_are_relative_to_what_was_measured():
    planned = Planning(MODELS, WorkspaceSizes(product_bytes=0)).planned(bench_jobs(is_small=True)[1])
    forecast = planned.forecast.peak_bytes
    seen = Seen(
        step_s=2.0,
        all_steps_s=(2.0,),
        peak_bytes=(forecast[0] * 2, forecast[1]),
        peak_reserved_bytes=(0, 0),
    )
    row = Row(name="job", planned=planned, predicted_s=1.5, seen=seen)
    assert row.memory_errors == pytest.approx((-0.5, 0.0))
    assert row.time_error == pytest.approx(-0.25)
    assert "worst 50.0%" in " ".join(Table(rows=[row]).summary())


def test_a_processor_has_no_workspaces():
    assert workspace_sizes(CPU) == WorkspaceSizes(product_bytes=0)
