"""Why a run differed from its forecast."""

import pytest

from diffusionforce.ugpum.causes import SeenCard, causes

GIB = 1 << 30


def card(index: int, planned: float, seen: float, busy: float | None = None) -> SeenCard:
    return SeenCard(label=f"GPU {index}", planned_bytes=int(planned * GIB), seen_bytes=int(seen * GIB), busy=busy)


def memory_words(*cards: SeenCard) -> list[str]:
    return list(causes(cards, planned_s=None, seen_s=1.0, times="unknown"))


def test_a_good_forecast_needs_no_words():
    cards = [card(0, 10, 10.9, 1.0), card(1, 10, 9.1, 0.2)]
    assert causes(cards, planned_s=1.0, seen_s=1.09, times="measured") == ()


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        ([card(0, 4, 5)], "workspaces of the libraries, or activations"),
        ([card(0, 4, 5), card(1, 8, 9.1)], "what the libraries take"),
        ([card(0, 4, 5), card(1, 8, 10)], "the activations of all blocks"),
        ([card(0, 4, 6), card(1, 8, 8.2)], "on the first card only"),
        ([card(0, 8, 8.6), card(1, 8, 10)], "what crosses between them"),
        ([card(0, 8, 9.5), card(1, 8, 6)], "larger on one card and smaller on another"),
    ],
)
def test_memory(cards: list[SeenCard], words: str):
    found = memory_words(*cards)
    assert found and all(words in sentence for sentence in found)


def test_only_cards_that_are_off_are_told():
    (sentence,) = memory_words(card(0, 8, 8.6), card(1, 8, 10))
    assert sentence.startswith("GPU 1 held 2 GB more than planned (10 GB, planned 8 GB): ")


@pytest.mark.parametrize(
    ("busy", "times", "seen_s", "words"),
    [
        ((0.97, 0.4), "measured", 3.0, "50 % longer: GPU 0 held the others up, GPU 1 was busy 40 % of it"),
        ((0.4, 0.5), "measured", 3.0, "waited for the processor or for copies"),
        ((0.8, 0.8), "measured", 3.0, "compute slower than when they were measured"),
        ((0.8, 0.8), "catalogue", 3.0, "data sheets only"),
        ((0.97, 0.4), "measured", 1.0, "50 % less: the cards compute faster"),
        ((None, None), "catalogue", 1.0, "data sheets only"),
    ],
)
def test_time(busy: tuple[float | None, float | None], times: str, seen_s: float, words: str):
    cards = [card(0, 4, 4, busy[0]), card(1, 4, 4, busy[1])]
    (sentence,) = causes(cards, planned_s=2.0, seen_s=seen_s, times=times)
    assert words in sentence
