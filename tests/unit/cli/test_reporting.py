"""`diffusionforce report`: listed first, written when agreed to."""

import io
from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.cli import main
from diffusionforce.runs import RunFolder


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    folder = RunFolder.create(tmp_path / "run", small_job(tmp_path / "job"))
    folder.write_state(folder.read_state().model_copy(update={"state": "failed"}))
    return folder


class Terminal(io.StringIO):
    """Standard input with somebody at it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code", "num_written"), [("y\n", 0, 1), ("\n", 1, 0), ("no\n", 1, 0), ("", 1, 0)])
def test_it_is_listed_and_written_only_when_agreed_to(
    run: RunFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    code: int,
    num_written: int,
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    assert main(["report", "run"]) == code
    out = capsys.readouterr().out
    assert out.index("The report holds:") < out.index("job.toml") < out.index("Write ") and "[y/N]" in out
    assert len(list(tmp_path.glob("*.zip"))) == num_written
    assert ("Nothing was written." in out) == (not num_written)


def test_a_script_has_to_agree_beforehand(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["report", "run"]) == 1
    assert "Add --yes to write it." in capsys.readouterr().err
    assert main(["report", "run", "--yes", "--out", "r.zip"]) == 0
    assert (tmp_path / "r.zip").stat().st_size > 500


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], "There is no run 'nope'"),
        (["job"], "job is not a run folder"),
        (["run", "--out", ""], "--out is empty."),
        (["run", "--out", "run"], "run is a folder."),
        (["run", "--out", "run/job.toml"], "job.toml is there already."),
        (["run", "--out", "nowhere/r.zip"], "nowhere is no folder."),
    ],
)
def test_a_slip_is_a_sentence(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert main(["report", *arguments, "--yes"]) == 1
    stdout, stderr = capsys.readouterr()
    assert words in stderr.splitlines()[0] and stdout == "" and sorted(tmp_path.rglob("*")) == before
