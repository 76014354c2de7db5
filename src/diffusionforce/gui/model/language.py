"""The language of the window: English in the code, other languages from gettext catalogues beside it.

Widgets that show constant words (buttons, page and card titles, places) translate them themselves, so a page passes
plain English; everything else that is to be translated goes through `tr`. What a catalogue lacks stays English.
`tools/translations.py` collects the words and compiles the catalogues.
"""

import gettext
from pathlib import Path

DOMAIN = "diffusionforce"
CATALOGUES = Path(__file__).resolve().parents[1] / "locale"
LANGUAGES = {"en": "English", "de": "Deutsch"}
"""Code and own name of every language there is."""


class _State:
    catalogue: gettext.NullTranslations = gettext.NullTranslations()
    code: str = "en"


def use(code: str) -> None:
    """Choose the language by its code; an unknown one, or one whose catalogue is not there, gives English."""
    known = code if code in LANGUAGES else "en"
    _State.code = known
    _State.catalogue = gettext.translation(DOMAIN, CATALOGUES, languages=[known], fallback=True)


def current() -> str:
    """Return the code of the language in use."""
    return _State.code


def tr(text: str) -> str:
    """Return a text in the language in use."""
    # gettext answers an empty text with the head of its catalogue.
    return _State.catalogue.gettext(text) if text else text


def noted(text: str) -> str:
    """Return a text as it is, and note it for the catalogues: it goes through `tr` where it is shown."""
    return text
