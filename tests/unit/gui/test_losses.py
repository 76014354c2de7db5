import math

import pytest

from diffusionforce.gui.model.losses import TILE_STEPS, LossCurve


def test_the_first_smoothed_loss_is_the_first_loss():
    curve = LossCurve()
    curve.add(1, 0.5)
    assert curve.smoothed == [pytest.approx(0.5)]


def test_the_smoothed_loss_follows_a_change():
    curve = LossCurve()
    for step in range(200):
        curve.add(step, 1.0 if step < 100 else 0.0)
    assert curve.smoothed[99] == pytest.approx(1.0)
    assert 0 < curve.smoothed[-1] < 0.01


def test_a_loss_that_is_no_number_is_kept_but_spoils_nothing():
    curve = LossCurve()
    for step, loss in enumerate((0.5, math.nan, 0.5)):
        curve.add(step, loss)
    assert math.isnan(curve.raw[1])
    assert curve.smoothed[-1] == pytest.approx(0.5)
    assert curve.recent == pytest.approx(0.5)


def test_the_change_compares_the_last_steps_with_those_before():
    curve = LossCurve()
    for step in range(2 * TILE_STEPS):
        curve.add(step, 1.0 if step < TILE_STEPS else 0.9)
        if step < 2 * TILE_STEPS - 1:
            assert curve.recent_change is None
    assert curve.recent_change == pytest.approx(-0.1)


@pytest.mark.parametrize(
    ("losses", "verdict"), [((1.0,), ""), ((1.0, 0.9), "falling"), ((1.0, 0.995), "flat"), ((1.0, 1.1), "rising")]
)
def test_the_verdict_looks_at_the_last_two_measurements(losses: tuple[float, ...], verdict: str):
    curve = LossCurve()
    for step, loss in enumerate(losses):
        curve.add_held_out(step, loss)
    assert curve.verdict == verdict


def test_a_second_measurement_of_a_step_replaces_the_first():
    curve = LossCurve()
    curve.add_held_out(0, 1.0)
    curve.add_held_out(100, 0.9)
    curve.add_held_out(100, 0.6)
    assert curve.held_out == [(0, 1.0), (100, 0.6)]
    assert curve.held_out_fall == pytest.approx(0.4)


def test_the_losses_of_the_run_before_come_first():
    whole, resumed = LossCurve(), LossCurve()
    for step in range(1, 11):
        whole.add(step, 1 / step)
    for step in range(6, 11):
        resumed.add(step, 1 / step)
    resumed.add_held_out(5, 0.4)
    resumed.add_before([(step, 1 / step) for step in range(1, 6)], [(0, 0.9), (5, 0.5)])
    assert (resumed.steps, resumed.smoothed) == (whole.steps, whole.smoothed)
    assert resumed.held_out == [(0, 0.9), (5, 0.4)] and resumed.held_out_fall == pytest.approx(1 - 0.4 / 0.9)
