"""Work in the background, here and on a Windows that is stood in for."""

import ctypes
import os
import sys
import threading

import pytest

from diffusionforce.desktop.priority import lower_priority, run_in_background


class FakeKernel:
    """Notes what priority which thread is given."""

    def __init__(self) -> None:
        self.given: list[tuple[int | None, int]] = []
        self.GetCurrentThread = self._current

    @staticmethod
    def _current() -> int:
        return 7

    def SetThreadPriority(self, thread: ctypes.c_void_p, priority: int) -> int:  # noqa: N802
        self.given.append((thread.value, priority))
        return 1


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the priority of a thread")
def test_only_the_thread_that_does_the_work_steps_back() -> None:
    before, seen = os.getpriority(os.PRIO_PROCESS, 0), list[int]()

    def work() -> None:
        assert threading.current_thread() is not threading.main_thread()
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    run_in_background(work)
    assert seen == [max(before, 10)]
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_windows_is_asked_for_the_lowest_priority_of_this_thread() -> None:
    kernel = FakeKernel()
    lower_priority(kernel)
    assert kernel.given == [(7, -2)]
