"""Who comes first, between processes and on a Windows that is stood in for."""

import subprocess
import sys
from pathlib import Path

from diffusionforce.desktop.instance import LOCK_NAME, MUTEX_NAME, Claim

HOLD = "import sys; from pathlib import Path; from diffusionforce.desktop.instance import Claim; \
c = Claim(Path(sys.argv[1])); print(c.take(), flush=True); sys.stdin.read()"


def test_a_second_process_learns_that_there_is_a_first_until_that_ends_however(tmp_path: Path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None and first.stdout.readline().strip() == b"True"
        mine = Claim(tmp_path)
        assert not mine.take()
        assert Claim(tmp_path / "another").take()
        first.kill()
    assert mine.take()
    mine.give_up()
    again = Claim(tmp_path)
    assert again.take()
    again.give_up()


def test_where_nothing_can_be_locked_everybody_is_the_first(tmp_path: Path):
    (tmp_path / LOCK_NAME).mkdir()
    assert Claim(tmp_path).take()


def test_on_windows_the_first_holds_the_mutex_that_installer_and_launcher_look_for(tmp_path: Path):
    calls: list[tuple[str, object]] = []

    class Kernel:
        def __init__(self) -> None:
            def create(_security, _owned, name):
                calls.append(("create", name))
                return 7

            self.CreateMutexW = create

        def CloseHandle(self, handle):  # noqa: N802
            calls.append(("close", handle.value))

    first, second = Claim(tmp_path, kernel32=Kernel()), Claim(tmp_path, kernel32=Kernel())
    assert first.take() and not second.take()
    second.give_up()
    first.give_up()
    assert calls == [("create", MUTEX_NAME), ("close", 7)]
