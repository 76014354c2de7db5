"""The loss of a run: each step, smoothed, over the last steps, and on the held-out pictures."""

import math
from collections.abc import Sequence
from typing import Literal

SMOOTHING = 0.06
TILE_STEPS = 50
# A held-out loss is a mean over a few pictures: changes below this share say nothing.
FLAT_SHARE = 0.01

Verdict = Literal["", "falling", "flat", "rising"]


class LossCurve:
    """Losses in the order of their steps.

    Attributes:
        steps: Steps, ascending.
        raw: Loss of each step.
        smoothed: Exponential mean, corrected for its start so that the first steps are not pulled anywhere.
        held_out: Pairs of step and loss on the held-out pictures.
    """

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.raw: list[float] = []
        self.smoothed: list[float] = []
        self.held_out: list[tuple[int, float]] = []
        self._mean, self._weight = 0.0, 0.0

    def add(self, step: int, loss: float) -> None:
        """Take the loss of one step. A loss that is no number is kept but does not enter the mean."""
        if math.isfinite(loss):
            self._mean += SMOOTHING * (loss - self._mean)
            self._weight += SMOOTHING * (1 - self._weight)
        self.steps.append(step)
        self.raw.append(loss)
        self.smoothed.append(self._mean / self._weight if self._weight else math.nan)

    def add_before(self, losses: Sequence[tuple[int, float]], held_out: Sequence[tuple[int, float]]) -> None:
        """Take the losses of the runs that this one goes on from, which come before its own."""
        own, own_held_out = list(zip(self.steps, self.raw, strict=True)), self.held_out
        self.steps, self.raw, self.smoothed, self.held_out = [], [], [], []
        self._mean, self._weight = 0.0, 0.0
        for step, loss in [*losses, *own]:
            self.add(step, loss)
        for step, loss in [*held_out, *own_held_out]:
            self.add_held_out(step, loss)

    def add_held_out(self, step: int, loss: float) -> None:
        """Take a held-out loss; a second one for the same step replaces the first."""
        self.held_out = [pair for pair in self.held_out if pair[0] != step]
        self.held_out.append((step, loss))

    @property
    def recent(self) -> float | None:
        """Mean loss of the last steps, None before the first."""
        return _mean(self.raw[-TILE_STEPS:])

    @property
    def recent_change(self) -> float | None:
        """How the mean of the last steps differs from that of the steps before, -0.03 for 3 % lower."""
        before, now = _mean(self.raw[-2 * TILE_STEPS : -TILE_STEPS]), self.recent
        if before is None or now is None or before == 0 or len(self.raw) < 2 * TILE_STEPS:
            return None
        return now / before - 1

    @property
    def verdict(self) -> Verdict:
        """Where the held-out loss goes, by its last two measurements; empty before there are two."""
        if len(self.held_out) < 2:
            return ""
        before, now = self.held_out[-2][1], self.held_out[-1][1]
        if not (math.isfinite(before) and math.isfinite(now)) or before <= 0:
            return ""
        change = now / before - 1
        return "flat" if abs(change) < FLAT_SHARE else "falling" if change < 0 else "rising"

    @property
    def held_out_fall(self) -> float | None:
        """The share by which the held-out loss fell since the first measurement, 0.38 for 38 %."""
        if len(self.held_out) < 2 or self.held_out[0][1] <= 0:
            return None
        return 1 - self.held_out[-1][1] / self.held_out[0][1]


def _mean(values: list[float]) -> float | None:
    finite = [value for value in values if math.isfinite(value)]
    return sum(finite) / len(finite) if finite else None
