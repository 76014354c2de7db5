"""RAM in place of card memory, by a stand-in for Windows' performance counters."""

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import pytest

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

    def look(self, *, locked_gib: float = 0) -> float:
        self.now_s += 1
        return self.watch.moved_bytes(locked_bytes=int(locked_gib * GIB)) / GIB


def test_growth_beyond_what_comes_and_goes_is_told():
    readings = Readings(0.25, 0.75, 0.25, 1.25, 0.5)
    assert [readings.look() for _ in range(5)] == [0, 0, 0, 1, 0]


def test_who_goes_on_all_the_same_is_told_of_further_growth_only():
    readings = Readings(0.25, 1.25, 1.25, 1.25, 3.25)
    assert [readings.look(), readings.look()] == [0, 1]
    readings.watch.begin_anew()
    assert [readings.look() for _ in range(3)] == [0, 0, 2]


def test_memory_that_we_lock_is_no_growth():
    readings = Readings(0.3, 8.3, 8.4, 0.3)
    assert readings.look() == 0
    assert readings.look(locked_gib=8) == 0
    assert readings.look(locked_gib=8) == 0
    assert readings.look(locked_gib=8) == 0  # Locked memory that Windows does not count yet.


def test_readings_that_fail_are_passed_over():
    readings = Readings(0.25, 2.25, None, 0.25)
    assert [readings.look() for _ in range(4)] == [0, 2, 2, 0]


def test_it_does_not_look_more_often_than_once_a_second():
    readings = Readings(0.3)
    readings.look()
    assert readings.watch.moved_bytes() == 0
    assert readings.waiting == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has the counter")
def test_other_systems_have_no_such_counter():
    assert watch_shared_memory().moved_bytes() == 0
