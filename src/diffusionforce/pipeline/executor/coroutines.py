"""Functions that pause in the middle of a call stack that is not ours: coroutines made of threads and two locks.

A model's forward has to stop between two blocks, with the model's own frames on the stack, and go on later. Generators
cannot do that to code they do not own. A thread can: exactly one of all threads runs at any time, because whoever
resumes a coroutine waits until it parks.

Threads are kept and used again. Libraries cache a lot per thread (cuBLAS handles and workspaces, cuDNN's attention
plans), and a fresh thread for every micro-batch of every step pays for all of it again.
"""

import contextlib
import contextvars
import threading
from collections.abc import Callable


class Unwound(BaseException):
    """Raised inside a parked coroutine to end it.

    Not an `Exception`, so that an `except Exception` in the paused code cannot keep it.
    """


class Coroutine:
    """A function that runs in a thread of its own, but only while it is resumed."""

    def __init__(self, worker: "_Worker", function: Callable[[], None]) -> None:
        self.is_done = False
        self._worker = worker
        self._function: Callable[[], None] | None = function
        self._context = contextvars.copy_context()
        self._error: BaseException | None = None
        self._is_unwinding = False

    def resume(self) -> None:
        """Run until the function parks or ends; what it raises is raised here."""
        if self.is_done:
            raise RuntimeError("This coroutine has ended.")
        self._worker.run(self)
        if self._error is not None and not isinstance(self._error, Unwound):
            error, self._error = self._error, None
            raise error

    def park(self) -> None:
        """Hand control back to whoever resumed. Called from inside the function."""
        self._worker.hand_back()
        if self._is_unwinding:
            raise Unwound

    def unwind(self) -> None:
        """End a parked function by an exception; does nothing if it has ended."""
        self._is_unwinding = True
        while not self.is_done:
            self._worker.run(self)
        if isinstance(self._error, Unwound):
            # Its frames hold the micro-batch's activations.
            self._error.__traceback__ = None

    def execute(self) -> None:
        """The worker's part: run the function to its end."""
        function, self._function = self._function, None
        try:
            if function is not None and not self._is_unwinding:
                self._context.run(function)
        except BaseException as error:  # noqa: BLE001 - carried over to the thread that resumed
            self._error = error
        finally:
            self.is_done = True


class CoroutineThreads:
    """Threads that run coroutines, as many as are paused in the middle of their functions at the same time."""

    def __init__(self, *, name: str = "micro-batch") -> None:
        self.num_started = 0
        """Threads started so far."""
        self._name = name
        self._idle: list[_Worker] = []
        self._workers: list[_Worker] = []

    def start(self, function: Callable[[], None]) -> Coroutine:
        """Make a coroutine; it does not run before it is resumed."""
        # The one that was idle for the shortest time: the fewest threads warm their caches.
        worker = self._idle.pop() if self._idle else self._new_worker()
        return Coroutine(worker, function)

    def give_back(self, coroutine: Coroutine) -> None:
        """The coroutine has ended; its thread may run another."""
        worker = coroutine._worker  # pyright: ignore[reportPrivateUsage]
        if worker not in self._idle:
            self._idle.append(worker)

    def close(self) -> None:
        """End all threads; functions that are still parked are unwound."""
        for worker in self._workers:
            worker.stop()
        self._workers.clear()
        self._idle.clear()

    def _new_worker(self) -> "_Worker":
        self.num_started += 1
        worker = _Worker(f"{self._name} {self.num_started}")
        self._workers.append(worker)
        return worker


class _Worker:
    """One long-lived thread and the two locks by which control goes to it and back."""

    def __init__(self, name: str) -> None:
        self._go, self._back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._coroutine: Coroutine | None = None
        self._has_control = False
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine) -> None:
        """Give control to the thread and wait until it is back."""
        self._coroutine = coroutine
        self._has_control = True
        self._go.release()
        self._wait()

    def hand_back(self) -> None:
        """Called in the thread: give control back and wait for the next `run`."""
        self._has_control = False
        self._back.release()
        self._go.acquire()

    def stop(self) -> None:
        """End the thread, after what is parked in it."""
        if self._coroutine is not None:
            self._coroutine.unwind()
        self._coroutine = None
        self._go.release()
        self._thread.join()

    def _wait(self) -> None:
        interruption: BaseException | None = None
        while True:
            try:
                self._back.acquire()
                break
            except KeyboardInterrupt as error:
                # The function goes on to its next boundary; nothing may be unwound before that.
                interruption = error
                if not self._has_control:
                    # The interruption came with control on its way back, or already taken.
                    with contextlib.suppress(KeyboardInterrupt):
                        self._back.acquire(timeout=1.0)
                    break
        if interruption is not None:
            raise interruption

    def _loop(self) -> None:
        self._go.acquire()
        while (coroutine := self._coroutine) is not None:
            coroutine.execute()
            self._coroutine = coroutine = None
            self.hand_back()
