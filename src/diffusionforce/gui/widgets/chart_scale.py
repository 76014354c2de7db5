"""Where the lines of a chart go: round axis values and thinning, in plain Python."""

import math
from collections.abc import Sequence

# Below these, ticks would differ by less than a float can tell.
SMALLEST = 1e-200
FLAT_SHARE = 1e-9


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
