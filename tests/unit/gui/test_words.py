import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffusionforce.gui.model import words


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.3, "0.3 s"),
        (45, "45 s"),
        (59.6, "1 min"),
        (250, "4 min 10 s"),
        (3000, "50 min"),
        (3599, "1 h"),
        (5100, "1 h 25 min"),
        (7200, "2 h"),
        (2 * 86400 + 3 * 3600, "2 d 3 h"),
        (math.inf, "–"),
        (math.nan, "–"),
        (-1, "–"),
    ],
)
def test_a_duration_has_at_most_two_units(seconds: float, said: str):
    assert words.duration(seconds) == said


@given(st.floats(min_value=0, max_value=1e7))
def test_a_duration_never_says_sixty_of_anything(seconds: float):
    assert not re.search(r"\b60 (s|min)\b|\b24 h\b", words.duration(seconds))


@pytest.mark.parametrize(
    ("num_bytes", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1024, "1 KB"),
        (1_238_000, "1.2 MB"),
        (164 * 1024**2, "164 MB"),
        (16 * 1024**3, "16 GB"),
    ],
)
def test_a_size_has_the_digits_that_matter(num_bytes: int, said: str):
    assert words.size(num_bytes) == said


def test_an_amount_is_said_in_the_unit_of_the_whole():
    assert words.amount_of(14.6 * 1024**3, 16 * 1024**3) == "14.6 / 16 GB"
    assert words.amount_of(0.3 * 1024**3, 23.54 * 1024**3) == "0.3 / 23.5 GB"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.12149, "0.121"),
        (0.0376, "0.0376"),
        (1.234, "1.23"),
        (12.4, "12.4"),
        (0, "0"),
        (math.nan, "not a number"),
        (None, "–"),
    ],
)
def test_a_loss_keeps_three_digits(value: float | None, said: str):
    assert words.loss(value) == said


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((), "none"),
        ((0, 1, 2, 3, 4), "0–4"),
        ((0, 2, 3), "0 and 2–3"),
        ((0, 2, 4, 6, 8, 10), "0, 2, 4 and 3 more"),
    ],
)
def test_blocks_are_counted_from_0(numbers: tuple[int, ...], said: str):
    # The window counted from 1 and the command line from 0: the same block had two numbers.
    assert words.ranges(numbers) == said


def test_how_long_ago_is_said_coarsely():
    assert words.ago(3) == "just now"
    assert words.ago(250) == "4 min ago"


def test_one_thing_has_no_plural():
    assert words.count(1, "picture") == "1 picture"
    assert words.count(1200, "picture") == "1,200 pictures"


@pytest.mark.parametrize(
    ("num_bytes", "exact", "whole"),
    [
        (512, "512 B", "512 B"),
        (300 * 1024**2, "300.0 MB", "300 MB"),
        (int(14.618 * 1024**3), "14.62 GB", "14.6 GB"),
        (int(15.99 * 1024**3), "15.99 GB", "16 GB"),
    ],
)
def test_sizes_are_exact_in_a_tool_tip_and_round_in_a_name(num_bytes: int, exact: str, whole: str):
    assert (words.exact_size(num_bytes), words.round_size(num_bytes)) == (exact, whole)


@pytest.mark.parametrize(
    ("value", "told"),
    [(1e-4, "0.0001"), (8.75312e-5, "0.0000875"), (0.0, "0"), (1.0, "1"), (300.0, "300"), (math.nan, "not a number")],
)
def test_small_numbers_have_three_digits_and_no_exponent(value: float, told: str):
    assert words.small_number(value) == told
