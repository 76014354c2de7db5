"""Budgets of cards in several situations, and the sentences for plans that do not fit."""

from dataclasses import replace

import pytest

from diffusionforce.rig import GIB, Card
from diffusionforce.ugpum import Shortfall, budgets, reserve_bytes, shortfalls

CARD = Card(
    index=1,
    uuid="GPU-1",
    name="NVIDIA GeForce RTX 4060 Ti",
    pci_address="00000000:01:00.0",
    total_bytes=16 * GIB,
    free_bytes=15 * GIB,
    used_bytes=GIB,
    display_attached=False,
)


def test_the_reserve_starts_at_one_gb_and_grows_with_the_card() -> None:
    small, large = (reserve_bytes(gib * GIB, display_attached=False) for gib in (8, 80))
    assert GIB < small < large
    assert large - small == pytest.approx(72 * GIB * 0.02, abs=2)


def test_a_display_costs_half_a_gb() -> None:
    with_display, without = (reserve_bytes(16 * GIB, display_attached=attached) for attached in (True, False))
    assert with_display - without == GIB // 2


def test_a_budget_is_what_is_free_less_the_reserve() -> None:
    (budget,) = budgets([CARD])
    assert budget.device == "cuda:1"
    assert budget.usable_bytes == 15 * GIB - reserve_bytes(16 * GIB, display_attached=False)
    assert budget.fraction == pytest.approx(budget.usable_bytes / (16 * GIB))


def test_a_card_that_hides_its_screen_is_taken_to_have_one() -> None:
    hidden, attached = budgets([replace(CARD, display_attached=None), replace(CARD, display_attached=True)])
    assert hidden.reserve_bytes == attached.reserve_bytes


def test_a_full_card_has_an_empty_budget() -> None:
    (budget,) = budgets([replace(CARD, free_bytes=GIB // 2)])
    assert budget.usable_bytes == 0
    assert budget.fraction == 0


def test_a_plan_that_fits_lacks_nothing() -> None:
    given = budgets([replace(CARD, index=0), CARD])
    exact = given[1].usable_bytes
    assert shortfalls(given, needed_bytes={"cuda:0": GIB, "cuda:1": exact}) == ()
    (short,) = shortfalls(given, needed_bytes={"cuda:0": GIB, "cuda:1": exact + 1})
    assert (short.budget.device, short.missing_bytes) == ("cuda:1", 1)


def test_freeing_memory_is_offered_only_when_it_would_do() -> None:
    (budget,) = budgets([replace(CARD, free_bytes=12 * GIB)])
    held_by_others = 4 * GIB
    enough = Shortfall(budget=budget, needed_bytes=budget.usable_bytes + held_by_others)
    assert str(enough).endswith("Free 4 GB by closing other programs.")
    assert "4 GB more on GPU 1 (RTX 4060 Ti)" in str(enough)
    too_much = Shortfall(budget=budget, needed_bytes=budget.usable_bytes + held_by_others + 1)
    assert "closing" not in str(too_much)


def test_a_device_without_a_budget_is_our_mistake() -> None:
    with pytest.raises(KeyError):
        shortfalls(budgets([CARD]), needed_bytes={"cuda:7": 1})
