"""A stream of its own for the tail, so that head and loss never queue behind a chunk.

The tail of a micro-batch needs a moment on the home card, between the last chunk's forward on another card and its
backward there. Queued in order it would wait for whatever chunk the home card has been given, and hold up the home
card's next chunk until it has its own input.

What the tail reads was made on another stream (the caller's targets, the time embedding that the head uses again), and
may be dropped by its owner while the tail has not run yet. A dispatch mode sees every operation of the tail and marks
what it reads as used by the tail's stream, so that the allocator does not hand the memory out before.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class TailStream:
    """The stream on which tails run; the current stream if the home device has none or none is wanted.

    Args:
        home: The device of the tail.
        enabled: Whether to use a stream of its own.
    """

    def __init__(self, home: torch.device, *, enabled: bool = True) -> None:
        self._home = home
        self._stream = torch.cuda.Stream(home, priority=-1) if enabled and home.type == "cuda" else None

    def home_progress(self) -> torch.Event | None:
        """What the home card has been given so far, for a tail to wait for."""
        return torch.cuda.current_stream(self._home).record_event() if self._stream is not None else None

    @contextlib.contextmanager
    def entered(self, home_progress: torch.Event | None) -> Iterator[None]:
        """The tail's forward: make the stream current, behind what the home card did for this micro-batch."""
        if self._stream is None:
            yield
            return
        if home_progress is not None:
            self._stream.wait_event(home_progress)
        with torch.cuda.stream(self._stream), _MarksReads(self._stream):
            yield

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """The tail's backward: make the stream current."""
        with torch.cuda.stream(self._stream) if self._stream is not None else contextlib.nullcontext():
            yield

    def join(self) -> None:
        """Make the current stream of the home card wait for all tails."""
        if self._stream is not None:
            torch.cuda.current_stream(self._home).wait_stream(self._stream)

    def adopt(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tail's result, to be used on the home card's current stream after `join`."""
        if self._stream is not None and tensor.device == self._home:
            tensor.record_stream(torch.cuda.current_stream(self._home))
        return tensor


class _MarksReads(TorchDispatchMode):
    """Marks every tensor that an operation reads on the stream's card as used by the stream."""

    def __init__(self, stream: torch.cuda.Stream) -> None:
        super().__init__()
        self._stream = stream

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for value in tree_leaves((args, kwargs)):
            if isinstance(value, torch.Tensor) and value.device == self._stream.device:
                value.record_stream(self._stream)
        return func(*args, **(kwargs or {}))
