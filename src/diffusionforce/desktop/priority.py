"""Work that waits while anybody else has something to do."""

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

_NICENESS = 10
_LOWEST = -2
"""`THREAD_PRIORITY_LOWEST` of Windows."""


def run_in_background(work: Callable[[], None]) -> None:
    """Do something on a thread of low priority, and wait for it. A process that did it would never rise again on Linux.

    Args:
        work: What to do; it raises nothing.
    """

    def do() -> None:
        lower_priority()
        work()

    thread = threading.Thread(target=do, name="background")
    thread.start()
    thread.join()


def lower_priority(kernel32: Any = None) -> None:
    """Let the calling thread, and threads that it starts, work when nobody else does; where that cannot be, nothing.

    Args:
        kernel32: Windows' library, or a stand-in with the same functions.
    """
    if kernel32 is None and sys.platform == "win32":
        kernel32 = ctypes.WinDLL("kernel32")
    if kernel32 is not None:
        kernel32.GetCurrentThread.restype = ctypes.c_void_p
        kernel32.SetThreadPriority(ctypes.c_void_p(kernel32.GetCurrentThread()), _LOWEST)
    elif sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
