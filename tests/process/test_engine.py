"""`diffusionforce engine` as users run it: real processes, exit codes, sentences and records."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.engine import lay_out, needs_engine

from diffusionforce.engines.musubi import engine_dir, read_pin


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with a data folder of its own."""
    environment = {**os.environ, "DIFFUSIONFORCE_HOME": str(tmp_path / "home"), "NO_COLOR": "1"}
    environment.pop("DIFFUSIONFORCE_ENGINE", None)
    command = [sys.executable, "-m", "diffusionforce.cli", "engine", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)


def test_status_says_what_is_missing_and_shows_the_terms(tmp_path: Path) -> None:
    done = run(tmp_path, "status")
    assert done.returncode == 1
    assert "is not installed. Install it: diffusionforce engine install" in done.stdout
    assert "Tencent Hunyuan Community License" in done.stdout
    record = json.loads(run(tmp_path, "status", "--json").stdout)
    assert (record["kind"], record["state"], record["version"]) == ("engine", "missing", "0.3.4")


def test_another_program_is_refused_in_words_and_as_a_record(tmp_path: Path) -> None:
    place = lay_out(tmp_path / "other")
    done = run(tmp_path, "install", "--from", str(place))
    assert done.returncode == 1
    assert "is not Musubi Tuner 0.3.4 as it was pinned (modified: README.md" in done.stderr
    assert "Traceback" not in done.stderr
    records = [
        json.loads(line) for line in run(tmp_path, "install", "--from", str(place), "--json").stdout.splitlines()
    ]
    assert {record["kind"] for record in records[:-1]} == {"engine_progress"}
    assert records[-1]["kind"] == "failed"
    assert not list((tmp_path / "home").rglob("*.py"))


@pytest.mark.parametrize("arguments", [[], ["verify", "--from", "x"], ["remove"]])
def test_arguments_that_are_not_understood_are_a_sentence(tmp_path: Path, arguments: list[str]) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == 1
    assert "Try: diffusionforce" in done.stderr


@needs_engine
def test_install_verify_damage_repair(tmp_path: Path) -> None:
    place = str(engine_dir(read_pin()))
    done = run(tmp_path, "install", "--from", place)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Installed.")
    assert run(tmp_path, "verify").returncode == 0
    folder = tmp_path / "home" / "engines" / "musubi-tuner" / read_pin().commit
    damaged = folder / "src" / "musubi_tuner" / "wan" / "modules" / "model.py"
    damaged.chmod(0o644)
    damaged.write_bytes(damaged.read_bytes() + b"# changed\n")
    verified = run(tmp_path, "verify")
    assert verified.returncode == 1
    assert "modified: src/musubi_tuner/wan/modules/model.py" in verified.stderr
    assert "modified: src/musubi_tuner/wan/modules/model.py" in run(tmp_path, "status").stdout
    assert run(tmp_path, "install", "--from", place).stdout.startswith("Repaired")
    assert run(tmp_path, "verify").returncode == 0
