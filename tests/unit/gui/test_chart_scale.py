import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from diffusionforce.gui.widgets.chart_scale import decimals, nice_range, thinned, value_axis

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


@given(st.floats(min_value=1e-12, max_value=1e9), st.floats(min_value=1, max_value=1e9), st.integers(3, 4))
@example(1.2e-7, 1.0, 3)  # Symptom: 1e-07 stood at two lines, at the second for 1.5e-07.
def test_a_logarithmic_axis_holds_both_values(lowest: float, factor: float, num_ticks: int):
    axis = value_axis(lowest, lowest * factor, num_ticks=num_ticks, is_log=True)
    assert axis.is_log
    assert -1e-6 <= axis.share(lowest) <= axis.share(lowest * factor) <= 1 + 1e-6
    assert 2 <= len(axis.ticks) <= num_ticks + 3
    assert list(axis.ticks) == sorted(set(axis.ticks))
    assert len({axis.words(tick) for tick in axis.ticks}) == len(axis.ticks), "ticks can be told apart"


def test_equal_factors_are_equal_distances():
    axis = value_axis(0.01, 1.0, is_log=True)
    assert axis.share(0.1) == pytest.approx((axis.share(0.01) + axis.share(1.0)) / 2)
    assert [axis.words(tick) for tick in axis.ticks] == ["0.01", "0.1", "1"] or len(axis.ticks) > 3


def test_zero_and_below_have_no_place_on_a_logarithmic_axis():
    axis = value_axis(0.01, 1.0, is_log=True)
    assert not axis.shows(0.0) and not axis.shows(-1.0) and not axis.shows(math.nan)
    assert axis.shows(0.5)
    assert value_axis(0.0, 1.0).shows(-1.0)


def test_without_a_value_above_zero_the_axis_is_a_plain_one():
    assert not value_axis(-1.0, 0.0, is_log=True).is_log
    assert not value_axis(math.nan, math.nan, is_log=True).is_log
