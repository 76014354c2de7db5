"""The captions of a dataset while they are edited: one at a time or many at once, with every step undoable.

Only what is to be written is decided here; whoever asks writes it. A caption never disappears without a way back.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Change:
    """Captions that change together.

    Attributes:
        label: What was done, in words.
        before: The captions as they were, by picture.
        after: As they are now.
    """

    label: str
    before: Mapping[Path, str]
    after: Mapping[Path, str]

    def reversed(self) -> "Change":
        """Return the change that takes this one back."""
        return Change(label=self.label, before=self.after, after=self.before)


class CaptionBook:
    """Captions by picture, and the steps that can be taken back."""

    def __init__(self, captions: Mapping[Path, str] | None = None) -> None:
        self._texts = dict(captions or {})
        self._steps: list[Change] = []
        self._typing: Path | None = None

    def refresh(self, captions: Mapping[Path, str]) -> None:
        """Take the captions as they are on disk now; what can be undone stays."""
        self._texts = dict(captions)
        self.seal()

    def text(self, picture: Path) -> str:
        """Return the caption of a picture, empty where it has none."""
        return self._texts.get(picture, "")

    def write(self, picture: Path, text: str) -> Change | None:
        """Take the caption of one picture as it was typed; steps in a row on one picture are one to undo."""
        text = " ".join(text.split())
        before = self.text(picture)
        if text == before:
            return None
        change = Change(label="Edit the caption", before={picture: before}, after={picture: text})
        if self._typing == picture and self._steps:
            last = self._steps.pop()
            self._steps.append(Change(label=last.label, before=last.before, after=change.after))
        else:
            self._steps.append(change)
        self._typing = picture
        self._texts[picture] = text
        return change

    def seal(self) -> None:
        """Let the next edit be a step of its own."""
        self._typing = None

    def plan(self, pictures: Iterable[Path], edit: Callable[[str], str]) -> dict[Path, str]:
        """Return what an edit of many captions would change, without changing it."""
        planned = {picture: edit(self.text(picture)) for picture in pictures}
        return {picture: text for picture, text in planned.items() if text != self.text(picture)}

    def apply(self, label: str, texts: Mapping[Path, str]) -> Change | None:
        """Change many captions as one step."""
        self.seal()
        changed = {picture: text for picture, text in texts.items() if text != self.text(picture)}
        if not changed:
            return None
        change = Change(label=label, before={picture: self.text(picture) for picture in changed}, after=changed)
        self._texts.update(changed)
        self._steps.append(change)
        return change

    @property
    def num_steps(self) -> int:
        """How many steps can be taken back."""
        return len(self._steps)

    @property
    def undoable(self) -> str:
        """What would be undone, in words; empty for nothing."""
        return self._steps[-1].label if self._steps else ""

    def undo(self) -> Change | None:
        """Take the last step back; returns what is to be written."""
        self.seal()
        if not self._steps:
            return None
        change = self._steps.pop().reversed()
        self._texts.update(change.after)
        return change

    def written(self, pictures: Iterable[Path]) -> list[Path]:
        """Return the pictures that have a caption at all."""
        return [picture for picture in pictures if self.text(picture).strip()]

    def without(self, word: str, pictures: Iterable[Path]) -> list[Path]:
        """Return the pictures whose caption lacks a word; small letters stand for capitals."""
        wanted = word.casefold()
        return [picture for picture in pictures if wanted not in self.text(picture).casefold()] if wanted else []

    def tags(self, pictures: Iterable[Path]) -> list[tuple[str, int]]:
        """Return the parts between commas with how many captions have each, the most frequent first."""
        counts: Counter[str] = Counter()
        spelling: dict[str, str] = {}
        for picture in pictures:
            parts = split_tags(self.text(picture))
            counts.update({part.casefold() for part in parts})
            for part in parts:
                spelling.setdefault(part.casefold(), part)
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return [(spelling[key], number) for key, number in ordered]


def split_tags(text: str) -> list[str]:
    """Return the parts of a caption between its commas."""
    return [part.strip() for part in re.split(r"[,、]", text) if part.strip()]


def num_words(text: str) -> int:
    """Return how many words a caption has."""
    return len(text.split())


def adding_before(words: str) -> Callable[[str], str]:
    """Return the edit that puts words at the front, where they are not already."""
    words = words.strip().strip(",").strip()

    def edit(text: str) -> str:
        if not words or text.casefold().startswith(words.casefold()):
            return text
        return f"{words}, {text}" if text else words

    return edit


def adding_after(words: str) -> Callable[[str], str]:
    """Return the edit that puts words at the end, where they are not already."""
    words = words.strip().strip(",").strip()

    def edit(text: str) -> str:
        if not words or text.casefold().endswith(words.casefold()):
            return text
        return f"{text.rstrip(' ,.')}, {words}" if text else words

    return edit


def adding_trigger(word: str) -> Callable[[str], str]:
    """Return the edit that puts the trigger word at the front of captions that do not have it anywhere."""
    before = adding_before(word)
    return lambda text: text if word.strip().casefold() in text.casefold() else before(text)


def replacing(old: str, new: str, *, whole_words: bool = True) -> Callable[[str], str]:
    """Return the edit that replaces words; small letters stand for capitals in what is looked for."""
    old = old.strip()
    if not old:
        return lambda text: text
    edge = r"(?<!\w)" if whole_words and re.match(r"\w", old) else ""
    end = r"(?!\w)" if whole_words and re.search(r"\w$", old) else ""
    pattern = re.compile(f"{edge}{re.escape(old)}{end}", re.IGNORECASE)
    return lambda text: _tidy(pattern.sub(lambda _: new.strip(), text)) if pattern.search(text) else text


def removing(words: str) -> Callable[[str], str]:
    """Return the edit that takes words out, and the comma that they leave behind."""
    return replacing(words, "")


def _tidy(text: str) -> str:
    """Return a caption without doubled commas and blanks."""
    parts = [" ".join(part.split()) for part in text.split(",")]
    return ", ".join(part for part in parts if part)
