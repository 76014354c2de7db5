"""Where a model is cut between two cards, and what another cut would mean."""

from tests.support import forecasts

from diffusionforce.gui.model import forecast_cuts


def view() -> forecast_cuts.CutView:
    found = forecast_cuts.cut_view(forecasts.forecast())
    assert found is not None
    return found


def test_a_cut_is_told_by_its_blocks_and_by_what_it_leaves():
    cut = view()
    assert (cut.current, cut.best, cut.num_blocks, cut.is_asked) == (24, 24, 40, False)
    assert cut.heads(24) == ("GPU 0 · 24 blocks", "GPU 1 · 16 blocks")
    assert cut.outlook(24) == "GPU 0 has 512 MB to spare · GPU 1 has 5 GB to spare · About 2.6 s a step"
    assert cut.outlook(30) == "GPU 0 lacks 2.2 GB · GPU 1 has 7.7 GB to spare"
    assert cut.range_words == "Fits with 13 to 25 blocks on GPU 0"
    assert cut.spoken(39).startswith("GPU 0 · 39 blocks. GPU 1 · 1 block. GPU 0 lacks")


def test_a_cut_has_a_name_by_which_it_is_asked_for():
    cut = view()
    assert cut.name_at(22) == "split, bf16 weights, 4 micro-batches, blocks 22 + 18"
    made = forecasts.forecast()
    asked = made.ways[0].model_copy(update={"words": cut.name_at(22)})
    again = forecast_cuts.cut_view(made.model_copy(update={"ways": (asked, *made.ways[1:])}))
    assert again is not None and again.is_asked
    assert again.name_at(20) == "split, bf16 weights, 4 micro-batches, blocks 20 + 20"


def test_weights_move_from_bar_to_bar():
    made, cut = forecasts.forecast(), view()
    before = forecast_cuts.bars_at(made, "training", cut, 24)
    after = forecast_cuts.bars_at(made, "training", cut, 26)
    moved = forecasts.gib(0.9)
    assert abs(after[0].needed_bytes - before[0].needed_bytes - moved) <= 2
    assert abs(before[1].needed_bytes - after[1].needed_bytes - moved) <= 2
    assert after[0].tone == "err" and before[0].tone == "" and after[2] == before[2]


def test_nothing_is_cut_where_nothing_is_split():
    assert forecast_cuts.cut_view(forecasts.without_cards()) is None
    refused = forecast_cuts.cut_view(forecasts.refused())
    assert refused is not None and refused.range_words == "Fits nowhere"
    assert refused.outlook(25) == "GPU 0 lacks 3 GB · GPU 1 lacks 1.2 GB"
