"""Work that takes longer than a frame, done on a thread and answered on the window's own.

The answer comes through an object that belongs to whoever asked: when the asker is gone, the answer is dropped.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from PySide6.QtCore import QObject, QRunnable, Qt, QThreadPool, Signal, Slot

from diffusionforce.errors import UserError

_T = TypeVar("_T")


class _Answer(QObject):
    """Carries an answer from the thread to the window."""

    done = Signal(object)
    failed = Signal(object)


class _Receiver(QObject):
    """Lives on the window's thread and calls back."""

    def __init__(self, owner: QObject, done: Callable[[Any], None], failed: Callable[[UserError], None]) -> None:
        super().__init__(owner)
        self._done, self._failed = done, failed

    @Slot(object)
    def take(self, result: object) -> None:
        self._done(result)
        self.deleteLater()

    @Slot(object)
    def refuse(self, error: UserError) -> None:
        self._failed(error)
        self.deleteLater()


class _Work(QRunnable):
    def __init__(self, work: Callable[[], object], answer: _Answer) -> None:
        super().__init__()
        self._work, self._answer = work, answer

    def run(self) -> None:
        try:
            result = self._work()
        except UserError as error:
            self._answer.failed.emit(error)
        except Exception as error:  # noqa: BLE001 - the failure callback of an operation: nothing may be lost on a thread.
            wrapped = UserError(
                "Something went wrong inside DiffusionForce.", detail=f"{type(error).__name__}: {error}"
            )
            wrapped.__cause__ = error
            self._answer.failed.emit(wrapped)
        else:
            self._answer.done.emit(result)


def run(
    owner: QObject,
    work: Callable[[], _T],
    *,
    done: Callable[[_T], None],
    failed: Callable[[UserError], None],
) -> None:
    """Do `work` on a thread, then call `done` or `failed` on the window's thread.

    Args:
        owner: Who asks; nothing is called after it has been deleted.
        work: What to do. It must not touch widgets.
        done: Takes the result.
        failed: Takes the problem.
    """
    answer = _Answer()
    receiver = _Receiver(owner, done, failed)
    answer.done.connect(receiver.take, Qt.ConnectionType.QueuedConnection)
    answer.failed.connect(receiver.refuse, Qt.ConnectionType.QueuedConnection)
    QThreadPool.globalInstance().start(_Work(work, answer))
