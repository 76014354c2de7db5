"""The report of this very machine, whatever it is, and what happens when PyTorch cannot be asked."""

import json
import sys
from pathlib import Path

from diffusionforce.rig import examine, in_gb, read_machine, torch_facts


def test_this_machine_is_reported_as_one_line_of_json_without_torch_in_this_process() -> None:
    loaded_before = "torch" in sys.modules
    report = examine()
    assert ("torch" in sys.modules) == loaded_before
    assert report.torch is not None
    assert report.torch.failure == ""
    line = report.to_json()
    record = json.loads(line)
    assert "\n" not in line
    assert record["kind"] == "rig"
    assert record["machine"]["ram_total_bytes"] > 0
    assert len(record["findings"]) == len(report.sentences()) > 0
    assert report.sentences()[0].startswith(report.findings[0].severity)


def test_a_folder_that_is_not_there_yet_has_the_disk_of_its_parent(tmp_path: Path) -> None:
    machine = read_machine(disk_path=tmp_path / "runs" / "new")
    assert machine.disk_path == str(tmp_path)
    assert machine.disk_free_bytes > 0


def test_a_python_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    assert "could not be started" in torch_facts(python=str(tmp_path / "python")).failure


def test_a_python_without_torch_says_so(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\" >&2\nexit 1\n")
    program.chmod(0o755)
    failure = torch_facts(python=str(program)).failure
    assert failure == "PyTorch is not here: the training environment is not set up yet."


def test_a_torch_that_hangs_is_given_up(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    assert torch_facts(python=str(program), timeout_s=0.3).failure == "PyTorch did not start within 0 s."


def test_sizes_are_told_as_cards_are_sold() -> None:
    assert [in_gb(16 * 1024**3), in_gb(int(15.7 * 1024**3)), in_gb(139 * 1024**3 + 5), in_gb(0)] == [
        "16 GB",
        "15.7 GB",
        "139 GB",
        "0 GB",
    ]
