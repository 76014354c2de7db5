"""What every test is held to: it leaves no thread and no child process behind."""

import threading
import time
from collections.abc import Iterator

import psutil
import pytest

# Threads and children that end by themselves may need a moment for it on a busy machine.
PATIENCE_S = 5.0


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread or a child process running, by their names."""
    before = _running()
    yield
    deadline_s = time.monotonic() + PATIENCE_S
    while (left := _running() - before) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert not left, f"left running: {', '.join(sorted(left))}"


def _running() -> set[str]:
    threads = {f"thread {thread.name} ({thread.ident})" for thread in threading.enumerate() if not thread.daemon}
    children = {f"child {child.pid}" for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE}
    return threads | children
