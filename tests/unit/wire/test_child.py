"""The command line and the environment of the trainer process."""

import os
import sys
from pathlib import Path

import pytest

from diffusionforce.wire import child_command, child_environment


def test_the_child_is_this_python_and_reads_the_job():
    command = child_command(Path("some job.toml"))
    assert command[0] == sys.executable
    assert command[-3:] == ["-m", "diffusionforce.trainer", "some job.toml"]
    assert "utf8" in command


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say which cores we may use")
@pytest.mark.parametrize(("num_cores", "threads"), [(1, "1"), (2, "1"), (8, "7")])
def test_a_core_is_left_free(monkeypatch: pytest.MonkeyPatch, num_cores: int, threads: str):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(num_cores)))
    assert child_environment()["OMP_NUM_THREADS"] == threads


def test_the_users_own_settings_stay(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "13")
    monkeypatch.setenv("SOME_SETTING", "kept")
    environment = child_environment()
    assert (environment["OMP_NUM_THREADS"], environment["SOME_SETTING"]) == ("13", "kept")
    assert environment["PYTHONUTF8"] == "1"
