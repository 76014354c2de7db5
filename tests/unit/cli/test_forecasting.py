"""`diffusionforce forecast` up to the moment where it would start a process, and what it makes of the answer."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import forecasts
from tests.support.jobs import picture_folder, small_job

from diffusionforce.cli import forecasting, main
from diffusionforce.desktop import children
from diffusionforce.job import read_job, write_job
from diffusionforce.wire import Failed, encode
from diffusionforce.wire.text import to_json


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with pictures, and a data folder beside them."""
    picture_folder(tmp_path / "pictures")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "sentence", "hint"),
    [
        (["pocket-dmeo"], "There is no profile 'pocket-dmeo'. Did you mean pocket-demo?", "Built-in profiles"),
        (["pocket-demo", "--rig", " "], "--rig is empty.", "RTX 5080"),
        (["pocket-demo", "--rig", "3090", "--ram", "lots"], "--ram is 'lots'.", "like 64"),
        (["pocket-demo", "--rig", "3090", "--ram", "nan"], "--ram is 'nan'.", "like 64"),
        (["pocket-demo", "--rig", "3090", "--ram", "0"], "--ram is '0'.", "like 64"),
        (["pocket-demo", "--rig", "3090", "--measure"], "--measure is for the cards that are here.", "--rig"),
        (["pocket-demo", "--ram", "64"], "--ram goes with --rig NAMES.", ""),
        (["pocket-demo", "--ram", "64", "--rig", "this"], "--ram goes with --rig NAMES.", ""),
        (["pocket-demo", "--dataset", "nowhere"], "The dataset folder", "Check the path."),
        (["pocket-demo", "--dataset", ""], "--dataset is empty.", ""),
        (["pocket-demo", "--devices", "tpu"], "'tpu' is no device", ""),
        (["wan21-14b", "--dataset", "nowhere"], "The dataset folder", "Check the path."),
        (["broken.toml"], "broken.toml is not valid TOML.", "Fix its end: "),
        (["job.toml", "--devices", "tpu"], "'tpu' is no device", ""),
        (["pocket-demo", "--colour", "red"], "--colour", ""),
    ],
)
def test_bad_input_is_one_sentence_before_any_process(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
    hint: str,
) -> None:
    (place / "broken.toml").write_text("profile = [", encoding="utf-8")
    write_job(place / "job.toml", small_job(place, dataset_dir=place / "pictures"))
    monkeypatch.setattr(children, "start", lambda *_arguments, **_options: pytest.fail("a process was started"))
    assert main(["forecast", *arguments]) == 1
    stdout, stderr = capsys.readouterr()
    assert stdout == "" and "Traceback" not in stderr
    assert sentence in stderr.splitlines()[0] and hint in stderr


class Answering:
    """Stands in for the child: keeps the job that it was given and says what it was told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: bytes, *, code: int = 0, log: bytes = b"") -> None:
        self.command: list[str] = []
        self.job_text = ""
        self._answer, self._code, self._log = answer, code, log
        monkeypatch.setattr(forecasting.children, "run", self._run)

    def _run(self, command: list[str], **_options: object) -> subprocess.CompletedProcess[bytes]:
        self.command = command
        job_file = Path(next(word for word in command if word.endswith(".toml")))
        self.job_text = job_file.read_text(encoding="utf-8")
        assert read_job(job_file)
        return subprocess.CompletedProcess(command, self._code, self._answer, self._log)


def test_the_child_gets_the_job_and_the_rig(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    child = Answering(monkeypatch, to_json(forecasts.forecast()))
    assert main(["forecast", "pocket-demo", "--dataset", "pictures", "--devices", "cuda:1", "--rig", "2 x 3090"]) == 0
    assert child.command[0] == sys.executable and child.command[-1] == "--rig=2 x 3090"
    assert str(place / "pictures") in child.job_text and "cuda:1" in child.job_text
    assert main(["forecast", "pocket-demo", "--measure"]) == 0
    assert child.command[-1] == "--measure"


def test_a_profile_without_pictures_is_forecast_for_the_sizes_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    child = Answering(monkeypatch, to_json(forecasts.forecast()))
    assert main(["forecast", "wan21-14b"]) == 0
    assert "no pictures" in child.job_text


def test_what_does_not_fit_exits_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Answering(monkeypatch, to_json(forecasts.refused()))
    assert main(["forecast", "pocket-demo"]) == 1
    assert "Nothing fits" in capsys.readouterr().out


@pytest.mark.parametrize("noise", [b"", b"a library prints\n"])
def test_a_refusal_of_the_child_is_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], noise: bytes
) -> None:
    Answering(monkeypatch, noise + encode(Failed(sentence="It cannot be.", hint="Do this.")), code=1)
    assert main(["forecast", "pocket-demo"]) == 1
    assert capsys.readouterr().err == "It cannot be.\nDo this.\n"


@pytest.mark.parametrize("as_json", [True, False])
def test_a_bug_in_the_child_shows_its_detail_and_exits_with_2(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], as_json: bool
) -> None:
    Answering(monkeypatch, encode(Failed(sentence="This is a bug.", detail="Traceback: here")), code=2)
    assert main(["forecast", "pocket-demo", *(["--json"] if as_json else [])]) == 2
    stdout, stderr = capfd.readouterr()
    assert "Traceback: here" in (stdout if as_json else stderr)
    assert (stderr if as_json else stdout) == ""


@pytest.mark.parametrize("answer", [b"", b"Killed\n", b"[1]\n", b'{"kind": "forecast"}\n'])
def test_a_child_that_dies_without_an_answer_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: bytes
) -> None:
    Answering(monkeypatch, answer, code=-9, log=b"last words")
    assert main(["forecast", "pocket-demo"]) == 1
    stdout, stderr = capsys.readouterr()
    assert stdout == "" and stderr.startswith("The forecast ended without an answer (exit code -9).")
