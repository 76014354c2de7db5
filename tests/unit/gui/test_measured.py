from pathlib import Path

import pytest
from tests.gui import recorded

from diffusionforce.gui.model.measured import causes, difference_words, measured_lines
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.wire import Compared, Placed, Planned, Step


def model(tmp_path: Path, *, upto: int = 3, without: tuple[type, ...] = ()) -> RunModel:
    made = RunModel()
    for message in recorded.messages(tmp_path, upto=upto):
        if not isinstance(message, without):
            made.feed(message)
    return made


def test_forecast_and_measurement_stand_side_by_side(tmp_path: Path):
    first, second, step = measured_lines(model(tmp_path))
    assert (first.name, first.planned, first.seen, first.difference) == ("GPU 0", "14.7 GB", "14.6 GB", "0.7 % less")
    assert (second.name, second.difference, second.tone) == ("GPU 1", "12 % more", "warn")
    assert (step.name, step.planned, step.seen, step.tone) == ("A step", "0.32 s", "0.33 s", "")
    assert [line.device_index for line in (first, second, step)] == [0, 1, None]


def test_before_the_trainer_compares_the_readings_do(tmp_path: Path):
    first, *_ = measured_lines(model(tmp_path, without=(Compared,)))
    assert (first.planned, first.seen) == ("14.7 GB", "14.9 GB")


def test_before_the_first_step_nothing_was_seen(tmp_path: Path):
    first, _, step = measured_lines(model(tmp_path, upto=0))
    assert (first.planned, first.seen, first.difference, first.tone) == ("14.7 GB", "–", "", "")
    assert step.seen == "–"


def test_a_peak_of_samples_is_held_against_the_forecast_of_samples(tmp_path: Path):
    made = model(tmp_path, without=(Compared,))
    assert made.planned is not None
    devices = tuple(d.model_copy(update={"planned_sampling_bytes": 15 * recorded.GIB}) for d in made.planned.devices)
    made.feed(made.planned.model_copy(update={"devices": devices}))
    assert measured_lines(made)[0].planned == "15 GB"


def test_a_run_without_a_plan_compares_nothing(tmp_path: Path):
    assert measured_lines(model(tmp_path, without=(Planned, Compared))) == ()


def test_a_plan_without_a_placement_still_has_an_order(tmp_path: Path):
    lines = measured_lines(model(tmp_path, without=(Placed, Step, Compared)))
    assert [line.device_index for line in lines] == [0, 1, None]


def test_causes_are_told_with_what_to_do(tmp_path: Path):
    made = model(tmp_path)
    assert made.compared is not None
    made.feed(made.compared.model_copy(update={"hint": "Rebalance."}))
    assert causes(made)[0].startswith("GPU 1 holds 0.9 GB more")
    assert causes(made)[-1] == "Rebalance."
    assert causes(model(tmp_path, without=(Compared,))) == ()


@pytest.mark.parametrize(
    ("planned", "seen", "expected"),
    [
        (100.0, 100.3, ("as forecast", "")),
        (100.0, 97.0, ("3.0 % less", "")),
        (100.0, 109.0, ("9.0 % more", "")),
        (100.0, 111.0, ("11 % more", "warn")),
        (100.0, 50.0, ("50 % less", "warn")),
    ],
)
def test_a_difference_over_ten_per_cent_is_pointed_out(planned: float, seen: float, expected: tuple[str, str]):
    assert difference_words(planned, seen) == expected
