"""Numbers in words."""

import math
from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.cli.words import block_ranges, change, closing_lines, duration, measured, memory
from diffusionforce.runs import RunComparison, RunDevice, RunFolder, RunHeldOut


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3600, "1 h 00 min"),
        (90_000, "25 h 00 min"),
        (math.inf, "unknown"),
        (math.nan, "unknown"),
    ],
)
def test_durations(seconds: float, words: str):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("blocks", "words"), [((), "none"), ((3,), "3"), ((0, 1, 2), "0-2"), ((4, 0, 1, 7, 8), "0-1, 4, 7-8")]
)
def test_block_ranges(blocks: tuple[int, ...], words: str):
    assert block_ranges(blocks) == words


def test_memory():
    assert (memory(3 * 1024**2), memory(1536 * 1024**2)) == ("3 MB", "1.5 GB")
    assert (memory(1_250_000), memory(424 * 1024**2 + 600_000)) == ("1.2 MB", "425 MB")


@pytest.mark.parametrize(
    ("held_out", "short", "words"),
    [
        (None, "", ""),
        (RunHeldOut(before=0.2), "", "0.2000 before"),
        (RunHeldOut(before=0.2, after=0.1), "50 % lower", "0.2000 before, 0.1000 after, 50 % lower"),
        (RunHeldOut(before=0.2, after=0.3), "50 % higher", "0.2000 before, 0.3000 after, 50 % higher"),
        (RunHeldOut(before=0.0, after=0.3), "", "0.0000 before, 0.3000 after"),
    ],
)
def test_held_out_losses(held_out: RunHeldOut | None, short: str, words: str):
    assert (change(held_out), measured(held_out)) == (short, words)


@pytest.mark.parametrize(("num_steps", "words"), [(1, "Done: 1 step."), (300, "Done: all 300 steps.")])
def test_one_step_is_not_all_steps(tmp_path: Path, num_steps: int, words: str):
    job = small_job(tmp_path)
    state = RunFolder.create(job.run_dir, job).read_state().model_copy(update={"state": "done", "num_steps": num_steps})
    assert closing_lines(state, job)[0] == words


def test_the_last_lines_set_the_forecast_against_what_was_measured(tmp_path: Path):
    job = small_job(tmp_path)
    state = RunFolder.create(job.run_dir, job).read_state()
    devices = tuple(
        RunDevice(
            device=f"cuda:{index}", label=f"GPU {index}", planned_bytes=3 * 1024**3, seen_bytes=seen * 512 * 1024**2
        )
        for index, seen in enumerate((6, 7))
    )
    comparison = RunComparison(devices=devices, planned_s=0.5, seen_s=0.1234)
    lines = closing_lines(state.model_copy(update={"comparison": comparison}), job)
    assert (
        "Forecast against measured: GPU 0 3.0 GB planned, 3.0 GB held; GPU 1 3.0 GB planned, 3.5 GB held; a step 0.5 s "
        "planned, 0.123 s taken."
    ) in lines
    without = closing_lines(state.model_copy(update={"comparison": RunComparison(seen_s=200)}), job)
    assert "Forecast against measured: a step 3 min 20 s taken." in without
