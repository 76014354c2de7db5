"""The command line as a process, with the real trainer process behind it and a fake engine in that."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.jobs import picture_folder
from tests.support.trainer_process import EXIT_WAIT_S, ROOT

from diffusionforce.runs import RunFolder, list_runs
from diffusionforce.wire import StreamDecoder

MANY = "100000"

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


class CommandLine:
    """Starts `diffusionforce` in a folder of its own, and cleans up behind it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str, deeds: str = "") -> subprocess.Popen[bytes]:
        """Start a command."""
        environment = os.environ | {
            "DIFFUSIONFORCE_HOME": str(self.home),
            "FAKE_ENGINE": deeds,
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
        }
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests/support/fake_cli.py"), *arguments],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._started.append(process)
        return process

    def run(self, *arguments: str, deeds: str = "") -> tuple[int, str, str]:
        """Run a command to its end; returns exit code, output and errors."""
        process = self.start(*arguments, deeds=deeds)
        stdout, stderr = process.communicate(timeout=EXIT_WAIT_S)
        return process.returncode, stdout.decode(), stderr.decode()

    def close(self) -> None:
        """End what still runs."""
        for process in self._started:
            process.kill()
            process.communicate()
        for run in list_runs(self.home / "runs"):
            state = run.read_state()
            if state.state == "running" and psutil.pid_exists(state.pid):
                psutil.Process(state.pid).kill()


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[CommandLine]:
    picture_folder(tmp_path / "pictures")
    line = CommandLine(tmp_path)
    yield line
    line.close()


def records(stdout: str) -> list[dict[str, Any]]:
    """The records in an output that holds nothing else."""
    return [json.loads(line) for line in stdout.splitlines()]


def first_run(cli: CommandLine, *, patience_s: float = 30.0) -> RunFolder:
    """The only run there is, once it is there."""
    deadline_s = time.monotonic() + patience_s
    while not (runs := list_runs(cli.home / "runs")) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return runs[0]


def wait_until_ended(run: RunFolder, *, patience_s: float = 30.0) -> str:
    deadline_s = time.monotonic() + patience_s
    while run.reconciled_state().state == "running" and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return run.reconciled_state().state


def wait_for_line(process: subprocess.Popen[bytes], words: bytes) -> bytes:
    assert process.stdout is not None
    return next(line for line in process.stdout if words in line)


def test_a_run_ends_by_saying_where_things_lie_and_how_far_the_loss_fell(cli: CommandLine):
    code, stdout, stderr = cli.run(
        "run", "pocket-demo", "--dataset", "pictures", "--steps", "40", "--out", "my run", deeds="noise"
    )
    assert (code, stderr) == (0, "")
    out = cli.folder / "my run"
    assert f"LoRA: {out / 'checkpoints' / 'lora-00040.safetensors'}" in stdout
    assert "Held-out loss: 1.0000 before, 0.6000 after, 40 % lower." in stdout
    assert "Step 2/40" in stdout and "Step 40/40" in stdout and "os.write" not in stdout
    assert RunFolder.open(out).read_state().state == "done"
    code, stdout, stderr = cli.run("run", "pocket-demo", "--dataset", "pictures", "--out", "my run")
    assert (code, stdout) == (1, "")
    assert "already holds a run" in stderr and "Traceback" not in stderr


def test_json_is_the_telemetry_and_nothing_else(cli: CommandLine):
    code, stdout, _ = cli.run("run", "pocket-demo", "--dataset", "pictures", "--steps", "3", "--json", deeds="noise")
    kinds = [record["kind"] for record in records(stdout)]
    assert code == 0
    assert kinds == ["hello", "held_out", "step", "step", "step", "held_out", "checkpoint", "done"]
    hello = records(stdout)[0]
    assert Path(hello["run_dir"]).parent == cli.home / "runs"


def test_a_refusal_of_the_trainer_is_the_only_record_and_nothing_is_written(cli: CommandLine):
    before = sorted(cli.folder.rglob("*"))
    code, stdout, _ = cli.run("run", "pocket-demo", "--dataset", "nowhere", "--json")
    (record,) = records(stdout)
    assert (code, record["kind"]) == (1, "failed")
    assert "nowhere is not there" in record["sentence"]
    assert sorted(cli.folder.rglob("*")) == before


def test_a_refusal_for_people_has_no_traceback(cli: CommandLine):
    code, stdout, stderr = cli.run("run", "pocket-dmeo")
    assert (code, stdout) == (1, "")
    assert stderr.startswith("There is no profile 'pocket-dmeo'. Did you mean pocket-demo?\nBuilt-in profiles:")


def test_a_bug_says_so_and_where_the_rest_is(cli: CommandLine):
    code, stdout, stderr = cli.run("run", "pocket-demo", "--dataset", "pictures", deeds="bug")
    assert code == 2
    assert "This is a bug in DiffusionForce (ZeroDivisionError: one by zero)." in stderr
    assert "Traceback" not in stdout + stderr
    run = first_run(cli)
    assert f"Everything about the run: {run.root}" in stdout
    assert "Traceback" in run.read_state().detail and "Traceback" in run.log_path.read_text()


@posix
def test_a_closed_pipe_does_not_stop_the_training(cli: CommandLine):
    process = cli.start("run", "pocket-demo", "--dataset", "pictures", "--steps", "30", "--json", deeds="slow")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["kind"] == "hello"
    process.stdout.close()
    assert process.wait(EXIT_WAIT_S) == 0
    assert first_run(cli).read_state().state == "done"
    process.stdout = None


@posix
@pytest.mark.parametrize("mode", [["--json"], []])
def test_a_command_line_that_is_killed_leaves_the_training_alone(cli: CommandLine, mode: list[str]):
    process = cli.start("run", "pocket-demo", "--dataset", "pictures", "--steps", "40", *mode, deeds="slow")
    run = first_run(cli)
    process.kill()
    process.wait()
    assert run.read_state().state == "running"
    assert wait_until_ended(run) == "done"
    assert run.read_state().step == 40


@posix
def test_a_killed_trainer_is_a_crash_that_names_what_was_kept(cli: CommandLine):
    process = cli.start("run", "pocket-demo", "--dataset", "pictures", "--steps", MANY, deeds="slow")
    run = first_run(cli)
    os.kill(run.read_state().pid, signal.SIGKILL)
    _, stderr = process.communicate(timeout=EXIT_WAIT_S)
    assert process.returncode == 1
    assert "The run crashed (signal 9)." in stderr.decode() and "kept: no LoRA and no samples" in stderr.decode()
    assert run.read_state().state == "crashed"
    assert "crashed" in cli.run("runs")[1]


@posix
def test_a_killed_trainer_ends_the_json_with_a_failed_record(cli: CommandLine):
    process = cli.start("run", "pocket-demo", "--dataset", "pictures", "--steps", MANY, "--json", deeds="slow")
    os.kill(first_run(cli).read_state().pid, signal.SIGKILL)
    stdout, _ = process.communicate(timeout=EXIT_WAIT_S)
    last = records(stdout.decode())[-1]
    assert (process.returncode, last["kind"]) == (1, "failed")
    assert "The run crashed (signal 9)." in last["sentence"]


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("mode", [["--json"], []])
def test_ctrl_c_stops_cleanly_and_keeps_the_state(cli: CommandLine, mode: list[str], number: signal.Signals):
    process = cli.start("run", "pocket-demo", "--dataset", "pictures", "--steps", MANY, *mode, deeds="slow")
    run = first_run(cli)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=EXIT_WAIT_S)
    assert (process.returncode, stderr) == (0, b"")
    state = run.read_state()
    assert state.state == "stopped" and (run.root / state.lora).is_file()
    if mode:
        decoder = StreamDecoder()
        assert [*decoder.feed(stdout)][-1].kind == "stopped" and decoder.garbage == []
    else:
        assert f"Stopped at step {state.step} of {MANY}." in stdout.decode()
        assert f"LoRA: {run.root / state.lora}" in stdout.decode()


@posix
@pytest.mark.parametrize(("num_presses", "state"), [(2, "stopped"), (3, "crashed")])
def test_further_ctrl_cs_are_harder(cli: CommandLine, num_presses: int, state: str):
    process = cli.start("run", "pocket-demo", "--dataset", "pictures", deeds="deaf" if num_presses == 3 else "endless")
    wait_for_line(process, b"Held-out loss")
    run = first_run(cli)
    for _ in range(num_presses):
        process.send_signal(signal.SIGINT)
        time.sleep(1.2)
    _, stderr = process.communicate(timeout=EXIT_WAIT_S)
    assert run.read_state().state == state
    assert process.returncode == (130 if num_presses == 3 else 0)
    assert ("The trainer was ended at once, as asked." in stderr.decode()) == (num_presses == 3)
    assert not psutil.pid_exists(run.read_state().pid)


def test_another_protocol_version_is_refused_and_the_trainer_ended(cli: CommandLine):
    code, _, stderr = cli.run("run", "pocket-demo", "--dataset", "pictures", "--steps", MANY, deeds="slow,future")
    assert code == 1
    assert "The trainer speaks protocol 2, this program speaks 1." in stderr
    assert wait_until_ended(first_run(cli)) == "crashed"


def test_no_command_but_the_training_itself_loads_torch_or_qt():
    code = (
        "import sys, diffusionforce.cli.app, diffusionforce.cli.commands; diffusionforce.cli.commands.parser();"
        "sys.exit(any(name in sys.modules for name in ('torch', 'PySide6')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


RUN = ("run", "pocket-demo", "--dataset", "pictures", "--steps", "3")


def shell(cli: CommandLine, line: str, *, deeds: str = "") -> tuple[int, str, str]:
    """Run a line of bash in which `$df` is the command; returns exit code, output and errors."""
    environment = os.environ | {
        "DIFFUSIONFORCE_HOME": str(cli.home),
        "FAKE_ENGINE": deeds,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "df": f"{sys.executable} {ROOT / 'tests/support/fake_cli.py'}",
        "run": f"{sys.executable} {ROOT / 'tests/support/fake_cli.py'} {' '.join(RUN)}",
    }
    done = subprocess.run(
        ["bash", "-c", line], cwd=cli.folder, env=environment, capture_output=True, timeout=EXIT_WAIT_S, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@posix
@pytest.mark.parametrize(
    "line",
    [
        "$run --json >&-",
        "$run >&- 2>&- <&-",
        "$run >/dev/full",
        "$run --json >/dev/full",
        "$run | head -1; exit ${PIPESTATUS[0]}",
    ],
)
def test_an_output_that_takes_nothing_does_not_stop_the_training(cli: CommandLine, line: str):
    # Symptoms: an AttributeError, a traceback, or a trainer that went on alone while we had long ended.
    if "/dev/full" in line and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    code, _, stderr = shell(cli, line)
    assert (code, stderr) == (0, "")
    assert [run.read_state().state for run in list_runs(cli.home / "runs")] == ["done"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_list_that_cannot_be_written_is_a_sentence(cli: CommandLine):
    code, _, stderr = shell(cli, "$df runs >/dev/full")
    assert (code, stderr) == (1, "The output cannot be written: No space left on device.\n")


@posix
@pytest.mark.parametrize("json_option", ["", " --json"])
def test_a_current_folder_that_is_gone_is_a_sentence(cli: CommandLine, json_option: str):
    # Symptom: a traceback that ended in FileNotFoundError.
    code, stdout, stderr = shell(
        cli, f"mkdir gone && cd gone && rmdir ../gone && $df run pocket-demo --dataset x{json_option}"
    )
    assert code == 1 and "Traceback" not in stderr
    assert "The current folder is not there any more." in (stdout if json_option else stderr)


def test_two_runs_that_start_at_once_both_train(cli: CommandLine):
    # Symptom: started within the same second, the second was refused, since the first had taken its folder.
    processes = [cli.start(*RUN, "--json") for _ in range(2)]
    assert [process.wait(EXIT_WAIT_S) for process in processes] == [0, 0]
    assert [run.read_state().state for run in list_runs(cli.home / "runs")] == ["done", "done"]


@posix
def test_a_killed_command_line_leaves_no_job_file_behind(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    temporary = cli.folder / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    process = cli.start("run", "pocket-demo", "--dataset", "pictures", "--steps", "20", deeds="slow")
    run = first_run(cli)
    process.kill()
    assert list(temporary.iterdir()) == []
    assert wait_until_ended(run) == "done"


@posix
def test_an_early_ctrl_c_is_no_traceback(cli: CommandLine):
    # Symptom: pressed while the program was still being loaded, Ctrl-C showed where Python was.
    code = (
        "import os, signal, sys; import diffusionforce.cli as cli; from importlib import abc;"
        "finder = type('Finder', (abc.MetaPathFinder,), {'find_spec': lambda self, name, *rest: "
        "os.kill(os.getpid(), signal.SIGINT) if name == 'diffusionforce.cli.listing' else None});"
        "sys.meta_path.insert(0, finder()); sys.exit(cli.main(['profiles']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=EXIT_WAIT_S)
    assert (done.returncode, done.stderr) == (130, b"")
