"""Which pictures make up each batch.

Every picture comes once before any comes twice, in a new order each round. Regularisation pictures are dealt in
between at an even pace: a share of a quarter means every fourth picture, not one in four on average.
"""

from collections.abc import Mapping

import torch
from torch import Tensor


class BatchOrder:
    """Deals the indices of batches.

    Args:
        num_pictures: Pictures to train on; they have the indices from 0.
        num_regularisation: Regularisation pictures, with the indices behind them.
        regularisation_share: Share of all dealt pictures that they make up, 0 to below 1.
        seed: Of the order.
    """

    def __init__(self, num_pictures: int, *, num_regularisation: int, regularisation_share: float, seed: int) -> None:
        self._own = _Deck(range(num_pictures), seed=seed)
        self._regularisation = _Deck(range(num_pictures, num_pictures + num_regularisation), seed=seed + 1)
        self._share = regularisation_share if num_regularisation else 0.0
        self._due = 0.0

    def next_batch(self, size: int) -> list[int]:
        """The indices of the next batch."""
        return [self._next() for _ in range(size)]

    @property
    def due(self) -> float:
        """How much of the next regularisation picture is due, 0 to below 1."""
        return self._due

    def position(self) -> dict[str, Tensor]:
        """Where each deck stands, to be given to `restore` together with `due`."""
        return {**self._own.position("own"), **self._regularisation.position("regularisation")}

    def restore(self, position: Mapping[str, Tensor], *, due: float) -> None:
        """Go on dealing from where another order of the same pictures stood."""
        self._own.restore(position, "own")
        self._regularisation.restore(position, "regularisation")
        self._due = due

    def _next(self) -> int:
        self._due += self._share
        if self._due < 1:
            return self._own.draw()
        self._due -= 1
        return self._regularisation.draw()


class _Deck:
    """Indices in a shuffled order, shuffled anew when they run out."""

    def __init__(self, indices: range, *, seed: int) -> None:
        self._indices = indices
        self._generator = torch.Generator().manual_seed(seed)
        self._left: list[int] = []

    def draw(self) -> int:
        if not self._left:
            order = torch.randperm(len(self._indices), generator=self._generator).tolist()
            self._left = [self._indices[position] for position in order]
        return self._left.pop()

    def position(self, name: str) -> dict[str, Tensor]:
        left = torch.tensor(self._left, dtype=torch.int64)
        return {f"{name}.left": left, f"{name}.generator": self._generator.get_state()}

    def restore(self, position: Mapping[str, Tensor], name: str) -> None:
        self._left = position[f"{name}.left"].tolist()
        self._generator.set_state(position[f"{name}.generator"])
