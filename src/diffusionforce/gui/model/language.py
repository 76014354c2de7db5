"""The language of the window: English in the code, other languages from catalogues beside it.

Widgets that show constant words (buttons, page and card titles, places) translate them themselves, so a page passes
plain English; everything else that is to be translated goes through `tr`. Words are in a gettext catalogue, sentences
with numbers and names in a table of patterns (`sentences`). What both lack stays English. `tools/translations.py`
collects the words, `tools/sentences.py` the patterns.
"""

import gettext
import json
import re
from collections.abc import Callable
from pathlib import Path

from diffusionforce.gui.model.sentences import Sentences

DOMAIN = "diffusionforce"
CATALOGUES = Path(__file__).resolve().parents[1] / "locale"
SENTENCES = "sentences.json"
LANGUAGES = {"en": "English", "de": "Deutsch"}
"""Code and own name of every language there is."""
_NUMBERS = {"de": (",", ".")}
"""What stands before decimals, and between thousands, where that is not as in English."""
_KEYS = {"de": {"Ctrl+": "Strg+", "Shift+": "Umschalt+", "Enter": "Eingabe", "Del": "Entf", "Space": "Leertaste"}}
"""Names of keys, where they are not as in English."""
_UNIT = re.compile(r"(?<=\d) (?=(?:[kMGT]?B|s|ms|min|h|d|px|W|°C|%|×)(?!\w))")


def _same(text: str) -> str:
    return text


class _State:
    figures: Callable[[str], str] = _same
    catalogue: gettext.NullTranslations = gettext.NullTranslations()
    told: Callable[[str], str] = _same
    code: str = "en"


def use(code: str) -> None:
    """Choose the language by its code; an unknown one, or one whose catalogue is not there, gives English."""
    known = code if code in LANGUAGES else "en"
    _State.code = known
    _State.catalogue = gettext.translation(DOMAIN, CATALOGUES, languages=[known], fallback=True)
    file = CATALOGUES / known / SENTENCES
    if file.exists():
        decimal, thousands = _NUMBERS.get(known, (".", ","))
        found = {text: said for text, said in json.loads(file.read_text(encoding="utf-8")).items() if said}
        sentences = Sentences(found, word=_State.catalogue.gettext, decimal=decimal, thousands=thousands)
        _State.told = sentences.told
        _State.figures = sentences.number
    else:
        _State.told = _State.figures = _same


def current() -> str:
    """Return the code of the language in use."""
    return _State.code


def tr(text: str) -> str:
    """Return a text in the language in use: a word, a sentence, or several."""
    if not text:
        return text  # gettext answers an empty text with the head of its catalogue.
    word = _State.catalogue.gettext(text)
    return word if word != text else _State.told(text)


def key_names(text: str) -> str:
    """Return keys, like `Ctrl+F`, as they are named on keyboards of the language in use."""
    for english, own in _KEYS.get(_State.code, {}).items():
        text = text.replace(english, own)
    return text


def figures(text: str) -> str:
    """Return a text as it is, and a number with its unit as it is written in the language in use."""
    return _State.figures(text)


def noted(text: str) -> str:
    """Return a text as it is, and note it for the catalogues: it goes through `tr` where it is shown."""
    return text


def unbroken(text: str) -> str:
    """Return a text in which no line ends between a number and its unit."""
    return _UNIT.sub("\u00a0", text)
