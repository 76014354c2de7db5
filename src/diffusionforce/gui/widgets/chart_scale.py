"""Where the lines of a chart go: round axis values and thinning, in plain Python."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Below these, ticks would differ by less than a float can tell.
SMALLEST = 1e-200
FLAT_SHARE = 1e-9
TINY = 1e-4
"""Numbers below are written with a power of ten."""


def nice_range(lowest: float, highest: float, *, ticks: int = 4) -> tuple[float, float, float]:
    """Return a range of round numbers that holds both values, and the distance of its ticks.

    Args:
        lowest: Smallest value to show.
        highest: Largest value to show.
        ticks: About how many ticks there should be.

    Returns:
        Lower end, upper end, distance between ticks; all multiples of 1, 2, 2.5 or 5 times a power of ten.
    """
    span, largest = highest - lowest, max(abs(highest), abs(lowest))
    if not math.isfinite(span) or largest < SMALLEST:
        return 0.0, 1.0, 0.25
    if span < largest * FLAT_SHARE:
        span = largest
    raw = span / max(1, ticks)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * power >= raw * 0.999)
    low = math.floor(lowest / step) * step
    high = math.ceil(highest / step) * step
    return low, high if high > low else low + step, step


def decimals(step: float) -> int:
    """Return how many decimals tell apart two ticks that are `step` from each other."""
    for places in range(7):
        scaled = step * 10**places
        if math.isclose(scaled, round(scaled), rel_tol=1e-6):
            return places
    return 6


@dataclass(frozen=True, kw_only=True)
class ValueAxis:
    """The vertical axis of a chart.

    Attributes:
        low: Value at its lower end.
        high: Value at its upper end.
        ticks: Values with a line and a number, ascending.
        is_log: Whether equal distances are equal factors, and not equal differences.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool = False

    def share(self, value: float) -> float:
        """Return where a value is, 0 at the lower end, 1 at the upper; see `shows` for values that are nowhere."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def shows(self, value: float) -> bool:
        """Whether a value has a place: zero and below have none where distances are factors."""
        return math.isfinite(value) and (value > 0 or not self.is_log)

    def words(self, value: float) -> str:
        """Return a tick as it is written at the axis: with the decimals that tell it from the others."""
        if self.is_log:
            return f"{value:.1e}".replace(".0e", "e") if value < TINY else f"{value:.{max(0, _places_of(value))}f}"
        return f"{value:.{decimals(self.ticks[1] - self.ticks[0])}f}"


def value_axis(lowest: float, highest: float, *, num_ticks: int = 4, is_log: bool = False) -> ValueAxis:
    """Return an axis with round ticks that holds both values.

    Args:
        lowest: Smallest value to show; above zero for a logarithmic axis, or else the axis is a plain one.
        highest: Largest value to show.
        num_ticks: About how many ticks there should be.
        is_log: Whether the axis is to be logarithmic.
    """
    if is_log and 0 < lowest <= highest < math.inf:
        return _log_axis(lowest, highest, num_ticks=num_ticks)
    low, high, tick = nice_range(lowest, highest, ticks=num_ticks)
    return ValueAxis(low=low, high=high, ticks=tuple(low + tick * i for i in range(round((high - low) / tick) + 1)))


def _log_axis(lowest: float, highest: float, *, num_ticks: int) -> ValueAxis:
    powers = range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 1)
    for steps in ((1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5, 7), (1, 2, 5), (1,)):
        round_values = [step * 10.0**power for power in powers for step in steps]
        low = max((value for value in round_values if value <= lowest * (1 + FLAT_SHARE)), default=round_values[0])
        high = min((value for value in round_values if value >= highest * (1 - FLAT_SHARE)), default=round_values[-1])
        high = high if high > low else min(value for value in [*round_values, 10 * low] if value > low)
        ticks = [value for value in round_values if low <= value <= high]
        if len(ticks) <= num_ticks + 2:
            break
    every = math.ceil(len(ticks) / (num_ticks + 2))
    return ValueAxis(low=low, high=high, ticks=tuple(ticks[::every]), is_log=True)


def _places_of(value: float) -> int:
    """Return how many decimals a round number has."""
    return next((places for places in range(7) if math.isclose(value, round(value, places), rel_tol=1e-6)), 6)


def thinned(xs: Sequence[float], ys: Sequence[float], *, limit: int) -> list[tuple[float, float]]:
    """Return at most about `limit` points that look the same: the lowest and highest of each stretch.

    Values that are no numbers are left out.
    """
    if len(xs) <= limit:
        return [(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(y)]
    size = math.ceil(len(xs) / max(1, limit // 2))
    kept: list[tuple[float, float]] = []
    for start in range(0, len(xs), size):
        stretch = ys[start : start + size]
        # Slices, min and max run in C; only a stretch with a value that is no number is looked at one by one.
        if not math.isfinite(sum(stretch)):
            stretch = [y if math.isfinite(y) else math.nan for y in stretch]
            finite = [y for y in stretch if y == y]
            if not finite:
                continue
            low, high = stretch.index(min(finite)), stretch.index(max(finite))
        else:
            low, high = stretch.index(min(stretch)), stretch.index(max(stretch))
        for index in sorted({low, high}):
            kept.append((xs[start + index], stretch[index]))
    return kept
