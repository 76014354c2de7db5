"""The command line and the environment of the trainer process."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from diffusionforce.wire import (
    child_command,
    child_environment,
    forecast_command,
    forecast_request,
    interrupts_held_back,
    requested_job,
)


def test_the_child_is_this_python_and_reads_the_job():
    command = child_command(Path("some job.toml"))
    assert command[0] == sys.executable
    assert command[-3:] == ["-m", "diffusionforce.trainer", "some job.toml"]
    assert "utf8" in command and "faulthandler" in command


def test_a_forecast_is_made_by_a_child_too():
    command = forecast_command(Path("some job.toml"))
    assert command[-3:] == ["-m", "diffusionforce.trainer.forecasting", "some job.toml"]
    command = forecast_command(Path("a.toml"), rig="--rig of 2 x 3090", ram_gib=32)
    assert command[-3:] == ["a.toml", "--rig=--rig of 2 x 3090", "--ram=32"]


@pytest.mark.parametrize("path", [Path("some job.toml"), Path("two\nlines.toml"), Path("no\udcff text.toml"), None])
def test_a_job_in_the_input_is_one_line_whatever_its_name(path: Path | None):
    line = forecast_request(path)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert requested_job(line) == path


@pytest.mark.parametrize("line", [b"{}\n", b"7\n", b"job.toml\n", b"\xff\n"])
def test_another_line_asks_for_nothing(line: bytes):
    with pytest.raises(ValueError):
        requested_job(line)


def test_a_child_may_have_its_jobs_in_its_input():
    assert forecast_command(None, rig="3090")[-2:] == ["-", "--rig=3090"]


def test_cards_have_the_drivers_numbers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    assert child_environment()["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")
    assert child_environment()["CUDA_DEVICE_ORDER"] == "FASTEST_FIRST"


def test_a_card_takes_more_kernels_than_usual_at_once_unless_the_user_says_how_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CUDA_SCALE_LAUNCH_QUEUES", raising=False)
    assert child_environment()["CUDA_SCALE_LAUNCH_QUEUES"] == "4x"
    monkeypatch.setenv("CUDA_SCALE_LAUNCH_QUEUES", "1x")
    assert child_environment()["CUDA_SCALE_LAUNCH_QUEUES"] == "1x"


def test_idle_threads_sleep(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert child_environment()["OMP_WAIT_POLICY"] == "PASSIVE"


def test_the_users_own_settings_stay(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    monkeypatch.setenv("SOME_SETTING", "kept")
    environment = child_environment()
    assert (environment["OMP_WAIT_POLICY"], environment["SOME_SETTING"]) == ("ACTIVE", "kept")
    assert environment["PYTHONUTF8"] == "1"


SLOW_CHILD = """
import time
time.sleep(0.5)  # As if it were still loading.
from diffusionforce.wire import let_interrupts_through
try:
    let_interrupts_through()
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows nothing is held back")
def test_an_interrupt_waits_until_a_child_has_loaded():
    # Ctrl-C in the first second of `engine` and `models` ended in the child's traceback.
    with interrupts_held_back():
        child = subprocess.Popen([sys.executable, "-c", SLOW_CHILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=30)
    assert (child.returncode, output.strip(), errors) == (0, b"interrupted", b"")
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set()), "ours comes through"


def test_no_setting_of_ones_own_lets_weights_run_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    assert "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD" not in child_environment()
