"""A profile while it is edited: what was typed, what is wrong with it, what it changes, and the way back.

Everything is kept as the text of its field, so that a half-typed number is as good a state as a whole one. The typed
model says whether the texts make a profile; its complaints become one sentence at the field that they are about.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from diffusionforce.gui.model import setting_cautions
from diffusionforce.gui.model.profile_complaints import as_sentence, complaints
from diffusionforce.gui.model.profile_texts import fields_by_name, get, put, text_of, texts_of, value_of
from diffusionforce.gui.model.setting_fields import NotReadableError
from diffusionforce.job import Profile

MAX_UNDO = 200


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
                put(table, name, value_of(field, self._texts[name]))
            except NotReadableError as error:
                self.problems[name] = as_sentence(str(error))
        table["model"]["engine"] = self._engines.get(table["model"]["family"], self.saved.model.engine)
        profile = self._validated(table)
        self.profile: Profile | None = profile if not self.problems else None
        self.cautions = self._find_cautions(table)

    def _validated(self, table: Mapping[str, Any]) -> Profile | None:
        try:
            return Profile.model_validate(table)
        except ValidationError as error:
            for name, sentence in complaints(error):
                self.problems.setdefault(name, sentence)
            return None

    def _find_cautions(self, table: dict[str, Any]) -> dict[str, str]:
        """Look for what is unusual also while something is wrong: there the value that is saved stands in."""
        saved = self.saved.model_dump(mode="json")
        for name in self.problems:
            put(table, name, get(saved, name))
        try:
            profile = Profile.model_validate(table)
        except ValidationError:
            return {}
        found = setting_cautions.of(profile, usual=self.original or self.saved)
        return {name: sentence for name, sentence in found.items() if name not in self.problems}
