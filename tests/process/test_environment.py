"""The environment for training, built by the real uv from wheels that the test makes, without a network."""

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
from tests.support import wheelhouse

from diffusionforce.wire.environment import EnvironmentLine, EnvironmentProgress, EnvironmentRecord, EnvironmentStatus
from diffusionforce.wire.environment import read_environment_record as read_record
from diffusionforce.wire.interpreter import STAMP_NAME, site_packages, venv_python
from diffusionforce.wire.messages import Failed

WAIT_S = 60.0
# Loads at once, or waits to be killed while its file is there.
SLOW_CODE = "import pathlib, time\nwhile pathlib.Path({gate!r}).exists():\n    time.sleep(0.05)\n"


class Rig:
    """An application and a data folder of their own."""

    def __init__(self, folder: Path, **codes: str) -> None:
        self.application = wheelhouse.make_application(folder / "ünï app", codes=codes)
        self.home = folder / "hömé"
        self.env = self.home / "env"
        self.variables = {**os.environ, **wheelhouse.use(self.application, self.home), "UV_HTTP_RETRIES": "0"}

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-X", "utf8", "-m", "diffusionforce.cli", "env", *arguments]

    def call(self, *arguments: str) -> "Answer":
        """Run a command to its end."""
        done = subprocess.run(
            self.command(*arguments, "--json"),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=self.variables,
            timeout=WAIT_S,
            check=False,
        )
        assert done.stderr == b"", done.stderr.decode()
        return Answer(done.returncode, [read_record(line) for line in done.stdout.splitlines()])

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a command that ends when its input does."""
        return subprocess.Popen(
            self.command(*arguments, "--json", "--stop-with-input"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.variables,
        )

    @property
    def is_stamped(self) -> bool:
        return (self.env / STAMP_NAME).exists()

    def ask(self, code: str) -> str:
        """Run code in the environment's Python and return what it prints."""
        return subprocess.run(
            [venv_python(self.env), "-P", "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()


class Answer:
    """What a command said."""

    def __init__(self, code: int, records: list[EnvironmentRecord]) -> None:
        self.code, self.records = code, records

    @property
    def status(self) -> EnvironmentStatus:
        last = self.records[-1]
        assert isinstance(last, EnvironmentStatus), last
        return last

    @property
    def failure(self) -> Failed:
        last = self.records[-1]
        assert isinstance(last, Failed), last
        return last

    @property
    def log(self) -> str:
        return "\n".join(record.text for record in self.records if isinstance(record, EnvironmentLine))

    def steps(self) -> list[str]:
        return list(dict.fromkeys(record.step for record in self.records if isinstance(record, EnvironmentProgress)))


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "gate"
    path.touch()
    yield path
    path.unlink(missing_ok=True)


def test_it_is_built_from_wheels_and_knows_our_code(rig: Rig) -> None:
    answer = rig.call("create")
    assert answer.code == 0
    assert answer.steps() == ["venv", "torch", "libraries", "check"]
    assert (answer.status.state, answer.status.outcome, answer.status.torch_version) == ("ready", "built", "9.1.0")
    assert rig.ask("import diffusionforce, torch, tinylib; print(torch.__version__, tinylib.ANSWER)") == "9.1.0 42"
    # What only the window needs is in the locks, and has no wheel here.
    assert "pyside6" not in answer.log
    assert "tinylib==1.2.3" in Path(answer.status.log).read_text(encoding="utf-8")
    again = rig.call("create")
    assert (again.status.outcome, again.steps()) == ("was there", [])
    assert rig.call("verify").status.state == "ready"
    assert rig.call("remove").status.outcome == "removed"
    assert not rig.env.exists()
    assert rig.call("verify").status.state == "missing"


def test_what_does_not_load_leaves_no_stamp(tmp_path: Path) -> None:
    rig = Rig(tmp_path, tinylib="raise ImportError('DLL load failed while importing tinylib')")
    answer = rig.call("create")
    assert answer.code == 1
    assert answer.failure.sentence == "tinylib does not load: ImportError: DLL load failed while importing tinylib."
    assert not rig.is_stamped
    assert rig.call("verify").status.state == "unfinished"


def test_one_that_is_stopped_goes_on_where_it_was(tmp_path: Path, gate: Path) -> None:
    rig = Rig(tmp_path, tinylib=SLOW_CODE.format(gate=str(gate)))
    child = rig.start("create")
    _wait_for(child, "tinylib")
    assert not rig.is_stamped
    assert child.stdin is not None
    child.stdin.close()
    assert child.stdout is not None
    last = read_record(child.stdout.read().splitlines()[-1])
    assert child.wait(WAIT_S) == 1
    child.stdout.close()
    assert isinstance(last, EnvironmentStatus)
    assert (last.state, last.outcome) == ("unfinished", "stopped")
    assert _in_env(rig) == []
    gate.unlink()
    again = rig.call("create")
    assert again.status.outcome == "built"
    assert "venv --clear" not in again.log
    assert "Installed" not in again.log


def test_one_that_was_killed_goes_on_too(tmp_path: Path, gate: Path) -> None:
    rig = Rig(tmp_path, torchvision=SLOW_CODE.format(gate=str(gate)))
    child = rig.start("create")
    _wait_for(child, "torchvision")
    child.kill()
    child.communicate()
    gate.unlink()
    assert not rig.is_stamped
    assert rig.call("create").status.outcome == "built"


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process there")
def test_ctrl_c_ends_it_without_a_trace(tmp_path: Path, gate: Path) -> None:
    rig = Rig(tmp_path, tinylib=SLOW_CODE.format(gate=str(gate)))
    child = rig.start("create")
    _wait_for(child, "tinylib")
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=WAIT_S)
    assert child.returncode == 130
    assert b"Traceback" not in said
    assert not rig.is_stamped
    assert _in_env(rig) == []


def test_a_file_that_is_gone_is_found_and_repaired(rig: Rig) -> None:
    rig.call("create")
    (site_packages(rig.env) / "tinylib.py").unlink()
    damaged = rig.call("verify")
    assert (damaged.code, damaged.status.state) == (1, "damaged")
    assert damaged.status.problems == ("tinylib is damaged: tinylib.py is missing or was changed.",)
    repaired = rig.call("repair")
    assert (repaired.code, repaired.status.outcome) == (0, "repaired")
    assert rig.call("verify").status.state == "ready"


def test_a_package_of_another_version_is_found(rig: Rig) -> None:
    rig.call("create")
    info = site_packages(rig.env) / "tinylib-1.2.3.dist-info"
    info.rename(info.with_name("tinylib-1.2.4.dist-info"))
    metadata = info.with_name("tinylib-1.2.4.dist-info") / "METADATA"
    text = metadata.read_text(encoding="utf-8").replace("1.2.3", "1.2.4")
    metadata.unlink()
    metadata.write_text(text, encoding="utf-8")
    assert rig.call("verify").status.problems == ("tinylib 1.2.3 was installed, and is version 1.2.4.",)


def test_other_locks_and_another_place_make_it_anew(rig: Rig) -> None:
    rig.call("create")
    stamp = rig.env / STAMP_NAME
    content: dict[str, Any] = json.loads(stamp.read_text(encoding="utf-8"))
    stamp.write_text(json.dumps(content | {"code": "/elsewhere"}), encoding="utf-8")
    assert rig.call("verify").status.state == "moved"
    stamp.write_text(json.dumps(content), encoding="utf-8")
    (rig.application / "locks" / "imports.txt").write_text("torch\n", encoding="utf-8")
    assert rig.call("status").status.state == "outdated"
    renewed = rig.call("create")
    assert renewed.status.outcome == "built"
    assert "venv --clear" in renewed.log


def test_without_network_and_wheels_it_says_so(rig: Rig) -> None:
    for path in (rig.application / "wheels").iterdir():
        path.unlink()
    rig.variables["UV_DEFAULT_INDEX"] = "https://127.0.0.1:9/simple"
    # The build that the package index itself has, so that it is the one that is asked.
    backend = "cu130" if sys.platform == "linux" else "cpu"
    answer = rig.call("create", f"--backend={backend}")
    assert answer.code == 1
    assert answer.failure.sentence.startswith("PyTorch could not be downloaded: the network, or the server")
    assert "Failed to fetch" in answer.failure.detail
    assert not rig.is_stamped


def test_a_package_that_the_wheels_lack_is_named_with_the_folder(rig: Rig) -> None:
    wheels = rig.application / "wheels"
    next(wheels.glob("tinylib-*")).unlink()
    assert rig.call("create").failure.sentence == f"A library is not in {wheels}, or not for this computer."


def test_a_wheel_that_was_changed_is_refused(rig: Rig) -> None:
    wheelhouse.make_wheel(rig.application / "wheels", "tinylib", code="ANSWER = 'stolen'\n")
    answer = rig.call("create")
    assert answer.failure.sentence == "A downloaded package is not the one that was pinned, so it was not installed."
    assert not (site_packages(rig.env) / "tinylib.py").exists()


def test_wheels_without_cuda_are_not_taken_for_the_cards(rig: Rig) -> None:
    answer = rig.call("create", "--backend=cu130")
    assert answer.failure.sentence == "What was installed is PyTorch without CUDA, which cannot use the cards."
    assert not rig.is_stamped


def test_a_folder_without_wheels_is_refused(rig: Rig, tmp_path: Path) -> None:
    answer = rig.call("create", f"--wheels={tmp_path}")
    assert answer.failure.sentence == f"There are no wheels in {tmp_path}."


def test_a_terminal_is_told_in_words(rig: Rig) -> None:
    done = subprocess.run(
        rig.command("create"), capture_output=True, text=True, env=rig.variables, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0
    assert "2 of 4  Installing PyTorch" in done.stdout
    assert f"The environment in {rig.env} is ready: PyTorch 9.1.0, no CUDA" in done.stdout


def _wait_for(child: "subprocess.Popen[bytes]", package: str) -> None:
    """Read what a child says until it loads a package."""
    assert child.stdout is not None
    for line in child.stdout:
        record = read_record(line)
        if isinstance(record, EnvironmentProgress) and (record.step, record.package) == ("check", package):
            return
    raise AssertionError(f"It ended before {package} was loaded")


def _in_env(rig: Rig) -> list[str]:
    """Return the processes that run in the environment, after those that are ending had a moment."""
    end_s = time.monotonic() + 5
    while True:
        found = [
            " ".join(process.info["cmdline"])
            for process in psutil.process_iter(["cmdline"])
            if str(rig.env) in " ".join(process.info["cmdline"] or [])
        ]
        if not found or time.monotonic() > end_s:
            return found
        time.sleep(0.05)
