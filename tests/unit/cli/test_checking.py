"""`diffusionforce check`, up to its exit code."""

import json
import sys
from pathlib import Path

import pytest
from tests.support import broken_dataset
from tests.support.broken_dataset import save

from diffusionforce.cli import main
from diffusionforce.datasets.sets import DatasetSet, SetFolder, write_set


@pytest.fixture
def good(tmp_path: Path) -> Path:
    for seed in range(3):
        save(tmp_path / f"{seed}.png", seed)
    return tmp_path


def test_a_good_folder_has_nothing_to_fix(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(good)]) == 0
    assert "Nothing to fix." in capsys.readouterr().out


@pytest.mark.parametrize("frames", ["x", "-3", "99999"])
def test_frames_that_are_no_number_are_refused_in_a_sentence(
    good: Path, frames: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(good), f"--frames={frames}"]) == 1
    assert f"--frames is {frames}; it has to be a whole number from 0 to" in capsys.readouterr().err


def test_what_is_left_out_is_named_and_changes_the_exit_code(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(good / "käse.png", 9, caption=None)
    assert main(["check", str(good)]) == 1
    out = capsys.readouterr().out
    assert "Left out of training" in out
    assert "1 picture has no caption" in out
    assert "käse.png" in out


def test_json_gives_the_same_findings(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    broken_dataset.make(tmp_path)
    assert main(["check", str(tmp_path), "--json"]) == 1
    records = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    assert records[-1]["kind"] == "checked"
    found = {(record["what"], record["name"]) for record in records if record["kind"] == "finding"}
    assert {("truncated", "cut.jpg"), ("alpha", "clear.png"), ("near_duplicate", "alike_b.jpg")} <= found
    assert sum(record["kind"] == "file" and record["is_used"] for record in records) == records[-1]["num_used"]


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "nowhere")]) == 1
    assert "is not there" in capsys.readouterr().err


def test_many_files_of_a_kind_are_counted(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for index in range(9):
        (good / f"orphan_{index}.txt").write_text("of nothing", encoding="utf-8")
    main(["check", str(good)])
    assert "and 3 more" in capsys.readouterr().out
    main(["check", str(good), "--all"])
    assert "orphan_8.txt" in capsys.readouterr().out


def test_a_folder_without_pictures_is_not_called_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Symptom: an empty folder had nothing to fix, and the training on it was refused.
    assert main(["check", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "there are no pictures or clips in this folder" in out
    assert "Nothing to fix" not in out


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_names_neither_break_the_line_nor_steer_the_terminal(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Symptom: a name with a line break filled two lines, and one with an escape coloured what came after it.
    save(good / "a\nb\x1b[31m日本.png", 9, caption=None)
    main(["check", str(good)])
    assert r"    a\nb\x1b[31m日本.png" in capsys.readouterr().out.splitlines()


def test_clips_are_checked_for_the_model_of_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken_dataset.clip(tmp_path / "dance.mp4", num_frames=24, fps=16)
    (tmp_path / "dance.txt").write_text("a dance", encoding="utf-8")
    assert main(["check", str(tmp_path)]) == 1
    assert "1 clip is left out" in capsys.readouterr().out
    assert main(["check", str(tmp_path), "--profile", "wan21-14b"]) == 0
    assert "1 of 1 pictures and clips are trained on" in capsys.readouterr().out
    assert main(["check", str(tmp_path), "--profile", "wan21-14b", "--frames", "33"]) == 1
    assert "1 clip is too short" in capsys.readouterr().out


def test_an_unknown_profile_is_one_sentence(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(good), "--profile", "nonsense"]) == 1
    assert "nonsense" in capsys.readouterr().err


def test_a_set_is_checked_folder_by_folder(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other"
    other.mkdir()
    save(other / "bad.png", 9, caption=None)
    folders = (SetFolder(path=str(good)), SetFolder(path=str(other)))
    write_set(tmp_path / "set", DatasetSet(title="Both", folders=folders))
    assert main(["check", str(tmp_path / "set")]) == 1
    out = capsys.readouterr().out
    assert f"{good}: 3 of 3" in out
    assert f"{other}: 0 of 1" in out
