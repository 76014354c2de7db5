import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffusionforce.gui.model.step_span import LAST_STEPS, LEAST_STEPS, StepSpan

STEPS = st.floats(min_value=0, max_value=2000)


def test_all_steps_of_the_run_are_in_sight_at_first():
    assert StepSpan().ends(newest=300, last=2000) == (0, 2000)
    assert not StepSpan().is_near


def test_the_last_steps_are_followed_as_they_come():
    span = StepSpan()
    span.follow()
    assert span.ends(newest=300, last=2000) == (300 - LAST_STEPS, 300)
    assert span.ends(newest=310, last=2000) == (310 - LAST_STEPS, 310)
    assert span.ends(newest=3, last=2000) == (0, LEAST_STEPS)


def test_what_is_pointed_at_stays_in_its_place():
    span = StepSpan()
    span.zoom(2, at=500, newest=900, last=1000)
    assert span.ends(newest=900, last=1000) == (250, 750)
    span.zoom(0.5, at=500, newest=900, last=1000)
    assert not span.is_near


@given(STEPS, STEPS)
def test_nobody_comes_nearer_than_a_few_steps_or_leaves_the_run(first: float, other: float):
    span = StepSpan()
    span.choose(first, other, last=2000)
    low, high = span.ends(newest=2000, last=2000)
    assert 0 <= low <= high <= 2000 + 1e-6
    assert high - low >= LEAST_STEPS - 1e-6


def test_moving_ends_where_the_steps_end():
    span = StepSpan()
    span.move(0.5, newest=100, last=100)
    assert not span.is_near, "all of it is in sight"
    span.choose(40, 60, last=100)
    span.move(0.5, newest=100, last=100)
    assert span.chosen == (50, 70)
    span.move(9, newest=100, last=100)
    assert span.chosen == (80, 100)
    span.reset()
    assert span.ends(newest=100, last=100) == (0, pytest.approx(100))
