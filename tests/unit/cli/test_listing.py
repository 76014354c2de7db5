"""`diffusionforce profiles` lists what can be run by name."""

import json
import shutil
from pathlib import Path

import pytest

from diffusionforce.cli import main
from diffusionforce.job import builtin_profiles, own_profiles_dir
from diffusionforce.runs import runs_root


def test_own_profiles_are_listed_and_a_broken_one_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    own_profiles_dir().mkdir(parents=True)
    shutil.copy(builtin_profiles()["pocket-demo"], own_profiles_dir() / "gouache.toml")
    (own_profiles_dir() / "half.toml").write_text("title = 3", encoding="utf-8")
    assert main(["profiles"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("gouache") and "your own" in line for line in lines)
    assert any(line.startswith("half") and "Cannot be read" in line for line in lines)
    assert any(line.startswith("pocket-demo") for line in lines)


def test_a_run_whose_state_cannot_be_read_is_listed_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    # Symptom: it vanished from the list, as if its files were gone.
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))
    broken = runs_root() / "broken"
    (broken / "checkpoints").mkdir(parents=True)
    (broken / "checkpoints" / "a.safetensors").write_bytes(b"1")
    (broken / "run.json").write_text("{", encoding="utf-8")
    assert main(["runs"]) == 0
    shown = capsys.readouterr().out
    assert "unreadable  broken" in shown and "diffusionforce report broken" in shown and "No runs yet" not in shown
    assert main(["runs", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["name"], record["state"], record["lora"]) == ("broken", "unreadable", "checkpoints/a.safetensors")
