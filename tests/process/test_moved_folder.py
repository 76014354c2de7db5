"""A run whose folder somebody moves away while it goes on: it waits, and nothing is lost."""

import os
from pathlib import Path

import pytest
from tests.support.jobs import small_job
from tests.support.trainer_process import trainer

from diffusionforce.runs import RunFolder, read_telemetry
from diffusionforce.wire import Command, Done, Failed, Paused, Step, encode

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows moves no folder whose files are open")


def test_a_moved_folder_lets_the_run_wait_until_it_is_back(tmp_path: Path):
    job, elsewhere = small_job(tmp_path, steps=60), tmp_path / "elsewhere"
    with trainer(job, deeds="slow") as child:
        child.wait_for("step")
        job.run_dir.rename(elsewhere)
        paused = child.wait_for("paused")
        assert isinstance(paused, Paused) and paused.paused and "is gone" in paused.sentence
        elsewhere.rename(job.run_dir)
        messages, code = child.finish()
    assert code == 0 and isinstance(messages[-1], Done)
    steps = [record.step for record in read_telemetry(RunFolder.open(job.run_dir)) if isinstance(record, Step)]
    assert steps == list(range(1, 61))


def test_a_run_that_is_stopped_without_its_folder_says_so_and_makes_no_second_one(tmp_path: Path):
    job, elsewhere = small_job(tmp_path, steps=60), tmp_path / "elsewhere"
    with trainer(job, deeds="slow") as child:
        child.wait_for("step")
        job.run_dir.rename(elsewhere)
        child.wait_for("paused")
        child.send(encode(Command(command="stop")))
        messages, code = child.finish()
        errors = child.process.stderr.read().decode() if child.process.stderr is not None else ""
    end = messages[-1]
    assert isinstance(end, Failed) and code == 1 and "its folder was moved or removed" in end.sentence
    assert "Traceback" not in errors and not job.run_dir.exists()
    steps = [record.step for record in read_telemetry(RunFolder(elsewhere)) if isinstance(record, Step)]
    assert steps == list(range(1, len(steps) + 1)) and steps
