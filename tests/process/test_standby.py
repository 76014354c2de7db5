"""The real process that makes one forecast after another."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psutil
import pytest
from tests.support.jobs import small_job

from diffusionforce.desktop import children
from diffusionforce.job import Job, write_job
from diffusionforce.wire import child_environment, forecast_command, forecast_request

RIG = "RTX 5080, RTX 4060 Ti 16GB"
END_S = 30.0
_WINDOW = """
import sys
from diffusionforce.desktop import children
from diffusionforce.wire import child_environment, forecast_command
pipe = children.PIPE
child = children.start(
    forecast_command(None), stdin=pipe, stdout=pipe, environment=child_environment(), ends_with_us=True
)
print(child.pid, flush=True)
child.wait()
"""
"""Stands in for the window: starts the process as that does, and holds its input."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return child_environment() | {"DIFFUSIONFORCE_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"}


@pytest.fixture
def process(environment: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    command = forecast_command(None, rig=RIG)
    made = children.start(command, stdin=children.PIPE, stdout=children.PIPE, environment=environment)
    yield made
    made.kill()
    with made:
        made.wait()


def job_file(folder: Path, **changes: Any) -> Path:
    folder.mkdir()
    job: Job = small_job(folder, **changes)
    write_job(folder / "job.toml", job)
    return folder / "job.toml"


def asked(process: "subprocess.Popen[bytes]", job: Path) -> dict[str, Any]:
    assert process.stdin is not None
    process.stdin.write(forecast_request(job))
    process.stdin.flush()
    return answer_in(process.stdout)


def answer_in(output: IO[bytes] | None) -> dict[str, Any]:
    assert output is not None
    answer = json.loads(output.readline())
    answer.pop("took_s", None)
    return answer


@pytest.mark.slow
def test_its_answers_are_those_of_a_process_for_each(
    process: "subprocess.Popen[bytes]", environment: dict[str, str], tmp_path: Path
) -> None:
    jobs = [job_file(tmp_path / "a"), job_file(tmp_path / "b", lora__rank=8, samples__prompts=["Blob"])]
    apart = []
    for job in jobs:
        fresh = children.run(forecast_command(job, rig=RIG), environment=environment)
        assert fresh.returncode == 0, fresh.stderr
        apart.append(json.loads(fresh.stdout))
        apart[-1].pop("took_s")
    footprints = tmp_path / "home" / "footprints"
    shutil.rmtree(footprints)
    assert [asked(process, job) for job in jobs] == apart
    assert asked(process, tmp_path / "no.toml")["kind"] == "failed"
    shutil.rmtree(footprints)
    assert [asked(process, job) for job in reversed(jobs)] == apart[::-1], "what came before changes nothing"
    assert len(list(footprints.iterdir())) > 0, "it was traced anew"
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(END_S) == 0


def test_it_ends_with_a_window_that_is_killed(environment: dict[str, str]) -> None:
    window = children.start([sys.executable, "-P", "-c", _WINDOW], stdout=children.PIPE, environment=environment)
    with window:
        assert window.stdout is not None
        standby = psutil.Process(int(window.stdout.readline()))
        time.sleep(1.0)  # In the midst of loading.
        assert standby.is_running()
        window.kill()
    standby.wait(END_S)
