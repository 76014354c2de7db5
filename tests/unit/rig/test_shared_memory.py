"""RAM in place of card memory, by a stand-in for Windows' performance counters."""

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from diffusionforce.errors import CardMemoryError
from diffusionforce.rig import GIB
from diffusionforce.rig import shared_memory as module
from diffusionforce.rig.shared_memory import SharedMemoryCounter, SharedMemoryWatch, watch_shared_memory

MORE_DATA = 0x800007D2
CARDS = ((0, 3 * GIB), (1, GIB))


class FakePdh:
    """The four functions of pdh.dll; `values` are (status, number) for each card, statuses as Windows has them."""

    def __init__(self, values: Sequence[tuple[int, int]], **failing: int) -> None:
        self.values, self.failing = values, failing
        self.path = ""

    def PdhOpenQueryW(self, source: None, user: int, query: Any) -> int:  # noqa: N802 (Windows' name)
        return self.failing.get("open", 0)

    def PdhAddEnglishCounterW(self, query: Any, path: str, user: int, counter: Any) -> int:  # noqa: N802
        self.path = path
        return self.failing.get("add", 0)

    def PdhCollectQueryData(self, query: Any) -> int:  # noqa: N802
        return self.failing.get("collect", 0)

    def PdhGetFormattedCounterArrayW(self, counter: Any, kind: int, size: Any, count: Any, memory: Any) -> int:  # noqa: N802
        assert kind == 0x400
        items = (module._Item * len(self.values))()
        for item, (status, number) in zip(items, self.values, strict=True):
            item.value.status, item.value.number = status, number
        if memory is None:
            size._obj.value, count._obj.value = ctypes.sizeof(items), len(items)
            # As a function that is declared to give a signed number gives it.
            return self.failing.get("size", MORE_DATA - (1 << 32))
        ctypes.memmove(memory, items, ctypes.sizeof(items))
        return self.failing.get("fill", 0)


def test_the_counter_adds_up_all_cards_of_this_process():
    pdh = FakePdh(CARDS)
    assert SharedMemoryCounter(pdh, 4711).read_bytes() == 4 * GIB
    assert pdh.path == r"\GPU Process Memory(pid_4711_*)\Shared Usage"


def test_a_value_that_windows_calls_bad_does_not_count():
    assert SharedMemoryCounter(FakePdh([*CARDS, (0xC0000BC6, 99 * GIB)]), 1).read_bytes() == 4 * GIB


@pytest.mark.parametrize("failing", ["open", "add", "collect", "size", "fill"])
def test_where_windows_does_not_tell_nothing_is_known(failing: str):
    assert SharedMemoryCounter(FakePdh(CARDS, **{failing: 0xC0000BB8}), 1).read_bytes() is None


class Readings:
    """Readings one second apart."""

    def __init__(self, *gib: float | None) -> None:
        self.waiting = list(gib)
        self.now_s = 0.0
        self.watch = SharedMemoryWatch(self.read, clock=lambda: self.now_s)

    def read(self) -> int | None:
        value = self.waiting.pop(0)
        return None if value is None else int(value * GIB)

    def check(self, step: int, *, locked_gib: float = 0) -> None:
        self.now_s += 1
        self.watch.check(step=step, locked_bytes=int(locked_gib * GIB))


def test_growth_ends_the_run_with_the_step():
    readings = Readings(0.3, 0.7, 0.2, 1.2)
    for step in (1, 2, 3):
        readings.check(step)
    with pytest.raises(CardMemoryError, match=r"moved 1 GB of the graphics cards' memory to RAM by step 4"):
        readings.check(4)


def test_memory_that_we_lock_is_no_growth():
    readings = Readings(0.3, 8.3, 8.4, 0.3)
    readings.check(1)
    readings.check(2, locked_gib=8)
    readings.check(3, locked_gib=8)
    readings.check(4, locked_gib=8)  # Locked memory that Windows does not count yet.


def test_readings_that_fail_are_passed_over():
    readings = Readings(0.3, None, 0.3)
    for step in (1, 2, 3):
        readings.check(step)
    assert readings.waiting == []


def test_it_does_not_look_more_often_than_once_a_second():
    readings = Readings(0.3)
    readings.check(1)
    readings.watch.check(step=2)
    assert readings.waiting == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has the counter")
def test_other_systems_have_no_such_counter():
    watch_shared_memory().check(step=1)
