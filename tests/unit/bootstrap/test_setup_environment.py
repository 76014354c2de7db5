"""Making `.venv`: once, again after a change, repaired when it is half made, refused when it cannot be."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import setup_environment
from packages import SetupError

GB = 1000**3


class Environment:
    """A project in a temporary folder, with installation replaced by notes of what would be installed."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.venv = root / ".venv"
        self.installed: list[str] = []
        self.failure: Exception | None = None
        (root / "locks").mkdir()
        (root / "locks" / "torch.txt").write_text("# pin\ntorch==2.13.0\n", encoding="utf-8")
        (root / "locks" / "torchvision.txt").write_text("# pin\ntorchvision==0.28.0\n", encoding="utf-8")
        for name in ("pyproject.toml", "locks/runtime.txt", "locks/test.txt", "locks/musubi.txt"):
            (root / name).write_text("", encoding="utf-8")
        for name, value in {"ROOT": root, "VENV": self.venv, "LOCKS": root / "locks"}.items():
            monkeypatch.setattr(setup_environment, name, value)
        monkeypatch.setattr(setup_environment, "has_nvidia_card", lambda: False)
        monkeypatch.setattr(setup_environment, "check_disk", lambda needed_bytes: None)
        monkeypatch.setattr(setup_environment, "install", self._install)
        monkeypatch.setattr(setup_environment, "install_torch", self._install_torch)
        monkeypatch.setattr(setup_environment, "subprocess", SimpleNamespace(run=self._run))

    def prepare(self, *, on_top: str = "") -> list[str]:
        """Prepare the environment and return what was installed for it."""
        self.installed.clear()
        setup_environment.prepare(on_top=on_top)
        return list(self.installed)

    def _install(self, python: Path, *arguments: str, title: str, log: Path) -> None:
        self.installed.append(title)
        if self.failure:
            raise self.failure
        script = setup_environment.venv_script(self.venv, name="diffusionforce")
        script.touch()

    def _install_torch(self, python: Path, *, version: str, nvidia: bool, log: Path, package: str) -> None:
        self.installed.append(f"{package} {version}")

    def _run(self, command: list[str | Path], **options: object) -> "subprocess.CompletedProcess[str]":
        """Make a stand-in for an environment, and let its interpreter always answer well."""
        if "venv" in command:
            python = setup_environment.venv_python(Path(command[-1]))
            python.parent.mkdir(parents=True)
            python.touch()
        return subprocess.CompletedProcess([str(part) for part in command], 0, "", "")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """A project without an environment."""
    return Environment(tmp_path, monkeypatch)


RUNTIME = ["packages", "torch 2.13.0", "DiffusionForce"]
WITH_TESTS = ["packages", "torch 2.13.0", "test tools", "DiffusionForce"]


def test_the_first_time_everything_is_installed_and_the_second_time_nothing(environment: Environment) -> None:
    assert environment.prepare() == RUNTIME
    assert environment.prepare() == []


def test_the_test_tools_come_on_top_and_satisfy_the_demo(environment: Environment) -> None:
    environment.prepare()
    assert environment.prepare(on_top="test") == WITH_TESTS
    assert environment.prepare(on_top="test") == []
    assert environment.prepare() == []


@pytest.mark.parametrize("name", ["pyproject.toml", "locks/runtime.txt", "locks/torch.txt"])
def test_a_changed_pin_is_installed(environment: Environment, name: str) -> None:
    environment.prepare()
    with (environment.root / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert environment.prepare() == RUNTIME


def test_changed_test_tools_leave_the_demo_alone(environment: Environment) -> None:
    environment.prepare(on_top="test")
    (environment.root / "locks/test.txt").write_text("changed", encoding="utf-8")
    assert environment.prepare() == []
    assert environment.prepare(on_top="test") == WITH_TESTS


def test_the_engines_libraries_come_on_top_with_what_is_built_like_pytorch(environment: Environment) -> None:
    environment.prepare(on_top="test")
    with_engine = ["packages", "torch 2.13.0", "the engine's libraries", "torchvision 0.28.0", "DiffusionForce"]
    assert environment.prepare(on_top="engine") == with_engine
    assert environment.prepare(on_top="engine") == environment.prepare() == []
    assert environment.prepare(on_top="test") == [], "they take nothing away"
    (environment.root / "locks/torchvision.txt").write_text("torchvision==0.29.0\n", encoding="utf-8")
    assert environment.prepare(on_top="test") == []
    assert "torchvision 0.29.0" in environment.prepare(on_top="engine")


def test_an_environment_that_was_made_anew_has_nothing_on_top(environment: Environment) -> None:
    environment.prepare(on_top="engine")
    setup_environment.venv_python(environment.venv).unlink()
    assert environment.prepare() == RUNTIME
    assert "the engine's libraries" in environment.prepare(on_top="engine")


def test_the_engine_command_hands_its_options_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    called: list[list[str]] = []
    prepared: list[str] = []
    monkeypatch.setattr(setup_environment, "VENV", tmp_path)
    monkeypatch.setattr(setup_environment, "prepare", lambda *, on_top: prepared.append(on_top))

    def call(command: list[str | Path]) -> int:
        called.append([str(part) for part in command])
        return 3

    monkeypatch.setattr(setup_environment, "subprocess", SimpleNamespace(call=call))
    assert setup_environment.main(["engine", "--from", "x.zip"]) == 3
    assert prepared == ["engine"]
    assert called[0][1:] == ["engine", "install", "--from", "x.zip"]


def test_a_new_card_is_a_reason_to_look_again(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.prepare()
    monkeypatch.setattr(setup_environment, "has_nvidia_card", lambda: True)
    assert environment.prepare() == RUNTIME


def test_an_environment_cut_short_is_made_anew(environment: Environment) -> None:
    environment.prepare()
    environment.failure = KeyboardInterrupt()  # type: ignore[assignment]
    (environment.root / "pyproject.toml").write_text("changed", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        environment.prepare()
    leftover = environment.venv / "half-installed"
    leftover.touch()
    environment.failure = None
    assert environment.prepare() == RUNTIME
    assert not leftover.exists()


def test_a_missing_network_keeps_what_is_there(environment: Environment) -> None:
    environment.failure = SetupError("The package index cannot be reached.")
    with pytest.raises(SetupError):
        environment.prepare()
    kept = environment.venv / "kept"
    kept.touch()
    environment.failure = None
    assert environment.prepare() == RUNTIME
    assert kept.exists()


def test_a_lost_program_or_interpreter_is_replaced(environment: Environment) -> None:
    environment.prepare()
    setup_environment.venv_script(environment.venv, name="diffusionforce").unlink()
    assert environment.prepare() == RUNTIME
    setup_environment.venv_python(environment.venv).unlink()
    assert environment.prepare() == RUNTIME


def test_a_garbled_stamp_counts_for_nothing(environment: Environment) -> None:
    environment.prepare()
    (environment.venv / "diffusionforce-ready.json").write_text("[1", encoding="utf-8")
    assert environment.prepare() == RUNTIME


def test_a_short_disk_is_refused_with_both_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = int(1.25 * GB)

    monkeypatch.setattr(setup_environment, "shutil", SimpleNamespace(disk_usage=lambda path: Usage))
    with pytest.raises(SetupError, match=r"needs 3 GB and .* has 1\.2 GB free"):
        setup_environment.check_disk(3 * GB)
    setup_environment.check_disk(GB)


def test_a_python_without_its_venv_module_is_told_how_to_get_it(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = "The virtual environment was not created successfully because ensurepip is not available."
    failed = subprocess.CompletedProcess(["python"], 1, output, "")
    monkeypatch.setattr(setup_environment, "subprocess", SimpleNamespace(run=lambda command, **options: failed))
    with pytest.raises(SetupError, match="python3-venv"):
        environment.prepare()
    assert not environment.venv.exists()


def test_problems_end_in_a_sentence_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*, on_top: str) -> None:
        raise SetupError("The disk is too full.")

    monkeypatch.setattr(setup_environment, "prepare", refuse)
    assert setup_environment.main(["demo"]) == 1
    assert capsys.readouterr().err == "The disk is too full.\n"


def test_the_demo_takes_options_of_the_run_and_the_tests_take_none(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def demo(extra: list[str], *, venv: Path, out: Path | None, window: bool) -> int:
        seen.append([*extra, str(out), str(window)])
        return 0

    monkeypatch.setattr(setup_environment, "prepare", lambda *, on_top: None)
    monkeypatch.setattr(setup_environment, "run_demo", demo)
    assert setup_environment.main(["demo", "--no-window", "--steps", "20", "--out", "/runs/1"]) == 0
    assert seen == [["--steps", "20", str(Path("/runs/1").absolute()), "False"]]
    with pytest.raises(SystemExit):
        setup_environment.main(["test", "--steps", "20"])


@pytest.mark.parametrize("as_json", [True, False])
def test_telemetry_has_stdout_for_itself(
    as_json: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Symptom: `bootstrap.py demo --json` mixed words into the records.
    def run_demo(extra: list[str], **_: object) -> int:
        setup_environment.say("To see it in the window")
        return subprocess.call([sys.executable, "-c", "print('record')"])

    monkeypatch.setattr(setup_environment, "prepare", lambda on_top: setup_environment.say("Already set up"))
    monkeypatch.setattr(setup_environment, "run_demo", run_demo)
    assert setup_environment.main(["demo", *(["--json"] if as_json else [])]) == 0
    stdout, stderr = capfd.readouterr()
    words, record = ["Already set up", "To see it in the window"], ["record"]
    assert sorted(stdout.splitlines()) == (record if as_json else sorted(words + record))
    assert stderr.splitlines() == (words if as_json else [])


def test_the_real_interpreter_is_recognised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(setup_environment, "VENV", tmp_path)
    monkeypatch.setattr(setup_environment, "venv_python", lambda folder: Path(sys.executable))
    assert setup_environment.venv_works()
    monkeypatch.setattr(setup_environment, "venv_python", lambda folder: tmp_path / "python")
    assert not setup_environment.venv_works()
