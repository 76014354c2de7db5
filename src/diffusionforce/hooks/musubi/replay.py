"""A loader that gives empty batches for those that were done, and what stands still meanwhile."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch


class BeginEpoch(Protocol):
    """Called before a loader deals the pictures of an epoch."""

    def __call__(self, *, has_begun: bool) -> None:
        """`has_begun`: some of its batches were done."""
        ...


class ReplayedLoader:
    """Goes through the batches of a run, epoch after epoch.

    Args:
        loader: The prepared loader of the engine.
        num_done: Batches of the run that were done.
        on_epoch: Called before the pictures of an epoch are dealt.
        on_first_real: Called before the first batch that was not done.
    """

    def __init__(self, loader: Any, *, num_done: int, on_epoch: BeginEpoch, on_first_real: Callable[[], None]) -> None:
        self._loader = loader
        self._num_done = num_done
        self._on_epoch = on_epoch
        self._on_first_real = on_first_real
        self._number = 0
        """Of the next batch."""
        self._has_begun = False

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self._number + len(self) <= self._num_done:
            yield from self._whole_epoch()
            return
        self._begin_if_due()
        self._on_epoch(has_begun=self._number < self._num_done)
        batches = iter(self._loader)
        # The loader reads one batch ahead, and did so before the state was saved: it is asked for the next one only
        # when everything is as it was then.
        while True:
            self._begin_if_due()
            batch = next(batches, None)
            if batch is None:
                return
            yield self._empty() if self._number < self._num_done else batch
            self._number += 1

    def _begin_if_due(self) -> None:
        if self._number == self._num_done and not self._has_begun:
            self._has_begun = True
            self._on_first_real()

    def _whole_epoch(self) -> Iterator[dict[str, Any]]:
        """An epoch that was done: its pictures are not even read. Accelerate takes a step at its end in any case."""
        self._loader.begin()
        for index in range(len(self)):
            self._loader.end_of_dataloader = index == len(self) - 1
            yield self._empty()
            self._number += 1
        self._loader.end()

    def _empty(self) -> dict[str, Any]:
        return {"latents": torch.zeros(1), "number": self._number, "timesteps": None}


class Silenced:
    """An optimiser or scheduler that takes no step while it should not.

    Args:
        inner: It.
        is_silent: Whether it should not.
    """

    def __init__(self, inner: Any, *, is_silent: Callable[[], bool]) -> None:
        self._inner = inner
        self._is_silent = is_silent

    def step(self, *args: Any, **kwargs: Any) -> Any:
        """Take a step, or none."""
        return None if self._is_silent() else self._inner.step(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
