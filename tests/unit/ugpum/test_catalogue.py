"""Finding cards by what people call them."""

import pytest

from diffusionforce.errors import DeviceError
from diffusionforce.rig import GIB
from diffusionforce.ugpum.catalogue import CARDS, card_like, find_card, parse_rig, taken_for


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("RTX 5080", "RTX 5080"),
        ("5080", "RTX 5080"),
        ("NVIDIA GeForce RTX 4060 Ti 16GB", "RTX 4060 Ti 16GB"),
        ("rtx4060ti 16 gb", "RTX 4060 Ti 16GB"),
        ("4060 ti 8g", "RTX 4060 Ti 8GB"),
        ("4060 Ti", "RTX 4060 Ti 16GB"),
        ("4060", "RTX 4060"),
        ("4070", "RTX 4070"),
        ("4070 ti", "RTX 4070 Ti"),
        ("4070tis", "RTX 4070 Ti SUPER"),
        ("4070 Ti S", "RTX 4070 Ti SUPER"),
        ("4070 super", "RTX 4070 SUPER"),
        ("3080", "RTX 3080 12GB"),
        ("a6000", "RTX A6000"),
        ("6000 ada", "RTX 6000 Ada"),
        ("h100 pcie", "H100 PCIe"),
    ],
)
def test_a_card_is_found_by_what_people_call_it(text: str, name: str) -> None:
    assert find_card(text).name == name


def test_every_card_is_found_by_its_own_name() -> None:
    assert [find_card(card.name) for card in CARDS] == list(CARDS)


def test_a_slot_limits_the_link() -> None:
    full, narrow = find_card("RTX 5080"), find_card("RTX 5080 x4 gen4")
    assert narrow.link_bytes_per_s == pytest.approx(full.link_bytes_per_s / 8)
    assert find_card("4060 Ti x16").pcie_lanes == 8


def test_a_rig_is_a_list() -> None:
    assert [card.name for card in parse_rig("RTX 5080, RTX 4060 Ti 16GB")] == ["RTX 5080", "RTX 4060 Ti 16GB"]
    assert [card.name for card in parse_rig("2 x 3090 + 3060 x4")] == ["RTX 3090", "RTX 3090", "RTX 3060"]
    # Symptom: two cards with a semicolon between them were planned as one.
    assert [card.name for card in parse_rig("RTX 4090; NVIDIA GeForce RTX 3090")] == ["RTX 4090", "RTX 3090"]


def test_a_number_of_cards_behind_the_name_is_not_taken_for_lanes() -> None:
    # Symptom: a plan for "RTX 4090 x2" was one for a single card in a slot of two lanes.
    with pytest.raises(DeviceError) as raised:
        parse_rig("RTX 4090 x2")
    assert "2 x" in raised.value.hint


@pytest.mark.parametrize("text", ["RTX 9999", "", " , ", "Radeon 7900", "RTX"])
def test_unknown_cards_are_refused_in_words(text: str) -> None:
    with pytest.raises(DeviceError) as raised:
        parse_rig(text)
    assert raised.value.hint


@pytest.mark.parametrize(
    ("driver_name", "gib", "name"),
    [
        ("NVIDIA GeForce RTX 5080", 15.9, "RTX 5080"),
        ("NVIDIA GeForce RTX 4060 Ti", 16, "RTX 4060 Ti 16GB"),
        ("NVIDIA GeForce RTX 4060 Ti", 8, "RTX 4060 Ti 8GB"),
        ("NVIDIA GeForce RTX 3080", 10, "RTX 3080 10GB"),
        ("NVIDIA H200", 140, "H200"),
        ("NVIDIA H100 80GB HBM3", 80, "H100 SXM"),
        ("NVIDIA H100 PCIe", 80, "H100 PCIe"),
        ("NVIDIA A100-SXM4-80GB", 80, "A100 80GB"),
        ("NVIDIA RTX A6000", 48, "RTX A6000"),
        ("NVIDIA RTX 6000 Ada Generation", 48, "RTX 6000 Ada"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 16, None),
        ("NVIDIA GeForce GTX 1080", 8, None),
    ],
)
def test_a_card_that_is_here_is_found_by_its_drivers_name(driver_name: str, gib: float, name: str | None) -> None:
    found = card_like(driver_name, total_bytes=int(gib * GIB))
    assert (found.name if found else None) == name


def test_of_a_name_that_fits_several_cards_the_choice_is_told() -> None:
    # Symptom: "4060 ti" was planned with 16 GB, and nothing said that there is one with 8.
    assert taken_for("4060 ti, 5080, 2 x 4060 ti") == (
        '"4060 ti" is taken for the RTX 4060 Ti 16GB; write "RTX 4060 Ti 8GB" for the other.',
    )
    assert taken_for("h100") == ('"h100" is taken for the H100 SXM; write "H100 PCIe" for the other.',)
    assert taken_for("RTX 4060 Ti 8GB x4, 4070, 3080 10 gb") == ()


@pytest.mark.parametrize("text", ["ti", "16GB", "super"])
def test_a_word_that_many_cards_have_is_no_card(text: str) -> None:
    with pytest.raises(DeviceError, match="No card called"):
        parse_rig(text)


def test_more_cards_than_a_plan_can_be_made_for_are_refused() -> None:
    with pytest.raises(DeviceError, match="up to 8"):
        parse_rig("5 x 3090, 4 x 3060")
