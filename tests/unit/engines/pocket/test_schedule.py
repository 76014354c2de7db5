"""Learning rates and the time that is left."""

import pytest

from diffusionforce.engines.pocket.schedule import TimeLeft, learning_rate
from diffusionforce.job.profile import TrainingSettings


def test_the_rate_rises_and_falls() -> None:
    settings = TrainingSettings(steps=100, warmup_steps=10, learning_rate=1.0, schedule="cosine")
    rates = [learning_rate(settings, step) for step in range(1, 101)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[:10] == sorted(rates[:10])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[50] == pytest.approx(0.5, abs=0.02)
    assert 0 < rates[-1] < 0.001


def test_the_rate_stays_where_nothing_else_is_asked() -> None:
    settings = TrainingSettings(steps=5, learning_rate=0.3)
    assert [learning_rate(settings, step) for step in range(1, 6)] == [0.3] * 5


def test_time_left_counts_steps_and_samples() -> None:
    left = TimeLeft(num_steps=10, sample_steps=frozenset({0, 5, 10}))
    left.note_pass(8.0)
    for seconds in (1.0, 1.0, 60.0):
        left.note_step(seconds)
    assert left.after(3) == pytest.approx(7 * 1.0 + 2 * 8.0)
    assert left.after(10) == pytest.approx(8.0)
