"""Trainers whose parents are killed: each does what its job asks."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psutil
import pytest
from tests.support.jobs import small_job
from tests.support.trainer_process import ROOT, command

from diffusionforce.errors import UserError
from diffusionforce.job import Job
from diffusionforce.runs import RunFolder, read_telemetry
from diffusionforce.wire import Command, Step, Warn, child_environment

WAIT_S = 60.0
# Starts a trainer and stays; the trainer's input is ours where it is no pipe.
PARENT = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin={}).wait()"


@contextmanager
def started(
    job: Job, *, stdin: str = "subprocess.PIPE", own: IO[bytes] | int = subprocess.DEVNULL
) -> Iterator[tuple[subprocess.Popen[bytes], psutil.Process]]:
    """Start a parent with a trainer, and wait until that trains."""
    words = command(job, job.run_dir.with_name("the-job.toml"), is_fake=True)
    environment = child_environment() | {"FAKE_ENGINE": "slow", "OMP_NUM_THREADS": "1"}
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(stdin), *words],
        cwd=ROOT,
        env=environment,
        stdin=own,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    trainer: psutil.Process | None = None
    try:
        trainer = _training(job)
        yield parent, trainer
    finally:
        parent.kill()
        parent.wait()
        if trainer is not None and trainer.is_running():
            trainer.kill()


def _training(job: Job) -> psutil.Process:
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        try:
            run = RunFolder.open(job.run_dir)
            if any(isinstance(record, Step) for record in read_telemetry(run)):
                return psutil.Process(run.read_state().pid)
        except UserError:
            pass
        time.sleep(0.05)
    raise AssertionError("no trainer began")


def _end(job: Job, trainer: psutil.Process) -> RunFolder:
    psutil.wait_procs([trainer], timeout=WAIT_S)
    return RunFolder.open(job.run_dir)


def alone_job(folder: Path, *, steps: int, when_alone: str) -> Job:
    return small_job(folder, steps=steps).model_copy(update={"when_alone": when_alone})


@pytest.mark.parametrize("stdin", ["subprocess.PIPE", "subprocess.DEVNULL", "None"])
def test_a_run_that_is_to_stop_saves_and_stops_once_its_parent_is_killed(tmp_path: Path, stdin: str):
    job = alone_job(tmp_path, steps=100_000, when_alone="stop")
    with started(job, stdin=stdin) as (parent, trainer):
        time.sleep(1.5)
        assert trainer.is_running() and RunFolder.open(job.run_dir).read_state().state == "running"
        parent.kill()
        parent.wait()
        run = _end(job, trainer)
    state = run.read_state()
    assert state.state == "stopped" and (job.run_dir / state.lora).read_bytes() == b"lora"
    assert any(isinstance(record, Warn) and "is gone" in record.sentence for record in read_telemetry(run))


def test_a_run_that_is_to_go_on_does_so_and_notes_it(tmp_path: Path):
    job = alone_job(tmp_path, steps=80, when_alone="go_on")
    with started(job) as (parent, trainer):
        parent.kill()
        parent.wait()
        run = _end(job, trainer)
    assert run.read_state().state == "done"
    assert "What started this run is gone; the run goes on." in run.log_path.read_text(encoding="utf-8")


def test_a_run_that_was_let_go_does_not_stop(tmp_path: Path):
    job = alone_job(tmp_path, steps=80, when_alone="stop")
    with started(job) as (parent, trainer):
        RunFolder.open(job.run_dir).ask(Command(command="detach"))
        time.sleep(1.0)
        parent.kill()
        parent.wait()
        assert _end(job, trainer).read_state().state == "done"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_a_terminal_that_is_closed_ends_nothing_by_itself(tmp_path: Path):
    job = alone_job(tmp_path, steps=60, when_alone="go_on")
    with started(job) as (_, trainer):
        trainer.send_signal(1)
        assert _end(job, trainer).read_state().state == "done"
