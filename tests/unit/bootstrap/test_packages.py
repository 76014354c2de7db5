"""Installing packages: what pip's failures mean, and which PyTorch is asked for where."""

import subprocess
import sys
from pathlib import Path

import pytest

import packages
from packages import SetupError, failure_sentence, install, install_torch

# Lines as pip 23.2, uv 0.13 and the systems print them.
FAILURES = {
    "NewConnectionError('<pip._vendor...>: Failed to establish a new connection: [Errno 111]": "cannot be reached",
    "Temporary failure in name resolution": "cannot be reached",
    "  cause: client error (Connect)\n  cause: dns error": "cannot be reached",
    "ReadTimeoutError: HTTPSConnectionPool: Read timed out. (read timeout=15)": "cannot be reached",
    "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device": "The disk is full",
    "failed to copy: There is not enough space on the disk. (os error 112)": "The disk is full",
    "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.": "is not the one that was pinned",
    "ERROR: Package 'x' requires a different Python": "failed: ERROR: Package 'x' requires a different Python",
    "": "Installing packages failed.",
}


@pytest.mark.parametrize(("output", "expected"), FAILURES.items())
def test_each_failure_has_its_sentence(output: str, expected: str) -> None:
    assert expected in failure_sentence(output, log=Path("pip.log"))


def test_a_full_disk_is_told_before_the_network_it_broke() -> None:
    output = "Connection reset by peer\nOSError: [Errno 28] No space left on device"
    assert failure_sentence(output, log=Path("pip.log")).startswith("The disk is full")


def test_pip_without_a_network_ends_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    log = tmp_path / "pip.log"
    # Nothing listens on the port, so the real pip fails as it does without a network, only sooner.
    unreachable = ["--index-url", "http://127.0.0.1:9/simple", "--target", str(tmp_path / "nothing")]
    with pytest.raises(SetupError, match="The package index cannot be reached"):
        install(Path(sys.executable), *unreachable, "diffusionforce-is-not-there", title="packages", log=log)
    assert "Failed to establish a new connection" in log.read_text(encoding="utf-8")
    assert "packages failed" in capsys.readouterr().out


def test_an_earlier_failure_in_the_log_is_not_told_again(tmp_path: Path) -> None:
    log = tmp_path / "pip.log"
    log.write_text("No space left on device\n", encoding="utf-8")
    with pytest.raises(SetupError) as caught:
        install(Path(sys.executable), "--no-such-option", title="packages", log=log)
    assert "The disk is full" not in str(caught.value)


class Recorder:
    """Stands in for running programs: notes the commands and answers with prepared exit codes."""

    def __init__(self, *codes: int) -> None:
        self.commands: list[str] = []
        self._codes = list(codes)

    def __call__(self, command: list[str | Path], **details: object) -> int:
        self.commands.append(" ".join(map(str, command)))
        return self._codes.pop(0)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A Linux machine; its platform may be changed."""
    monkeypatch.setattr(packages, "PLATFORM", "linux")
    return monkeypatch


def commands_for(machine: pytest.MonkeyPatch, tmp_path: Path, *codes: int, nvidia: bool) -> list[str]:
    """Install PyTorch with programs that answer with the codes, and return what was run."""
    recorder = Recorder(*codes)
    machine.setattr(packages, "run_quietly", recorder)
    log = tmp_path / "log"
    log.write_text("error: Connection timed out\n", encoding="utf-8")
    try:
        install_torch(Path("python"), version="2.13.0", nvidia=nvidia, log=log)
    except SetupError as error:
        recorder.commands.append(str(error))
    return recorder.commands


@pytest.mark.parametrize(("nvidia", "backend"), [(False, "cpu"), (True, "auto")])
def test_linux_asks_pytorchs_own_index_first(
    machine: pytest.MonkeyPatch, tmp_path: Path, nvidia: bool, backend: str
) -> None:
    probe, installed = commands_for(machine, tmp_path, 0, 0, nvidia=nvidia)
    assert f"--torch-backend {backend}" in probe
    assert probe.endswith("torch==2.13.0 --dry-run")
    assert installed.endswith("torch==2.13.0")


def test_without_that_index_pip_decides(machine: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, installed = commands_for(machine, tmp_path, 1, 0, nvidia=False)
    assert "-m pip install" in installed
    assert "--torch-backend" not in installed


def test_a_download_that_breaks_off_is_not_replaced_by_another_build(
    machine: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, _, sentence = commands_for(machine, tmp_path, 0, 1, nvidia=False)
    assert "cannot be reached" in sentence


def test_macos_and_windows_without_a_card_take_the_usual_build(machine: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine.setattr(packages, "PLATFORM", "darwin")
    (mac,) = commands_for(machine, tmp_path, 0, nvidia=False)
    assert "-m pip install" in mac
    machine.setattr(packages, "PLATFORM", "win32")
    (windows,) = commands_for(machine, tmp_path, 0, nvidia=False)
    assert "-m pip install" in windows
    probe, _ = commands_for(machine, tmp_path, 0, 0, nvidia=True)
    assert "--torch-backend auto" in probe


def test_output_goes_to_the_log_and_the_time_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    code = packages.run_quietly(
        [sys.executable, "-c", "import os; print('hello', os.environ['DF'])"],
        title="greeting",
        log=log,
        environment={"DF": "there"},
    )
    assert code == 0
    assert "hello there" in log.read_text(encoding="utf-8")
    assert capsys.readouterr().out.startswith("  greeting done (")


def test_the_ticker_ends_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    threads_before = packages.threading.active_count()
    packages.run_quietly([sys.executable, "-c", ""], title="nothing", log=tmp_path / "log")
    assert packages.threading.active_count() == threads_before


def test_set_up_needs_nothing_installed() -> None:
    # Set-up runs before anything is installed, so its modules may import the standard library only.
    tools = Path(packages.__file__).parent
    program = f"import sys; sys.path.insert(0, {str(tools)!r}); import setup_environment"
    child = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
