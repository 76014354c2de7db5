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

import functools
import heapq
import itertools
import re
from collections.abc import Callable, Iterator, Mapping

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
_MOST_KNOWN = 4096
_NUM_FIRST = 3
_FIGURE = r"(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?"
_FIGURES = re.compile(_FIGURE)
_NUMBER = re.compile(rf"[~±<>–-]?{_FIGURE}(?:\s?[/×x–]\s?{_FIGURE})*(?:\s?(?:[^\W\d_]{{1,3}}|%|°C|×))?")
"""A number with its unit, or several."""


class _Pattern:
    """One pattern: what is fixed in it, where something is filled in, and its translation.

    Args:
        text: The pattern in English.
        translation: The same in another language.
    """

    def __init__(self, text: str, translation: str) -> None:
        parts = _PLACE.split(text)
        self._text, self.translation = text, translation
        self._fixed, self.names = [_plain(part) for part in parts[::2]], tuple(parts[1::2])
        self._begin, self._end, self._landmark = self._fixed[0], self._fixed[-1], max(self._fixed, key=len)

    @property
    def ends(self) -> tuple[str, str]:
        """Its first and last letters; empty where something is filled in there."""
        begin = self._begin[:_NUM_FIRST]
        return begin if len(begin) == _NUM_FIRST else "", self._end[-1:]

    @property
    def num_fixed(self) -> int:
        """Letters that it says itself."""
        return sum(map(len, self._fixed))

    def groups(self, text: str) -> tuple[str, ...] | None:
        """Return what was filled in; None for a text that was not made from this pattern."""
        # Nearly all patterns are told apart by their ends, without an expression, which takes its time to be compiled.
        if not (text.startswith(self._begin) and text.endswith(self._end) and self._landmark in text):
            return None
        match = self._expression.fullmatch(text)
        return match.groups() if match is not None else None

    @functools.cached_property
    def _expression(self) -> re.Pattern[str]:
        text, fixed = self._text, self._fixed
        letters = sum(character.isalpha() for part in fixed for character in part)
        is_sentence = text[0].isupper() or text[0] in "“…" or "(" in text or text.endswith((".", ":"))
        takes_amounts = letters < (_FEW_LETTERS_OF_SENTENCE if is_sentence else _FEW_LETTERS)
        expression = re.escape(fixed[0])
        for number, (before, after) in enumerate(itertools.pairwise(fixed)):
            is_glued = (number > 0 and not before) or before[-1:].isalpha()
            # An amount at its beginning is enough to tell a pattern of few words from a name.
            place = _AMOUNT if takes_amounts and number == 0 else _ANYTHING
            expression += (_GLUED if is_glued else place) + re.escape(after)
        return re.compile(expression)


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
        found = [_Pattern(text, said) for text, said in translations.items() if _PLACE.search(text)]
        # Patterns that say more themselves come before those into which anything fits.
        self._drawers: dict[tuple[str, str], list[tuple[int, _Pattern]]] = {}
        for rank, pattern in enumerate(sorted(found, key=lambda pattern: -pattern.num_fixed)):
            self._drawers.setdefault(pattern.ends, []).append((rank, pattern))
        # What is shown again and again, ten times a second in a run, is looked for once.
        self.told = functools.lru_cache(_MOST_KNOWN)(self._told)
        """Returns a text in the language, as far as it is recognised."""

    def _told(self, text: str) -> str:
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
        if not text or text in self._exact:
            return self._exact.get(text, "")
        if (word := self._word(text)) != text:
            return word
        if _NUMBER.fullmatch(text):
            return self.number(text)
        for pattern in self._candidates(text):
            if (texts := pattern.groups(text)) is not None:
                return self._filled(pattern, texts)
        return None

    def _candidates(self, text: str) -> Iterator[_Pattern]:
        """Yield the patterns that a text may be made from by its first and last letters, in their order."""
        begins, ends = (text[:_NUM_FIRST], ""), (text[-1:], "")
        drawers = [self._drawers.get((begin, end), []) for begin in begins for end in ends]
        return (pattern for _, pattern in heapq.merge(*drawers))

    def _filled(self, pattern: _Pattern, texts: tuple[str, ...]) -> str:
        filled = {
            name: text if f"{{{name}!s}}" in pattern.translation else self.told(text)
            for name, text in zip(pattern.names, texts, strict=True)
        }
        numbered = [said for name, said in filled.items() if name.isdecimal()]
        named = {name: said for name, said in filled.items() if not name.isdecimal()}
        return pattern.translation.format(*numbered, **named)


def _plain(part: str) -> str:
    return part.replace("{{", "{").replace("}}", "}")
