import pytest
from tests.support.forecasts import forecast, paging, refused, way, without_cards

from diffusionforce.gui.model.forecast_blocks import card_words, cells, sentence
from diffusionforce.gui.model.forecast_ways import WayLine, best_of_each_format, best_of_each_kind, lines, step_seconds
from diffusionforce.wire.forecast import Forecast


def shown(told: Forecast) -> tuple[WayLine, ...]:
    return lines(told, best_of_each_kind(told))


def test_a_cut_that_was_asked_for_is_told_with_the_way():
    words = "split, bf16 weights, 4 micro-batches, blocks 22 + 18"
    (line,) = lines(forecast(), (forecast().ways[0].model_copy(update={"words": words}),))
    assert (line.name, line.title, line.details) == (words, "Split", "bf16, 4 micro-batches · blocks 22 + 18")


def test_the_best_of_each_kind_is_shown_and_other_weights_unfold():
    eight_bits = (
        way("split", weights="fp8", step_s=2.8, needs=(9, 9), blocks=(20, 20)),
        way("split", weights="fp8", step_s=3.1, needs=(9, 9), blocks=(20, 20), num_microbatches=2),
    )
    told = forecast(ways=(*forecast().ways, *eight_bits))
    assert [line.title for line in shown(told)] == ["Split", "Split + swap", "One card + swap", "One card"]
    assert [line.details for line in lines(told, best_of_each_format(told)) if line.title == "Split"] == [
        "bf16, 4 micro-batches",
        "fp8, 4 micro-batches",
    ]


@pytest.mark.parametrize("reason", ["Fits, but takes 1.30 times as long.", "Just as fast."])
def test_a_reason_that_only_repeats_the_speed_is_left_out(reason: str):
    told = forecast(ways=(forecast().ways[0], way("one card", step_s=3.4, needs=(9,), reason=reason)))
    assert shown(told)[1].reason == ""


def test_the_recommended_way_is_shown_even_if_another_of_its_kind_is_faster():
    faster = way("split", step_s=1.0, needs=(9, 9), blocks=(20, 20), weights="fp8")
    told = forecast(ways=(faster, *forecast().ways))
    assert [line.is_recommended for line in shown(told)].count(True) == 1


def test_speeds_are_told_against_the_recommended_way():
    split, swap, one_swap, one = shown(forecast())
    assert (split.speed, split.relation, split.is_recommended) == ("2.6 s", "", True)
    assert (swap.speed, swap.relation) == ("2.9 s", "1.1× slower")
    assert (one_swap.speed, one_swap.relation, one_swap.time_share) == ("4.4 s", "1.7× slower", 1.0)
    assert (one.speed, one.time_share, one.relation) == ("Won't fit", None, "")


def test_a_faster_way_that_was_not_asked_for_is_told_as_faster():
    told = forecast(ways=(way("one card", step_s=1.3, needs=(9,)), *forecast().ways[:1]))
    assert shown(told)[0].relation == "2.0× faster"


def test_ways_that_differ_by_less_than_a_prediction_can_tell_are_as_fast():
    told = forecast(ways=(*forecast().ways[:1], way("one card", step_s=2.7, needs=(9,))))
    assert shown(told)[1].relation == "as fast"


def test_a_way_that_does_not_fit_says_what_it_lacks_and_where():
    split, swap = shown(refused())
    assert split.reason == "Lacks 3 GB on GPU 0, 1.2 GB on GPU 1."
    assert swap.fits is False
    assert "Won't fit" in split.spoken


def test_a_way_that_lacks_something_else_says_its_own_reason():
    told = forecast()
    ram = told.ways[2].model_copy(update={"fits": False, "reason": "RAM lacks 4 GB."})
    told = told.model_copy(update={"ways": (told.ways[0], ram)})
    assert shown(told)[1].reason == "RAM lacks 4 GB."


def test_unknown_speeds_are_called_unknown():
    told = forecast(
        times="unknown", ways=tuple(w.model_copy(update={"step_s": None}) for w in forecast().ways if w.fits)
    )
    assert {line.speed for line in shown(told)} == {"unknown"}
    assert {line.relation for line in shown(told)} == {""}
    assert {line.time_share for line in shown(told)} == {None}


def test_what_tells_a_way_from_others_is_short():
    assert shown(forecast())[0].details == "bf16, 4 micro-batches"
    placed = way("one card", step_s=1.0, needs=(9,)).model_copy(
        update={"words": "one card on GPU 0 (RTX 5080), fp32 weights, 1 micro-batch"}
    )
    (line,) = lines(forecast(), (placed,))
    assert (line.title, line.details) == ("One card", "on GPU 0, fp32, 1 micro-batch")
    assert shown(without_cards())[0].title == "On the processor"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "unknown"), (0.0412, "0.04 s"), (0.33, "0.33 s"), (2.64, "2.6 s"), (41.0, "41.0 s"), (150.0, "2 min 30 s")],
)
def test_the_time_of_a_step_has_the_digits_that_matter(seconds: float | None, words: str):
    assert step_seconds(seconds) == words


def test_every_block_has_a_cell_with_its_card():
    told = paging()
    assert told.recommended is not None
    found = cells(told, told.recommended)
    assert len(found) == told.num_blocks
    assert sum(cell.is_paged for cell in found) == 14
    assert [cell.card_index for cell in found] == [0] * 27 + [1] * 13
    assert sentence(told, told.recommended) == "GPU 0: 27 blocks, 14 of them in RAM. GPU 1: 13 blocks"


def test_blocks_of_a_way_that_uses_only_the_second_card_are_in_its_colour():
    told = forecast()
    alone = way("one card", step_s=1.0, needs=(9,), blocks=(40,), devices=("cuda:1",))
    assert {cell.card_index for cell in cells(told, alone)} == {1}
    assert card_words(told, alone) == ((1, "GPU 1", "40 blocks"),)
