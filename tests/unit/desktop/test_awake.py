"""Sleep that is held back and allowed again, on systems that are stood in for."""

import subprocess
import sys
from typing import Any

import pytest

from diffusionforce.desktop import children
from diffusionforce.desktop.awake import Awake, LinuxSleep, WindowsSleep, system_sleep


class FakeSleep:
    def __init__(self, *, agrees: bool = True) -> None:
        self.agrees = agrees
        self.calls: list[str] = []

    def hold_back(self) -> bool:
        self.calls.append("hold")
        return self.agrees

    def allow(self) -> None:
        self.calls.append("allow")


def test_the_computer_stays_awake_while_it_works_and_not_in_pauses():
    sleep = FakeSleep()
    awake = Awake(sleep)
    with awake:
        awake.pause(True)
        awake.pause(True)
        awake.pause(False)
    assert sleep.calls == ["hold", "allow", "hold", "allow"]


def test_it_may_sleep_again_after_an_error():
    sleep = FakeSleep()
    with pytest.raises(ZeroDivisionError), Awake(sleep):
        raise ZeroDivisionError
    assert sleep.calls == ["hold", "allow"]


def test_a_system_that_does_not_agree_is_let_be():
    sleep = FakeSleep(agrees=False)
    with Awake(sleep):
        pass
    assert sleep.calls == ["hold"]


def test_windows_is_told_that_the_system_is_needed_and_then_that_it_is_not():
    states: list[int] = []

    class Kernel:
        def SetThreadExecutionState(self, state):  # noqa: N802
            states.append(state.value)
            return 0x80000000

    with Awake(WindowsSleep(Kernel())):
        assert states == [0x80000001]
    assert states == [0x80000001, 0x80000000]


@pytest.mark.skipif(sys.platform == "win32", reason="starts a POSIX program")
def test_on_linux_a_child_holds_the_lock_until_its_input_ends():
    started: list[list[str]] = []

    def start(command: list[str], **words: Any) -> "subprocess.Popen[bytes]":
        started.append(command)
        return children.start(command[-1:], **words)

    sleep = LinuxSleep("/usr/bin/systemd-inhibit", start=start)
    assert sleep.hold_back() and sleep.hold_back() and sleep.is_held
    assert started[0][1:3] == ["--what=idle:sleep", "--who=DiffusionForce"] and len(started) == 1
    sleep.allow()
    assert not sleep.is_held
    sleep.allow()


def test_a_linux_without_logind_sleeps_when_it_likes():
    assert not LinuxSleep(None).hold_back()

    def refuse(*_, **__):
        raise FileNotFoundError

    assert not LinuxSleep("/nowhere", start=refuse).hold_back()


def test_this_system_can_be_asked():
    with Awake(system_sleep()):
        pass
