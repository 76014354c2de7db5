import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffusionforce.gui.widgets.chart_scale import decimals, nice_range, thinned

FINITE = st.floats(min_value=-1e9, max_value=1e9)


@given(FINITE, FINITE)
def test_the_range_holds_both_values(a: float, b: float):
    low, high, step = nice_range(min(a, b), max(a, b))
    assert low <= min(a, b) + step * 1e-6
    assert high >= max(a, b) - step * 1e-6
    assert high > low
    assert (high - low) / step <= 12


def test_ticks_are_round_numbers():
    low, high, step = nice_range(0.021, 0.0637)
    assert (low, step) == (pytest.approx(0.02), pytest.approx(0.02))
    assert high == pytest.approx(0.08)
    assert nice_range(0, 300)[2] == 100


def test_numbers_next_to_nothing_have_a_range_too():
    low, high, _ = nice_range(0.0, 5e-324)
    assert low <= 0 < high


def test_a_flat_line_has_a_range_too():
    low, high, _ = nice_range(0.5, 0.5)
    assert low <= 0.5 <= high
    assert nice_range(math.nan, math.nan)[1] > 0


@pytest.mark.parametrize(("step", "places"), [(100, 0), (0.5, 1), (0.025, 3), (0.02, 2)])
def test_ticks_have_the_decimals_that_tell_them_apart(step: float, places: int):
    assert decimals(step) == places


def test_thinning_keeps_the_extremes():
    ys = [0.5] * 10_000
    ys[1234], ys[8765] = 9.0, -9.0
    points = thinned(range(10_000), ys, limit=400)
    assert len(points) <= 402
    assert {(1234, 9.0), (8765, -9.0)} <= set(points)
    assert points == sorted(points)


def test_values_that_are_no_numbers_are_left_out():
    assert thinned([1, 2, 3], [1.0, math.nan, math.inf], limit=10) == [(1, 1.0)]
