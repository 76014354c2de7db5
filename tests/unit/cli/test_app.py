"""The command line up to the moment where it would start a process."""

import argparse
import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from tests.support.jobs import picture_folder, small_job

from diffusionforce import rig
from diffusionforce.cli import listing, main
from diffusionforce.cli.commands import parser
from diffusionforce.cli.running import job_of
from diffusionforce.errors import ProfileError
from diffusionforce.job import builtin_profiles, dataset_folder, read_profile, write_profile
from diffusionforce.runs import RunFolder, RunHeldOut
from diffusionforce.wire import child_environment


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with pictures, and a data folder beside them."""
    picture_folder(tmp_path / "pictures")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    return tmp_path


def parsed(*arguments: str) -> argparse.Namespace:
    return parser().parse_args(["run", *arguments])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "pocket-dmeo"], "Did you mean pocket-demo?"),
        (["run", "pocket-demo", "--steps", "many"], "--steps: training.steps is 'many'"),
        (["run", "pocket-demo", "--steps", "0"], "--steps: training.steps is '0'"),
        (["run", "pocket-demo", "--devices", "tpu"], "'tpu' is no device"),
        (["run", "pocket-demo", "--devices", "cuda:0,cuda:0"], "a card is named twice"),
        (["run", "pocket-demo", "--dataset", "demo:nobody"], "There is no demo dataset 'nobody'"),
        (["run", "pocket-demo", "--dataset", "pictures", "--out", "pictures"], "already holds a run or other files"),
        (["run", "pocket-demo", "--dataset", "pictures", "--out", "a/b"], "is not there"),
        (["run", "pocket-demo", "--dataset", "pictures", "--out", "pictures/0.png/run"], "is a file"),
        (["run", "wrong.toml"], "training.stpes is not a setting. Did you mean steps?"),
        (["run", "pocket-demo", "--colour", "red"], "--colour"),
        (["run"], "PROFILE"),
        (["rum"], "There is no command 'rum'; did you mean run?"),
        (["engine", "fix"], "There is no action 'fix'; it is one of: install, status, verify."),
        (["bench", "rigs"], "There is no bench 'rigs'; did you mean rig?"),
        (["run", ""], "The name of the profile is empty."),
        (["run", "pictures"], "pictures is no profile: it is a folder."),
        (["run", "pictures/0.png"], "pictures/0.png is no profile: it is a file whose name does not end in .toml."),
        (["run", "profiles/mine.toml"], "There is no profile 'profiles/mine.toml'."),
        (["run", "Pocket-Demo"], "There is no profile 'Pocket-Demo'. Did you mean pocket-demo?"),
        (["run", "pocket-demo", "--set", "lora.rank=true"], "lora.rank is true: write a whole number."),
        (["run", "pocket-demo", "--set", "lora.rank=1e99"], "lora.rank is 1e+99: write a whole number."),
        (["run", "pocket-demo", "--set", "lora.alpha=nan"], "lora.alpha is nan: write a number that is finite."),
        (["run", "pocket-demo", "--set", "training.steps=-3"], "training.steps is -3: write 1 or more."),
        (["run", "pocket-demo", "--set", "title=" + "x" * 9000], "title is 'xxx"),
        (["run", "--resume", "nope"], "There is no run 'nope', neither here nor in"),
        (["run", "--again", ""], "--again is empty."),
        (["lora", "info", " "], "FILE is empty."),
        (["models", ""], "MODEL is empty."),
        (["models", "downlaod", "x"], "There is no models downlaod; did you mean download?"),
        (["run", "pocket-demo", "--dataset", "pictures", "--out", ""], "--out is empty."),
        (["run", "pocket-demo", "--dataset", "pictures", "--out", "x" * 300], "File name too long"),
        (["run", "pocket-demo", "--dataset", "pictures", "--out", "x" * 6000], "File name too long"),
        (["run", "pocket-demo", "--dataset", "pictures", "--out", "~nosuchuser/x"], "no home folder ~nosuchuser"),
        (["run", "pocket-demo", "--dataset", "~nosuchuser/x"], "no home folder ~nosuchuser"),
        (["run", "pocket-demo", "--dataset", ""], "--dataset is empty."),
        (["run", "x" * 6000], "There is no profile"),
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.skipif(sys.platform == "win32", reason="names of files differ")
def test_what_cannot_start_is_one_record_or_one_sentence(
    place: Path, capfdbinary: pytest.CaptureFixture[bytes], arguments: list[str], words: str, as_json: bool
):
    profile = builtin_profiles()["pocket-demo"].read_text()
    (place / "wrong.toml").write_text(profile.replace("steps = 300", "stpes = 300"))
    before = sorted(place.rglob("*"))
    assert main([*arguments, "--json"] if as_json else arguments) == 1
    stdout, stderr = capfdbinary.readouterr()
    assert sorted(place.rglob("*")) == before
    assert len(stdout) + len(stderr) < 8000
    if as_json:
        record: dict[str, Any] = json.loads(stdout)
        assert record["kind"] == "failed" and words in record["sentence"]
        assert stderr == b""
    else:
        assert words in stderr.decode().splitlines()[0]
        assert stdout == b"" and b"Traceback" not in stderr


def test_the_demo_keeps_its_held_out_pictures(place: Path):
    job = job_of(parsed("pocket-demo"))
    assert job.dataset_dir == dataset_folder("demo:loranne")
    assert job.held_out_dir == dataset_folder("demo:loranne-held-out")
    assert job.run_dir.parent == place / "home" / "runs"


def test_other_pictures_are_not_measured_with_the_demos(place: Path):
    job = job_of(parsed("pocket-demo", "--dataset", "pictures", "--out", "out", "--devices", "cpu, cpu"))
    assert (job.dataset_dir, job.held_out_dir) == (place / "pictures", None)
    assert (job.run_dir, job.profile.devices.use) == (place / "out", ("cpu", "cpu"))


@pytest.mark.parametrize(("steps", "warmup"), [(300, 10), (150, 5), (20, 0), (3000, 10)])
def test_fewer_steps_shrink_the_warm_up(steps: int, warmup: int):
    # Symptom: `--steps 5` was refused because the profile warms up over 10 steps.
    training = job_of(parsed("pocket-demo", "--steps", str(steps))).profile.training
    assert (training.steps, training.warmup_steps) == (steps, warmup)


def test_a_profile_of_ones_own_finds_its_pictures_beside_it(place: Path):
    profile = read_profile(builtin_profiles()["pocket-demo"])
    dataset = profile.dataset.model_copy(update={"folder": "pictures", "held_out_folder": "others"})
    (place / "mine").mkdir()
    write_profile(place / "mine" / "own.toml", profile.model_copy(update={"dataset": dataset}))
    job = job_of(parsed("mine/own.toml"))
    assert (job.profile_name, job.dataset_dir) == ("own", place / "mine" / "pictures")
    assert job.held_out_dir == place / "mine" / "others"
    without = dataset.model_copy(update={"folder": ""})
    write_profile(place / "mine" / "own.toml", profile.model_copy(update={"dataset": without}))
    with pytest.raises(ProfileError, match="names no dataset"):
        job_of(parsed("mine/own.toml"))


def test_every_builtin_profile_is_listed(capsys: pytest.CaptureFixture[str]):
    assert main(["profiles"]) == 0
    assert set(builtin_profiles()) <= set(capsys.readouterr().out.split())


def test_runs_are_listed_with_their_states(place: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["runs"]) == 0
    assert "No runs yet" in capsys.readouterr().out
    for name, state in [("one", "done"), ("two", "running")]:
        path = place / "home" / "runs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        run = RunFolder.create(path, small_job(place / name))
        gone = {"process_started_s": 1.0, "process_mark": ""}
        run.write_state(run.read_state().model_copy(update={"state": state} | gone))
    assert main(["runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("done" in line and "one" in line for line in lines)
    assert any("crashed" in line and "two" in line for line in lines)


def test_names_of_runs_are_whole_however_narrow_the_terminal(
    place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    # Symptom: in 40 columns every name ended in "…".
    monkeypatch.setenv("COLUMNS", "40")
    path = place / "home" / "runs" / ("2026-01-01-120000-" + "long-name-" * 5)
    path.parent.mkdir(parents=True)
    run = RunFolder.create(path, small_job(place / "job", steps=9))
    held_out = RunHeldOut(before=1.0, after=0.5)
    changes = {"state": "done", "step": 9, "held_out_loss": held_out, "lora": "checkpoints/l.safetensors"}
    run.write_state(run.read_state().model_copy(update=changes))
    assert main(["runs"]) == 0
    first, row, last = capfd.readouterr().out.splitlines()
    assert str(path.parent) in first and "--out" in last
    assert row == f"done  9/9  0 samples  50 % lower  {path.name}"
    assert main(["runs", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == {
        "kind": "run",
        "name": path.name,
        "dir": str(path),
        "state": "done",
        "step": 9,
        "num_steps": 9,
        "held_out_loss": {"before": 1.0, "after": 0.5},
        "lora": "checkpoints/l.safetensors",
    }


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ZeroDivisionError("one by zero"), 2, "This is a bug in DiffusionForce (ZeroDivisionError: one by zero)."),
        (PermissionError(13, "Permission denied", "/x/y"), 1, "/x/y cannot be used: Permission denied."),
        (
            OSError(12, "Cannot allocate memory"),
            1,
            "The system refused something that we need: Cannot allocate memory.",
        ),
    ],
)
def test_whatever_goes_wrong_is_told_in_the_way_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    error: Exception,
    code: int,
    words: str,
    as_json: bool,
):
    def fail(root: Path) -> None:
        raise error

    monkeypatch.setattr(listing, "list_runs", fail)
    assert main(["runs", "--json"] if as_json else ["runs"]) == code
    stdout, stderr = capfd.readouterr()
    if as_json:
        record = json.loads(stdout)
        assert (record["kind"], record["sentence"], stderr) == ("failed", words, "")
        assert "Traceback" in record["detail"]
    else:
        assert words in stderr.splitlines() and stdout == ""
        assert ("Traceback" in stderr) == (code == 2)


def test_a_trigger_can_be_named(place: Path):
    assert job_of(parsed("pocket-demo", "--dataset", "pictures", "--trigger", "Blob")).profile.dataset.trigger == "Blob"


def test_an_empty_trigger_is_refused(place: Path):
    # It was ignored without a word.
    with pytest.raises(ProfileError, match=r"^--trigger is empty\."):
        job_of(parsed("pocket-demo", "--dataset", "pictures", "--trigger", " "))


def test_the_benchmark_gets_its_arguments(monkeypatch: pytest.MonkeyPatch, place: Path):
    seen: list[list[str]] = []

    class Ended:
        returncode = 7

    def run(command: list[str], *, environment: dict[str, str], is_captured: bool) -> Ended:
        assert environment == child_environment() and not is_captured
        seen.append(command)
        return Ended()

    monkeypatch.setattr("diffusionforce.desktop.children.run", run)
    assert main(["bench", "pipeline", "--quick", "-n"]) == 7
    assert seen[0][0] == sys.executable
    assert seen[0][-4:] == ["diffusionforce.pipeline.bench", "pipeline", "--quick", "-n"]
    assert main(["bench", "forecast", "--list"]) == 7
    assert seen[1][-3:] == ["diffusionforce.trainer.forecast_bench", "forecast", "--list"]


def test_all_benchmarks_are_listed(capsys: pytest.CaptureFixture[str], place: Path):
    # The help was that of one of them, and did not know the other.
    with pytest.raises(SystemExit, match="0"):
        main(["bench", "--help"])
    out = capsys.readouterr().out
    assert "pipeline" in out and "forecast" in out
    assert main(["bench", "nothing"]) == 1
    assert "it is one of: rig, pipeline, forecast" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["engine", "install", "--from", ""], "--from is empty."),
        (["engine", "install", "--from", "https://example.org/e.zip"], "--from is an address"),
        (["models", "folder", ""], "DIR is empty."),
        (["models", "use", "wan21-14b", "vae", " "], "FILE is empty."),
        (["forecast", "pocket-demo", "--rig", "RTX 5080", "--devices", "cpu"], "--rig names cards"),
    ],
)
def test_arguments_that_would_mean_something_else_are_refused(
    arguments: list[str], words: str, place: Path, capsys: pytest.CaptureFixture[str]
):
    # An empty path meant the current folder; `models folder ""` made it a folder of models.
    assert main(arguments) == 1
    assert capsys.readouterr().err.startswith(words)


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out.startswith("DiffusionForce ")


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> list[Path | None]:
    """The runs that a stand-in for the window was opened on."""
    opened: list[Path | None] = []
    module = types.ModuleType("diffusionforce.gui.app")
    module.main = lambda run: opened.append(run) or 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "diffusionforce.gui.app", module)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    return opened


def test_the_window_opens_on_a_run(place: Path, window: list[Path | None], capsys: pytest.CaptureFixture[str]):
    run = RunFolder.create(place / "run", small_job(place / "job"))
    assert main(["gui"]) == main(["gui", "--run", "run"]) == 0
    assert window == [None, run.root]
    assert main(["gui", "--run", "pictures"]) == 1
    assert "pictures is not a run folder" in capsys.readouterr().err
    assert main(["gui", "--run", ""]) == main(["gui", "--run", "x" * 300]) == 1
    told = capsys.readouterr().err
    assert "--run is empty" in told and "There is no run 'xxx" in told
    assert len(window) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
def test_without_a_display_there_is_a_sentence(
    window: list[Path | None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert main(["gui"]) == 1
    assert "no display" in capsys.readouterr().err and window == []


def test_a_window_that_cannot_be_loaded_is_a_sentence(
    window: list[Path | None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "diffusionforce.gui.app", None)
    assert main(["gui"]) == 1
    assert capsys.readouterr().err.startswith("The window cannot be opened: ")


@pytest.mark.parametrize(("severity", "code"), [("problem", 1), ("warning", 0)])
def test_the_doctor_shows_findings_and_a_problem_is_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], severity: rig.Severity, code: int
):
    finding = rig.Finding(severity=severity, sentence="The [fan] is loud.", hint="Oil it.")
    report = rig.RigReport(machine=rig.read_machine(), cards=(), torch=None, findings=(finding,))
    monkeypatch.setattr(listing, "examine", lambda disk_path: report)
    assert main(["doctor"]) == code
    shown = capfd.readouterr().out
    assert f"{severity}  The [fan] is loud." in shown and "Oil it." in shown
    assert main(["doctor", "--json"]) == code
    record = json.loads(capfd.readouterr().out)
    assert record["kind"] == "rig" and record["findings"][0]["sentence"] == "The [fan] is loud."
