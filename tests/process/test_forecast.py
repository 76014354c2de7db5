"""`diffusionforce forecast` as a process, and the child that makes the forecast."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.jobs import picture_folder, small_job
from tests.support.trainer_process import ROOT

from diffusionforce.job import write_job
from diffusionforce.wire import child_environment, forecast_command
from diffusionforce.wire.forecast import read_forecast

PATIENCE_S = 240
RIG = "RTX 5080, RTX 4060 Ti 16GB"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which traces are found again."""
    return tmp_path_factory.mktemp("home")


def ran(command: list[str], home: Path, folder: Path) -> tuple[int, str, str]:
    environment = child_environment() | {"DIFFUSIONFORCE_HOME": str(home), "OMP_NUM_THREADS": "1", "COLUMNS": "160"}
    child = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
    return child.returncode, child.stdout, child.stderr


def cli(home: Path, folder: Path, *arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-P", "-m", "diffusionforce.cli", "forecast", *arguments]
    return ran(command, home, folder)


def test_the_demo_is_forecast_for_cards_that_are_not_here(home: Path, tmp_path: Path) -> None:
    code, stdout, stderr = cli(home, tmp_path, "pocket-demo", "--rig", RIG)
    assert (code, stderr) == (0, "")
    assert "GPU 0 (RTX 5080): 16.0 GB" in stdout and "GPU 1 (RTX 4060 Ti 16GB)" in stdout
    assert "Recommended: split, fp32 weights, 2 micro-batches" in stdout
    for words in ("caching", "training", "sampling", "weights", "optimiser", "activations", "to spare", "RAM: 64.0 GB"):
        assert words in stdout
    assert list(tmp_path.iterdir()) == [] and not (home / "runs").exists(), "a forecast leaves no run behind"


def test_json_is_one_record(home: Path, tmp_path: Path) -> None:
    code, stdout, stderr = cli(home, tmp_path, "pocket-demo", "--rig", RIG, "--ram", "32", "--json")
    assert (code, stderr) == (0, "")
    (line,) = stdout.splitlines()
    forecast = read_forecast(line)
    assert forecast.recommended is not None and forecast.ram_total_bytes == 32 * 1024**3
    assert not forecast.is_here
    # It was traced by the test before, or just now; a second time it is known.
    assert read_forecast(cli(home, tmp_path, "pocket-demo", "--rig", RIG, "--json")[1]).took_s < 5


def test_the_processor_needs_ram(home: Path, tmp_path: Path) -> None:
    code, stdout, stderr = cli(home, tmp_path, "pocket-demo", "--devices", "cpu", "--rig", "this", "--measure")
    assert (code, stderr) == (0, "")
    assert "Recommended: on the processor, fp32 weights, 1 micro-batch." in stdout
    assert "of RAM" in stdout


def test_a_job_is_forecast_from_its_file_and_from_its_run(home: Path, tmp_path: Path) -> None:
    job = small_job(tmp_path, lora__rank=8)
    run = tmp_path / "run"
    run.mkdir()
    write_job(run / "job.toml", job)
    for name in ("run/job.toml", "run"):
        code, stdout, _ = cli(home, tmp_path, name, "--rig", "3090", "--json")
        assert code == 0 and read_forecast(stdout).profile_name == "pocket-demo"
    whole = read_forecast(cli(home, tmp_path, "pocket-demo", "--rig", "3090", "--json")[1])
    assert 0 < read_forecast(stdout).trainable_bytes < whole.trainable_bytes, "rank 8 is half of the demo's"


def test_what_does_not_fit_is_refused_with_exit_code_1(home: Path, tmp_path: Path) -> None:
    picture_folder(tmp_path / "pictures")
    profile = (ROOT / "profiles/pocket-demo.toml").read_text(encoding="utf-8")
    (tmp_path / "tight.toml").write_text(f"{profile}\n[memory]\nbudget_gb = [0.05]\n", encoding="utf-8")
    arguments = ("tight.toml", "--dataset", "pictures", "--rig", "RTX 4060")
    code, stdout, stderr = cli(home, tmp_path, *arguments)
    assert (code, stderr) == (1, "")
    assert "Nothing fits; shown is what comes closest: one card" in stdout
    assert "more on GPU 0 (RTX 4060)." in stdout and "too little" in stdout
    code, stdout, _ = cli(home, tmp_path, *arguments, "--json")
    assert code == 1 and read_forecast(stdout).refusal


@pytest.mark.parametrize(
    ("arguments", "sentence", "hint"),
    [
        (["pocket-demo", "--rig", "RTX 9999"], 'No card called "RTX 9999" is in the list.', "RTX 4060 Ti 16GB"),
        (["pocket-demo", "--rig", "9 x 3090"], "The rig has 9 cards; plans are made for up to 8.", ""),
        (
            ["pocket-demo", "--rig", "3090", "--devices", "cuda:3"],
            "cuda:3 is asked for, but the rig has 1 card.",
            "cuda:0",
        ),
        (["wan21-14b", "--rig", "3090"], "Musubi Tuner", ""),
    ],
)
def test_what_the_child_refuses_is_one_sentence(
    home: Path, tmp_path: Path, arguments: list[str], sentence: str, hint: str
) -> None:
    code, stdout, stderr = cli(home, tmp_path, *arguments)
    assert (code, stdout) == (1, "")
    assert sentence in stderr.splitlines()[0] and hint in stderr and "Traceback" not in stderr


def test_with_json_a_refusal_is_a_record(home: Path, tmp_path: Path) -> None:
    code, stdout, stderr = cli(home, tmp_path, "pocket-demo", "--rig", "RTX 9999", "--json")
    record: dict[str, Any] = json.loads(stdout)
    assert (code, record["kind"], stderr) == (1, "failed", "")
    assert record["sentence"].startswith('No card called "RTX 9999"') and "RTX 5090" in record["hint"]


def test_the_child_answers_on_standard_output_alone(home: Path, tmp_path: Path) -> None:
    job_file = tmp_path / "job.toml"
    write_job(job_file, small_job(tmp_path))
    code, stdout, _ = ran(forecast_command(job_file, rig="RTX 3090", ram_gib=48), home, tmp_path)
    assert code == 0 and read_forecast(stdout).rig[0].label == "GPU 0 (RTX 3090)"
    assert job_file.exists()
    code, stdout, _ = ran(forecast_command(tmp_path / "no.toml"), home, tmp_path)
    assert code == 1 and json.loads(stdout)["sentence"].endswith("no.toml is not there.")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a folder that may not be written to")
def test_a_data_folder_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert cli(closed / "home", tmp_path, "pocket-demo", "--rig", "3090")[0] == 0
