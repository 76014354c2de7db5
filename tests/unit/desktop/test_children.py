"""Programs that are started, and how: by their own words, and by the flags that Windows would get."""

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from diffusionforce.desktop import children
from diffusionforce.desktop.children import CREATE_NO_WINDOW, windows_flags
from diffusionforce.desktop.lifetime import JobObject, ending_with_us

SOURCE = Path(__file__).parents[3] / "src" / "diffusionforce"


def test_a_child_reads_and_writes_utf_8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LC_ALL", "C")
    code = "import sys; print(sys.flags.utf8_mode, sys.stdin.read())"
    ended = children.run([sys.executable, "-c", code], given="jürgen漢 🦊".encode())
    assert (ended.returncode, ended.stdout.decode()) == (0, "1 jürgen漢 🦊" + os.linesep)
    assert children.run([sys.executable, "-c", "exit(3)"], environment=dict(os.environ)).returncode == 3


def test_a_child_that_takes_too_long_is_killed():
    begin_s = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        children.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout_s=0.5)
    assert time.monotonic() - begin_s < 30


def test_a_console_is_hidden_where_we_have_none_and_shared_where_we_have_one():
    assert windows_flags(lambda: None, own_session=False) == CREATE_NO_WINDOW
    assert windows_flags(lambda: 0, own_session=True) == CREATE_NO_WINDOW | 0x200
    assert windows_flags(lambda: 7, own_session=False) == 0


def test_everything_that_is_started_goes_through_one_place():
    found: list[str] = []
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in {"subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_output"}:
                    found.append(f"{name}: {called}")
                if called.endswith("process.start") or called == "QProcess.startDetached":
                    found.append(f"{name}: {called}")
    assert sorted(found) == ["desktop/children.py: subprocess.Popen", "gui/processes.py: process.start"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other ways")
def test_a_child_ends_with_its_parent_that_is_killed():
    child = ending_with_us([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(300)"])
    code = "import subprocess, sys; p = subprocess.Popen(sys.argv[1:]); print(p.pid, flush=True); p.wait()"
    with subprocess.Popen([sys.executable, "-c", code, *child], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = max(int(parent.stdout.readline()), int(parent.stdout.readline()))
        process = psutil.Process(pid)
        parent.kill()
    gone, alive = psutil.wait_procs([process], timeout=20)
    assert gone and not alive


class FakeKernel:
    """Windows' job objects."""

    def __init__(self, *, refuses: str = "") -> None:
        self.refuses = refuses
        self.flags = 0
        self.taken: list[int] = []
        self.open_handles: list[int] = []

        def made(name: str, result):
            def call(*arguments):
                return 0 if name == refuses else result(*arguments)

            return call

        self.CreateJobObjectW = made("CreateJobObjectW", lambda *_: self._opened(11))
        self.SetInformationJobObject = made("SetInformationJobObject", self._limit)
        self.OpenProcess = made("OpenProcess", lambda access, inherits, pid: self._opened(1000 + pid))
        self.AssignProcessToJobObject = made("AssignProcessToJobObject", self._assign)
        self.CloseHandle = lambda handle: self.open_handles.remove(handle.value)

    def _opened(self, handle: int) -> int:
        self.open_handles.append(handle)
        return handle

    def _limit(self, job, kind, limits, size) -> int:
        assert (job.value, kind, size) == (11, 9, 144)
        self.flags = limits._obj.basic.flags
        return 1

    def _assign(self, job, process) -> int:
        self.taken.append(process.value)
        return 1


@pytest.mark.skipif(sys.maxsize < 2**32, reason="its size is that of 64 bits")
def test_windows_ends_what_is_in_the_job_when_its_handle_closes():
    kernel = FakeKernel()
    job = JobObject(kernel)
    assert kernel.flags == 0x2000
    assert job.take(42) and job.take(43)
    assert kernel.taken == [1042, 1043]
    assert kernel.open_handles == [11], "handles of processes are closed, and that of the job is kept"


@pytest.mark.parametrize(
    ("refuses", "left"),
    [
        ("CreateJobObjectW", []),
        ("SetInformationJobObject", []),
        ("OpenProcess", [11]),
        ("AssignProcessToJobObject", [11]),
    ],
)
def test_where_windows_refuses_nothing_is_taken_and_nothing_stays_open(refuses: str, left: list[int]):
    kernel = FakeKernel(refuses=refuses)
    assert not JobObject(kernel).take(42)
    assert kernel.open_handles == left
