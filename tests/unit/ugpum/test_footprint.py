"""Footprints as files: found again by their inputs, and never believed when they are broken."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.support.footprints import WAN_14B, equal_blocks

from diffusionforce.ugpum.footprint import CardRates, Footprint, FootprintFiles
from diffusionforce.ugpum.forecast import Layout, forecast_sampling, forecast_training

INPUTS = {"model": "wan", "tokens": 4096, "lora": {"rank": 32, "dropout": 0.0}}


def test_a_stored_footprint_is_found_by_the_same_inputs_in_any_order(tmp_path: Path) -> None:
    files = FootprintFiles(tmp_path / "cache")
    assert files.load(INPUTS) is None
    files.store(INPUTS, json.dumps(asdict(WAN_14B)))
    again = {"lora": {"dropout": 0.0, "rank": 32}, "tokens": 4096, "model": "wan"}
    assert files.load(again) == WAN_14B
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_other_inputs_are_another_file(tmp_path: Path) -> None:
    files = FootprintFiles(tmp_path)
    files.store(INPUTS, json.dumps(asdict(WAN_14B)))
    assert files.load({**INPUTS, "tokens": 1024}) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"kinds": [{"part": {}}], "kind_of_block": []}'])
def test_a_broken_file_counts_as_none(tmp_path: Path, text: str) -> None:
    files = FootprintFiles(tmp_path)
    files.path_of(INPUTS).write_text(text, encoding="utf-8")
    assert files.load(INPUTS) is None
    with pytest.raises(ValueError, match=r".+"):
        Footprint.from_json(text)


def test_a_layout_for_another_model_is_refused() -> None:
    layout = Layout(chunk_sizes=(3,), card_of_chunk=(0,), order=())
    with pytest.raises(ValueError, match="3 blocks, but the model has 4"):
        forecast_training(equal_blocks(4, weights=1024), layout)


def test_blocks_take_the_time_of_their_products_and_of_what_waits_for_memory() -> None:
    kind = replace(
        equal_blocks(1, weights=1).kinds[0],
        forward_flops=10 * 10**12,
        backward_flops=20 * 10**12,
        forward_moved_bytes=10**10,
        backward_moved_bytes=3 * 10**10,
    )
    footprint = replace(equal_blocks(4, weights=1), kinds=(kind,))
    rates = CardRates(flops=100e12, memory_bytes_per_s=1e12)
    assert footprint.blocks_s(rates) == pytest.approx(4 * (0.3 + 0.04))
    # Slow memory makes the same model slower, and what moves more counts for more of it.
    assert footprint.blocks_s(replace(rates, memory_bytes_per_s=1e11)) == pytest.approx(4 * (0.3 + 0.4))
    assert kind.backward_work > kind.forward_work > kind.forward_flops


def test_a_step_by_hand() -> None:
    """Two cards, one block each, sizes that can be added up in the head (in units of 1000 bytes)."""
    footprint = equal_blocks(
        2, weights=100_000, trained=1_000, kept=10_000, output=4_000, working=30_000, outside=7_000
    )
    order = [("F", 0, 0), ("F", 0, 1), ("F", 1, 0), ("B", 1, 0), ("F", 1, 1), ("B", 0, 0), ("B", 1, 1), ("B", 0, 1)]
    layout = Layout(chunk_sizes=(1, 1), card_of_chunk=(0, 1), order=order)
    home, other = forecast_training(footprint, layout, constant_bytes=(500, 600)).cards
    assert (home.weights_bytes, home.trained_bytes, home.optimizer_bytes) == (107_000, 1_000, 2_000)
    # When the first backward begins, the gradient of the output has taken the output's place; the second micro-batch's
    # output is at the other card.
    assert (home.activation_bytes, home.temporary_bytes, home.phase) == (10_000 + 6_000, 30_000, "backward")
    assert (home.gradient_bytes, home.constant_bytes) == (0, 500)
    assert home.peak_bytes == 107_000 + 3_000 + 16_000 + 30_000 + 500
    # Both inputs have arrived when the first backward begins, and no gradient of a parameter exists yet.
    assert (other.activation_bytes, other.gradient_bytes, other.phase) == (2 * 4_000 + 10_000, 0, "backward")
    assert other.weights_bytes == 100_000


def test_a_sample_needs_one_input_and_one_blocks_work() -> None:
    sampling = equal_blocks(2, weights=100_000, output=4_000, working=30_000, outside=7_000)
    layout = Layout(chunk_sizes=(1, 1), card_of_chunk=(0, 1), order=())
    home, other = forecast_sampling(sampling, layout).cards
    assert home.peak_bytes == 107_000 + 30_000
    assert other.peak_bytes == 100_000 + 4_000 + 30_000
