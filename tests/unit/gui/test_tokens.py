import pytest

from diffusionforce.gui.tokens import DARK, LIGHT, Tokens, contrast, ink_on, mixed

THEMES = pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)


def test_contrast_of_black_on_white_is_the_largest_there_is():
    assert contrast("#000000", "#ffffff") == pytest.approx(21, abs=0.01)
    assert contrast("#777777", "#777777") == 1


@THEMES
@pytest.mark.parametrize("surface", ["bg", "card", "side"])
def test_text_reads_on_every_surface(theme: Tokens, surface: str):
    for ink in ("text", "text2", "text3", *theme.device_texts):
        colour = ink if ink.startswith("#") else getattr(theme, ink)
        assert contrast(colour, getattr(theme, surface)) >= 4.5, (ink, surface)


@THEMES
@pytest.mark.parametrize("tone", ["ok", "warn", "err", "info"])
def test_a_status_reads_on_its_tint_and_on_a_card(theme: Tokens, tone: str):
    assert contrast(getattr(theme, tone), getattr(theme, f"{tone}_bg")) >= 4.5
    assert contrast(getattr(theme, tone), theme.card) >= 4.5


@THEMES
def test_edges_and_rings_can_be_seen(theme: Tokens):
    assert contrast(theme.edge, theme.card) >= 3
    assert contrast(theme.focus, theme.card) >= 3
    assert contrast(theme.on_accent, theme.accent) >= 4.5
    assert all(contrast(fill, theme.card) >= 3 for fill in theme.devices)


@THEMES
def test_devices_have_colours_of_their_own(theme: Tokens):
    assert len(set(theme.devices)) == len(theme.devices) == len(theme.device_texts)


def test_a_mix_lies_between_its_colours():
    assert mixed("#000000", "#ffffff", 0) == "#000000"
    assert mixed("#000000", "#ffffff", 0.5) == "#808080"


def test_ink_is_the_more_readable_of_two():
    assert ink_on("#ffffff") == "#0c1013"
    assert ink_on("#101010") == "#ffffff"
