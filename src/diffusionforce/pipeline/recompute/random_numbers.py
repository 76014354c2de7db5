"""The states of the random number generators of the host and of cards, read, set, and kept apart."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping

import torch


class RandomNumbers:
    """The generators of the host and of some cards.

    Args:
        devices: Devices whose generators count; those of other kinds than CUDA share the host's.
    """

    def __init__(self, devices: Iterable[torch.device]) -> None:
        self._cards = sorted({device.index for device in devices if device.type == "cuda"})

    def read(self) -> list[torch.Tensor]:
        """The generators' states, the host's first."""
        return [torch.get_rng_state(), *(torch.cuda.get_rng_state(card) for card in self._cards)]

    def write(self, states: list[torch.Tensor]) -> None:
        """Set the generators to states that `read` gave."""
        torch.set_rng_state(states[0])
        for card, state in zip(self._cards, states[1:], strict=True):
            torch.cuda.set_rng_state(state, card)

    def by_name(self) -> dict[str, torch.Tensor]:
        """The generators' states by the devices' names, to be kept."""
        return dict(zip(["cpu", *(f"cuda:{card}" for card in self._cards)], self.read(), strict=True))

    def write_by_name(self, states: Mapping[str, torch.Tensor]) -> None:
        """Set the generators that `by_name` knew; others stay as they are."""
        torch.set_rng_state(states["cpu"])
        for card in self._cards:
            if f"cuda:{card}" in states:
                torch.cuda.set_rng_state(states[f"cuda:{card}"], card)

    @contextlib.contextmanager
    def replayed(self, states: list[torch.Tensor]) -> Iterator[None]:
        """Draw from given states on, and go back to the present ones afterwards."""
        present = self.read()
        self.write(states)
        try:
            yield
        finally:
            self.write(present)


class OwnRandomNumbers:
    """A micro-batch's own random numbers, kept while other micro-batches run.

    With one stream of random numbers for all, dropout would depend on the schedule. A micro-batch with a seed of its
    own gets the same masks in every schedule and in an unsplit run on one card: where it crosses to another card, its
    state crosses with it.

    Args:
        seed: What to begin with.
        devices: The pipeline's devices.
    """

    def __init__(self, seed: int, devices: Iterable[torch.device]) -> None:
        self._seed: int | None = seed
        self._numbers = RandomNumbers(devices)
        self._states: list[torch.Tensor] = []

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Use this micro-batch's numbers; the caller's are untouched."""
        outer = self._numbers.read()
        if self._seed is not None:
            torch.manual_seed(self._seed)
            self._seed = None
        else:
            self._numbers.write(self._states)
        try:
            yield
        finally:
            self._states = self._numbers.read()
            self._numbers.write(outer)

    @staticmethod
    def carry(source: torch.device, destination: torch.device) -> None:
        """Go on with the source card's numbers on the destination card. Called while active."""
        if source != destination and source.type == destination.type == "cuda":
            torch.cuda.set_rng_state(torch.cuda.get_rng_state(source), destination)
