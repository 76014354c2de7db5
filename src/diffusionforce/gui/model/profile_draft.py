"""A profile while it is edited: what was typed, what is wrong with it, what it changes, and the way back.

Everything is kept as the text of its field, so that a half-typed number is as good a state as a whole one. The typed
model says whether the texts make a profile; its complaints become one sentence at the field that they are about.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tomli_w
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from diffusionforce.gui.model import setting_cautions, setting_fields
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.setting_fields import NotReadableError, SettingField
from diffusionforce.gui.model.setting_words import WORDS
from diffusionforce.job import Profile, parsed_toml

MAX_UNDO = 200
_TOO_SMALL = frozenset({"greater_than", "greater_than_equal"})
_TOO_LARGE = frozenset({"less_than", "less_than_equal"})


@functools.cache
def fields_by_name() -> Mapping[str, SettingField]:
    """Return every field by its dotted name, in the order of the page."""
    return {field.name: field for field in setting_fields.fields()}


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One edit that can be undone: texts before and after, by name."""

    before: Mapping[str, str]
    after: Mapping[str, str]


class ProfileDraft:
    """A profile that is edited.

    Attributes:
        saved: The profile as it is on disk.
        original: The built-in profile that it is a copy of; None when there is none.
        problems: What keeps the texts from being a profile: a sentence for each name of a field.
        cautions: What is allowed and yet unusual, the same way.
        profile: What the texts make; None while there are problems.
    """

    def __init__(
        self, saved: Profile, *, original: Profile | None = None, engines: Mapping[str, str] | None = None
    ) -> None:
        """Begin with a profile.

        Args:
            saved: The profile.
            original: What it is compared with.
            engines: Which engine trains a family of models.
        """
        self._engines = engines or {}
        self.original = original
        self._undone: list[Edit] = []
        self._done: list[Edit] = []
        self._is_sealed = True
        self._texts: dict[str, str] = {}
        self.begin(saved)

    def begin(self, saved: Profile) -> None:
        """Take a profile as what is saved, and forget every edit."""
        self.saved = saved
        self._saved_texts = texts_of(saved)
        self._original_texts = texts_of(self.original) if self.original is not None else {}
        self._texts = dict(self._saved_texts)
        self._done.clear()
        self._undone.clear()
        self._check()

    def mark_saved(self) -> None:
        """Note that what stands here is on disk now; edits can still be undone."""
        assert self.profile is not None
        self.saved = self.profile
        self._saved_texts = dict(self._texts)

    def text(self, name: str) -> str:
        """Return the text of a field; that of a switch is `true` or `false`."""
        return self._texts[name]

    def set_text(self, name: str, text: str) -> None:
        """Type into a field. Edits of one field that follow each other are undone together, until `seal`."""
        before = self._texts[name]
        if text == before:
            return
        last = self._done[-1] if self._done and not self._is_sealed else None
        if last is not None and list(last.after) == [name]:
            self._done[-1] = Edit(before=last.before, after={name: text})
        else:
            self._done.append(Edit(before={name: before}, after={name: text}))
            del self._done[:-MAX_UNDO]
        self._undone.clear()
        self._is_sealed = False
        self._texts[name] = text
        self._check()

    def seal(self) -> None:
        """End an edit, so that the next one is undone by itself."""
        self._is_sealed = True

    def revert(self) -> None:
        """Go back to what is saved, in one edit that can be undone."""
        self._replace({name: self._saved_texts[name] for name in self.edited})

    def reset(self, name: str) -> None:
        """Give a field the value of the built-in profile again."""
        if name in self._original_texts:
            self._replace({name: self._original_texts[name]})

    def _replace(self, after: Mapping[str, str]) -> None:
        if after:
            self._done.append(Edit(before={name: self._texts[name] for name in after}, after=after))
            self._undone.clear()
            self._take(after)

    def undo(self) -> tuple[str, ...]:
        """Undo the last edit; returns the fields that it was about."""
        if not self._done:
            return ()
        edit = self._done.pop()
        self._undone.append(edit)
        self._take(edit.before)
        return tuple(edit.before)

    def redo(self) -> tuple[str, ...]:
        """Do again what was undone last; returns the fields that it is about."""
        if not self._undone:
            return ()
        edit = self._undone.pop()
        self._done.append(edit)
        self._take(edit.after)
        return tuple(edit.after)

    def _take(self, texts: Mapping[str, str]) -> None:
        self._texts.update(texts)
        self._is_sealed = True
        self._check()

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to undo."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether there is an edit to do again."""
        return bool(self._undone)

    @property
    def edited(self) -> tuple[str, ...]:
        """Fields that differ from what is saved."""
        return tuple(name for name in self._texts if not self._means_the_same(name, self._saved_texts[name]))

    @property
    def changed(self) -> tuple[str, ...]:
        """Fields that differ from the built-in profile; a name of its own and a description are no change."""
        return tuple(
            name
            for name in self._original_texts
            if name not in {"title", "description"} and not self._means_the_same(name, self._original_texts[name])
        )

    def original_text(self, name: str) -> str:
        """Return the text that a field has in the built-in profile."""
        return self._original_texts.get(name, "")

    def default_text(self, name: str) -> str:
        """Return the text of a field that a profile does not name; empty where it has to."""
        field = fields_by_name()[name]
        return "" if field.default is None else text_of(field, field.default)

    @property
    def kept_texts(self) -> dict[str, str]:
        """Texts that are not saved, for the next start of the window."""
        return {name: self._texts[name] for name in self.edited}

    def restore(self, texts: Mapping[str, str]) -> None:
        """Take texts that an earlier window did not save."""
        self._replace({name: text for name, text in texts.items() if name in self._texts})

    def _means_the_same(self, name: str, text: str) -> bool:
        if self._texts[name] == text:
            return True
        field = fields_by_name()[name]
        try:
            return value_of(field, self._texts[name]) == value_of(field, text)
        except NotReadableError:
            return False

    def _check(self) -> None:
        table = self.saved.model_dump(mode="json", exclude_none=True)
        self.problems: dict[str, str] = {}
        for name, field in fields_by_name().items():
            try:
                _put(table, name, value_of(field, self._texts[name]))
            except NotReadableError as error:
                self.problems[name] = _sentence(str(error))
        table["model"]["engine"] = self._engines.get(table["model"]["family"], self.saved.model.engine)
        profile = self._validated(table)
        self.profile: Profile | None = profile if not self.problems else None
        self.cautions = self._find_cautions(table)

    def _validated(self, table: Mapping[str, Any]) -> Profile | None:
        try:
            return Profile.model_validate(table)
        except ValidationError as error:
            for problem in error.errors(include_url=False):
                name = _field_of(problem)
                self.problems.setdefault(name, _words_of(fields_by_name()[name], problem))
            return None

    def _find_cautions(self, table: dict[str, Any]) -> dict[str, str]:
        """Look for what is unusual also while something is wrong: there the value that is saved stands in."""
        saved = self.saved.model_dump(mode="json")
        for name in self.problems:
            _put(table, name, _get(saved, name))
        try:
            profile = Profile.model_validate(table)
        except ValidationError:
            return {}
        found = setting_cautions.of(profile, usual=self.original or self.saved)
        return {name: sentence for name, sentence in found.items() if name not in self.problems}


def texts_of(profile: Profile) -> dict[str, str]:
    """Return the text of every field of a profile."""
    table = profile.model_dump(mode="json")
    return {name: text_of(field, _get(table, name)) for name, field in fields_by_name().items()}


def text_of(field: SettingField, value: Any) -> str:
    """Return a value as the text of its field."""
    if field.kind == "switch":
        return "true" if value else "false"
    if field.kind == "options":
        return tomli_w.dumps(value).strip()
    return setting_fields.written(field, value)


def value_of(field: SettingField, text: str) -> Any:
    """Return the value that a text means.

    Raises:
        NotReadableError: None.
    """
    if field.kind == "switch":
        return text == "true"
    if field.kind == "options":
        try:
            return parsed_toml(text)
        except ValueError as error:
            raise NotReadableError(
                f"write option = value, a line each: {str(error)[0].lower()}{str(error)[1:]}"
            ) from None
    return setting_fields.read(field, text)


def _get(table: Mapping[str, Any], name: str) -> Any:
    value: Any = table
    for part in name.split("."):
        value = value[part]
    return value


def _put(table: dict[str, Any], name: str, value: Any) -> None:
    *sections, key = name.split(".")
    for part in sections:
        table = table.setdefault(part, {})
    table[key] = value


def _field_of(problem: ErrorDetails) -> str:
    """Return the field that a complaint is about; one about a whole table goes to the setting that it names first."""
    known, location = fields_by_name(), [str(part) for part in problem["loc"]]
    for end in range(len(location), 0, -1):
        if ".".join(location[:end]) in known:
            return ".".join(location[:end])
    section = ".".join(location)
    inside = [name for name in known if name.startswith(f"{section}.") or not section]
    message = problem["msg"]
    named = [(message.find(name.removeprefix(f"{section}.")), name) for name in inside]
    return min(((at, name) for at, name in named if at >= 0), default=(0, (inside or ["title"])[0]))[1]


def _words_of(field: SettingField, problem: ErrorDetails) -> str:
    kind, context = problem["type"], problem.get("ctx", {})
    if kind in _TOO_SMALL:
        return tr("Too small: {range}").format(range=field.range_words)
    if kind in _TOO_LARGE:
        return tr("Too large: {range}").format(range=field.range_words)
    if kind == "multiple_of":
        step, value = int(context["multiple_of"]), problem["input"]
        lower = int(value) // step * step
        said = tr("Not a multiple of {step}: take {lower} or {upper}")
        return said.format(step=step, lower=f"{lower:,}", upper=f"{lower + step:,}")
    if kind == "string_too_short" or kind == "too_short":
        return tr("This cannot be empty")
    if kind == "string_too_long":
        return tr("Too long: at most {number} characters").format(number=context["max_length"])
    if kind == "too_long":
        return tr("Too many: at most {number}").format(number=context["max_length"])
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return _sentence(_labelled(message, field))


def _labelled(message: str, field: SettingField) -> str:
    """Put the labels of settings in place of their keys."""
    for name, words in WORDS.items():
        key = name.rpartition(".")[2]
        if "_" in key and field.section == name.rpartition(".")[0]:
            message = message.replace(key, words.label)
    return message


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
