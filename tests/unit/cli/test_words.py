"""Numbers in words."""

import math

import pytest

from diffusionforce.cli.words import block_ranges, change, duration, measured, memory
from diffusionforce.runs import RunHeldOut


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3600, "1 h 00 min"),
        (90_000, "25 h 00 min"),
        (math.inf, "unknown"),
        (math.nan, "unknown"),
    ],
)
def test_durations(seconds: float, words: str):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("blocks", "words"), [((), "none"), ((3,), "3"), ((0, 1, 2), "0-2"), ((4, 0, 1, 7, 8), "0-1, 4, 7-8")]
)
def test_block_ranges(blocks: tuple[int, ...], words: str):
    assert block_ranges(blocks) == words


def test_memory():
    assert (memory(3 * 1024**2), memory(1536 * 1024**2)) == ("3 MB", "1.5 GB")


@pytest.mark.parametrize(
    ("held_out", "short", "words"),
    [
        (None, "", ""),
        (RunHeldOut(before=0.2), "", "0.2000 before"),
        (RunHeldOut(before=0.2, after=0.1), "50 % lower", "0.2000 before, 0.1000 after, 50 % lower"),
        (RunHeldOut(before=0.2, after=0.3), "50 % higher", "0.2000 before, 0.3000 after, 50 % higher"),
        (RunHeldOut(before=0.0, after=0.3), "", "0.0000 before, 0.3000 after"),
    ],
)
def test_held_out_losses(held_out: RunHeldOut | None, short: str, words: str):
    assert (change(held_out), measured(held_out)) == (short, words)
