"""The languages of the window: complete, compiled, and honest about what they lack."""

import gettext
import re
from collections.abc import Iterator

import pytest

import translations
from diffusionforce.gui.model import language
from diffusionforce.gui.model.language import CATALOGUES, LANGUAGES, tr

FILES = sorted(CATALOGUES.glob("*/LC_MESSAGES/*.po"))


@pytest.fixture(autouse=True)
def english_again() -> Iterator[None]:
    yield
    language.use("en")


def test_every_language_has_a_catalogue():
    assert {po.parts[-3] for po in FILES} == set(LANGUAGES) - {"en"}


@pytest.mark.parametrize("po", FILES, ids=lambda po: po.parts[-3])
def test_every_word_of_the_window_is_translated(po):
    """Fails with what is missing: run `python tools/translations.py`, and translate it in the catalogue."""
    catalogue = translations.merged(po, translations.words_in(translations.GUI))
    assert translations.missing(catalogue) == []


@pytest.mark.parametrize("po", FILES, ids=lambda po: po.parts[-3])
def test_a_catalogue_is_compiled_as_it_stands(po):
    with po.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for message in translations.read(po):
        if message.id and message.string:
            assert compiled.gettext(str(message.id)) == message.string


@pytest.mark.parametrize("po", FILES, ids=lambda po: po.parts[-3])
def test_a_translation_keeps_the_places_that_are_filled_in(po):
    for message in translations.read(po):
        if message.id:
            places = re.findall(r"\{\w+\}", str(message.id))
            assert sorted(re.findall(r"\{\w+\}", str(message.string))) == sorted(places), message.id


def test_a_missing_translation_is_found():
    po = FILES[0]
    catalogue = translations.merged(po, ["Save", "A text that nobody has translated"])
    assert translations.missing(catalogue) == ["A text that nobody has translated"]


def test_words_are_collected_from_calls_and_constants():
    found = set(translations.words_in(translations.GUI))
    assert {"Settings", "Datasets", "Start training", "Learning rate", "Check the rig", "Dark"} <= found
    assert "profiles/open" not in found
    assert "Ctrl+S" not in found


def test_a_language_is_chosen_and_what_it_lacks_stays_english():
    language.use("de")
    assert (language.current(), tr("Settings"), tr("no such text"), tr("")) == (
        "de",
        "Einstellungen",
        "no such text",
        "",
    )
    language.use("xx")
    assert (language.current(), tr("Settings")) == ("en", "Settings")
