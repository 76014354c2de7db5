"""RAM that Windows lends to a card that is full: how much this process has of it, and a watch that it does not grow.

Where a card's memory is used up, Windows moves some of it to RAM and says nothing. The training goes on, many times
slower. The allocator's limit prevents that for our own memory, but not when another program takes the card's: only
Windows knows, and tells it in a performance counter. RAM that we lock ourselves, for blocks, is counted there too.

Other systems do not lend, and have no such counter.
"""

import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from diffusionforce.rig.sizes import GIB

ALLOWANCE_BYTES = GIB // 2
"""What may come and go: the driver's own buffers, and staging of copies."""
READ_EVERY_S = 1.0

_LARGE_INTEGERS = 0x400
_MORE_DATA = 0x800007D2
_GOOD = frozenset({0, 1})
"""The value is valid; the value is valid and new."""


class _Value(ctypes.Structure):
    _fields_ = (("status", ctypes.c_uint32), ("number", ctypes.c_longlong))


class _Item(ctypes.Structure):
    _fields_ = (("name", ctypes.c_wchar_p), ("value", _Value))


class SharedMemoryCounter:
    """The performance counter of one process, over all cards.

    Args:
        library: Windows' `pdh.dll`, or a stand-in with the same functions.
        pid: The process.
    """

    def __init__(self, library: Any, pid: int) -> None:
        self._pdh = library
        self._query, self._counter = ctypes.c_void_p(), ctypes.c_void_p()
        # The English names work whatever the language of Windows is.
        path = f"\\GPU Process Memory(pid_{pid}_*)\\Shared Usage"
        self._is_open = (
            library.PdhOpenQueryW(None, 0, ctypes.byref(self._query)) == 0
            and library.PdhAddEnglishCounterW(self._query, path, 0, ctypes.byref(self._counter)) == 0
        )

    def read_bytes(self) -> int | None:
        """What the process has of RAM for its cards; None where Windows does not say."""
        if not self._is_open or self._pdh.PdhCollectQueryData(self._query) != 0:
            return None
        size, count = ctypes.c_uint32(0), ctypes.c_uint32(0)
        arguments = (self._counter, _LARGE_INTEGERS, ctypes.byref(size), ctypes.byref(count))
        if self._pdh.PdhGetFormattedCounterArrayW(*arguments, None) & 0xFFFFFFFF != _MORE_DATA:
            return None
        memory = ctypes.create_string_buffer(size.value)
        if self._pdh.PdhGetFormattedCounterArrayW(*arguments, memory) != 0:
            return None
        items = ctypes.cast(memory, ctypes.POINTER(_Item))
        return sum(items[index].value.number for index in range(count.value) if items[index].value.status in _GOOD)


class SharedMemoryWatch:
    """Notices that the card memory of a training is being moved to RAM.

    Args:
        read_bytes: Reads the counter; None: there is none, and nothing is watched.
        clock: Seconds, for tests.
    """

    def __init__(
        self, read_bytes: Callable[[], int | None] | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read_bytes = read_bytes
        self._clock = clock
        self._read_at_s = float("-inf")
        self._least_bytes: int | None = None
        self._moved_bytes = 0

    def moved_bytes(self, *, locked_bytes: int = 0) -> int:
        """Return how much has been moved as of the last look, if that is more than comes and goes; else 0.

        Args:
            locked_bytes: RAM that we have locked for blocks, which is no loan.
        """
        if self._read_bytes is None or self._clock() - self._read_at_s < READ_EVERY_S:
            return self._moved_bytes
        self._read_at_s = self._clock()
        found_bytes = self._read_bytes()
        if found_bytes is None:
            return self._moved_bytes
        lent_bytes = max(0, found_bytes - locked_bytes)
        self._least_bytes = lent_bytes if self._least_bytes is None else min(self._least_bytes, lent_bytes)
        grown_bytes = lent_bytes - self._least_bytes
        self._moved_bytes = grown_bytes if grown_bytes > ALLOWANCE_BYTES else 0
        return self._moved_bytes

    def begin_anew(self) -> None:
        """Take what is lent at the next look for what is usual: somebody knows of it, and goes on all the same."""
        self._least_bytes, self._moved_bytes, self._read_at_s = None, 0, float("-inf")


def watch_shared_memory() -> SharedMemoryWatch:
    """The watch over this process; one that watches nothing where the system has no such counter."""
    if sys.platform != "win32":
        return SharedMemoryWatch(None)
    return SharedMemoryWatch(SharedMemoryCounter(ctypes.WinDLL("pdh"), os.getpid()).read_bytes)
