"""Work that takes longer than a frame, done on a thread and answered on the window's own.

Threads of Python, not of Qt: a `QRunnable` that is deleted by its thread while the window looks at it crashes the
process now and then. One object that lives as long as the process carries all answers across.
"""

import functools
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import shiboken6
from PySide6.QtCore import QObject, Qt, Signal, Slot

from diffusionforce.errors import UserError

NUM_THREADS = 3
_T = TypeVar("_T")


class _Workers:
    """A few threads that take work from a queue. They are daemons: whoever ends the process calls `finish` first."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._num_open = 0
        self._has_started = False

    def submit(self, work: Callable[[], None]) -> None:
        with self._changed:
            self._num_open += 1
            if not self._has_started:
                self._has_started = True
                for i in range(NUM_THREADS):
                    threading.Thread(target=self._serve, name=f"background {i}", daemon=True).start()
        self._work.put(work)

    def finish(self, timeout_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._num_open, timeout_s)

    def _serve(self) -> None:
        while True:
            work = self._work.get()
            work()
            del work
            with self._changed:
                self._num_open -= 1
                self._changed.notify_all()


class _Mailbox(QObject):
    """Takes answers from any thread and hands them out on the thread that made it."""

    arrived = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._answers: queue.SimpleQueue[tuple[QObject, Callable[[Any], object], object]] = queue.SimpleQueue()
        self.arrived.connect(self._hand_out, Qt.ConnectionType.QueuedConnection)

    def post(self, owner: QObject, callback: Callable[[Any], object], answer: object) -> None:
        self._answers.put((owner, callback, answer))
        self.arrived.emit()

    @Slot()
    def _hand_out(self) -> None:
        owner, callback, answer = self._answers.get()
        if shiboken6.isValid(owner):
            callback(answer)


_workers = _Workers()


@functools.cache
def _the_mailbox() -> _Mailbox:
    """Return the one mailbox; first asked for on the window's thread, to which it then belongs."""
    return _Mailbox()


def run(
    owner: QObject,
    work: Callable[[], _T],
    *,
    done: Callable[[_T], object],
    failed: Callable[[UserError], None],
) -> None:
    """Do `work` on a thread, then call `done` or `failed` on the window's thread. Call on the window's thread.

    Args:
        owner: Who asks; nothing is called after it has been deleted.
        work: What to do. It must not touch widgets.
        done: Takes the result.
        failed: Takes the problem.
    """
    mailbox = _the_mailbox()

    def do() -> None:
        try:
            result = work()
        except UserError as error:
            mailbox.post(owner, failed, error)
        except Exception as error:  # noqa: BLE001 - the failure callback: nothing may be lost on a thread.
            wrapped = UserError(
                "Something went wrong inside DiffusionForce.", detail=f"{type(error).__name__}: {error}"
            )
            wrapped.__cause__ = error
            mailbox.post(owner, failed, wrapped)
        else:
            mailbox.post(owner, done, result)

    _workers.submit(do)


def tell(owner: QObject, callback: Callable[[_T], None], news: _T) -> None:
    """Tell the asker something while the work goes on. Call from within the work.

    Args:
        owner: Who asked.
        callback: Called with the news on the window's thread, unless the owner has been deleted.
        news: How far the work is, say.
    """
    _the_mailbox().post(owner, callback, news)


def finish(timeout_s: float) -> bool:
    """Wait until no work is open; tells whether that is so. Its answers still wait in the event loop."""
    return _workers.finish(timeout_s)
