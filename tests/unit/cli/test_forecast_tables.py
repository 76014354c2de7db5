"""A forecast drawn in the terminal."""

import io

import pytest
from rich.console import Console
from tests.gui import recorded
from tests.support import forecasts

from diffusionforce.cli.forecast_tables import show_forecast
from diffusionforce.cli.words import memory
from diffusionforce.wire.forecast import Forecast


def drawn(forecast: Forecast, *, width: int = 100, with_all_ways: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    show_forecast(forecast, recorded.profile(), console=console, with_all_ways=with_all_ways)
    return out.getvalue()


def test_every_card_has_a_table_whose_parts_add_up_to_what_it_holds() -> None:
    text = drawn(forecasts.forecast())
    for card in forecasts.forecast().rig:
        assert text.count(f"{card.label}: ") >= 1
    assert text.count("together") == text.count("to spare") == len(forecasts.forecast().rig)
    assert "caching" in text and "training" in text and "sampling" in text
    assert "Recommended: " in text and "\n* " in text


def test_what_a_sample_costs_is_told_where_it_is_known() -> None:
    forecast = forecasts.forecast()
    timed = [one.model_copy(update={"step_s": 2.0 if one.phase == "sampling" else None}) for one in forecast.phases]
    assert "for each of" not in drawn(forecast)
    assert "about 50 s for each of " in drawn(forecast.model_copy(update={"phases": tuple(timed)}))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_numbers_are_whole_in_a_narrow_terminal(width: int) -> None:
    lines = drawn(forecasts.forecast(), width=width).splitlines()
    (weights, *_) = (line for line in lines if line.startswith("  weights"))
    assert weights.count("GB") == 3 and "…" not in weights


def test_what_is_lost_between_tensors_is_told_and_not_to_spare() -> None:
    forecast = forecasts.forecast()
    card = forecast.rig[0]
    lossy = card.model_copy(update={"lost_bytes": 1 << 30})
    before, after = drawn(forecast), drawn(forecast.model_copy(update={"rig": (lossy, *forecast.rig[1:])}))
    assert f"{memory(card.budget_bytes - (1 << 30))} for this (" in after
    assert "1.0 GB lost between tensors" in after and "lost between" not in before


def test_a_refusal_says_what_lacks_and_what_would_help() -> None:
    forecast = forecasts.refused()
    text = drawn(forecast)
    assert "Nothing fits; shown is what comes closest" in text and "Recommended" not in text
    for sentence in (*forecast.refusal, *forecast.ways_out):
        assert sentence in text


def test_ways_beyond_the_best_of_each_kind_are_counted_or_listed() -> None:
    forecast = forecasts.forecast()
    doubled = forecast.model_copy(update={"ways": (*forecast.ways, forecast.ways[0])})
    short, long = drawn(doubled), drawn(doubled, with_all_ways=True)
    assert "see --all" in short and "see --all" not in long
    assert long.count("a step. ") > short.count("a step. ") or long.count("\n- ") > short.count("\n- ")


def test_seconds_that_are_not_known_are_not_shown() -> None:
    forecast = forecasts.forecast()
    ways = tuple(way.model_copy(update={"step_s": None}) for way in forecast.ways)
    text = drawn(forecast.model_copy(update={"ways": ways, "times": "unknown"}))
    assert "a step" not in text and "(times not known)" in text


def test_a_way_that_there_is_not_is_no_lack_of_memory() -> None:
    # Symptom: "Nothing fits", above a list of ways that fit.
    fitting = forecasts.forecast()
    ways = tuple(way.model_copy(update={"recommended": False}) for way in fitting.ways)
    text = drawn(fitting.model_copy(update={"ways": ways, "refusal": ('No way to train is called "x".',)}))
    assert "As asked for it cannot be trained" in text and "Nothing fits" not in text
