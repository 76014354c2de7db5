"""Sentences with numbers and names in them, in another language.

Trainer, forecasts, checks and run folders speak English, with numbers and names filled in already. They stay that way
on the wire, on disk and in logs, so that a run can be read in any language later and a log be searched by anybody.
Where the window shows such a sentence, it is recognised by the pattern that it was made from, `{0} of {1} left`, and
what was filled in goes into the pattern's translation; what was filled in may be made from a pattern, too. A text that
is made of no pattern is taken apart into lines, parts and sentences. What is not recognised stays as it is.

A translation that says `{0!s}` takes what was filled in as it is: the number of a version, say, which is no decimal.
`tools/sentences.py` collects the patterns from the code, so that a sentence that is changed there loses its translation
visibly, in a test.
"""

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_PLACE = re.compile(r"\{(\w+)\}")
_BOUNDARY = r"[.!?] [A-Z“\d]|\n"
# What may be filled into a pattern of few words: an amount or a card, so that no name of the user's is one.
_AMOUNT = rf"((?:GPU |[~±<–-])?[\d–](?:(?!{_BOUNDARY}).)*?)"
# What may be filled into other patterns: anything within a sentence; where it is glued to what is before, or nothing.
_ANYTHING = rf"((?:(?!{_BOUNDARY}).)+?)"
_GLUED = rf"((?:[ ,:;(·](?:(?!{_BOUNDARY}).)*?)?)"
_FEW_LETTERS, _FEW_LETTERS_OF_SENTENCE = 12, 4
_BREAKS = (
    re.compile(r"(\n+(?:•  )?)"),
    re.compile(r"( · )"),
    re.compile(r"((?<=[.!?]) +(?=[A-Z“\d]))"),
    re.compile(r"((?<=:) +)"),
    re.compile(r"(; )"),
    re.compile(r"(, )"),
)
"""Where a text is taken apart: at lines, parts, sentences, and last at semicolons and commas."""
_FIGURE = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_FIGURES = re.compile(_FIGURE)
_NUMBER = re.compile(rf"[~±<>–-]?{_FIGURE}(?:\s?[/×x–]\s?{_FIGURE})*(?:\s?(?:[^\W\d_]{{1,3}}|%|°C|×))?")
"""A number with its unit, or several."""


@dataclass(frozen=True)
class _Pattern:
    """One pattern: what it matches, its longest fixed part by which it is found fast, and its translation."""

    expression: re.Pattern[str]
    landmark: str
    names: tuple[str, ...]
    translation: str


class Sentences:
    """Translates what is made of patterns.

    Args:
        translations: Patterns and texts in English, with what they are in another language.
        word: Translates a text as a whole, and returns others as they are.
        decimal: What stands before the decimals there.
        thousands: What stands between thousands there.
    """

    def __init__(
        self, translations: Mapping[str, str], *, word: Callable[[str], str], decimal: str, thousands: str
    ) -> None:
        self._word, self._decimal, self._thousands = word, decimal, thousands
        self._exact = {text: said for text, said in translations.items() if not _PLACE.search(text)}
        found = [(text, said) for text, said in translations.items() if _PLACE.search(text)]
        # Patterns that say more themselves come before those into which anything fits.
        found.sort(key=lambda pair: -len(_PLACE.sub("", pair[0])))
        self._patterns = [_compiled(text, said) for text, said in found]

    def told(self, text: str) -> str:
        """Return a text in the language, as far as it is recognised."""
        said = self._whole(text)
        if said is not None:
            return said
        for between in _BREAKS:
            parts = between.split(text)
            if len(parts) > 1:
                return "".join(part if between.fullmatch(part) else self.told(part) for part in parts)
        return text

    def number(self, text: str) -> str:
        """Return a text that is a number, perhaps with a unit, as it is written in the language."""
        return _FIGURES.sub(self._figure, text) if _NUMBER.fullmatch(text) else text

    def _figure(self, match: re.Match[str]) -> str:
        whole, point, fraction = match.group().partition(".")
        return whole.replace(",", self._thousands) + point.replace(".", self._decimal) + fraction

    def _whole(self, text: str) -> str | None:
        if text in self._exact:
            return self._exact[text]
        if text and (word := self._word(text)) != text:
            return word
        if _NUMBER.fullmatch(text):
            return self.number(text)
        for pattern in self._patterns:
            if pattern.landmark in text and (match := pattern.expression.fullmatch(text)) is not None:
                return self._filled(pattern, match.groups())
        return None

    def _filled(self, pattern: _Pattern, texts: tuple[str, ...]) -> str:
        filled = {
            name: text if f"{{{name}!s}}" in pattern.translation else self.told(text)
            for name, text in zip(pattern.names, texts, strict=True)
        }
        numbered = [said for name, said in filled.items() if name.isdecimal()]
        named = {name: said for name, said in filled.items() if not name.isdecimal()}
        return pattern.translation.format(*numbered, **named)


def _compiled(text: str, translation: str) -> _Pattern:
    parts = _PLACE.split(text)
    fixed, names = [_plain(part) for part in parts[::2]], tuple(parts[1::2])
    letters = sum(character.isalpha() for part in fixed for character in part)
    is_sentence = text[0].isupper() or text[0] in "“…" or "(" in text or text.endswith((".", ":"))
    takes_amounts = letters < (_FEW_LETTERS_OF_SENTENCE if is_sentence else _FEW_LETTERS)
    expression = re.escape(fixed[0])
    for number, (before, after) in enumerate(itertools.pairwise(fixed)):
        is_glued = (number > 0 and not before) or before[-1:].isalpha()
        # An amount at its beginning is enough to tell a pattern of few words from a name.
        place = _AMOUNT if takes_amounts and number == 0 else _ANYTHING
        expression += (_GLUED if is_glued else place) + re.escape(after)
    return _Pattern(re.compile(expression), max(fixed, key=len), names, translation)


def _plain(part: str) -> str:
    return part.replace("{{", "{").replace("}}", "}")
