"""How much of a step is on the devices at once: less, step by step, and then as planned again."""

import pytest

from diffusionforce.pipeline.portions import Portions


@pytest.mark.parametrize(
    ("portions", "words"),
    [
        (Portions(), []),
        (Portions(batch_size=5), ["3 pictures at a time", "2 pictures at a time", "1 picture at a time"]),
        (Portions(batch_size=4, num_pieces=4, overlap=True), ["1 picture at a time in turn"]),
        (Portions(num_batches=2, overlap=True), ["1 picture at a time in turn"]),
        (Portions(overlap=True), []),
        (Portions(batch_size=4, overlap=True, can_be_cut=False), []),
        (Portions(batch_size=4, num_pieces=2, overlap=True, can_be_cut=False), ["2 pictures at a time in turn"]),
    ],
)
def test_less_and_less_until_nothing_smaller_is_possible(portions: Portions, words: list[str]) -> None:
    planned = (portions.num_pieces, portions.in_turn)
    found: list[str] = []
    while portions.take_less():
        assert portions.is_smaller
        found.append(portions.words + (" in turn" if portions.in_turn else ""))
    assert found == words
    portions.take_as_planned()
    assert (portions.num_pieces, portions.in_turn, portions.is_smaller) == (*planned, False)
