"""Knows the profiles and what is typed into them, and does what is asked to their files on a thread."""

import contextlib
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, QTimer, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model import profile_shelf
from diffusionforce.gui.model.profile_draft import ProfileDraft
from diffusionforce.gui.model.profile_shelf import Imported, ShelfItem
from diffusionforce.gui.preferences import FIRST_PROFILE, Preferences
from diffusionforce.job import KeptFile, Profile

log = logging.getLogger(__name__)
_T = TypeVar("_T")
KEEP_MS = 800


class ProfileDesk(QObject):
    """The profiles on disk, each with a draft, and the one that is wanted in sight.

    Attributes:
        items: The profiles that were read; empty before the first reading.
    """

    read = Signal()
    """The files were read anew."""
    duplicated = Signal()
    deleted = Signal(object, object)
    """The `ShelfItem` that was deleted, and where its file lies aside."""
    exported = Signal(str)
    imported = Signal(object)
    failed = Signal(UserError)

    def __init__(self, preferences: Preferences, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self.items: tuple[ShelfItem, ...] = ()
        self._wanted = preferences.text("profiles/open") or FIRST_PROFILE
        self._drafts: dict[str, ProfileDraft] = {}
        self._engines: Mapping[str, str] = {}
        self._builtin: Mapping[str, Profile | None] = {}
        self._file = KeptFile(preferences.path.with_name("drafts.json"), _texts, empty={})
        # Texts that an earlier window did not save, until there is a draft that takes them.
        self._kept: dict[str, dict[str, str]] = {}
        with contextlib.suppress(OSError):  # Nothing is written down as long as it cannot be read.
            self._kept = dict(self._file.read())
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(KEEP_MS)
        self._later.timeout.connect(self.keep)

    @property
    def wanted(self) -> str:
        """Name of the profile to show: the one that was asked for, or one that there is."""
        known = [item.name for item in self.items]
        there = (name for name in (self._wanted, FIRST_PROFILE) if name in known)
        return next(there, known[0] if known else self._wanted)

    def want(self, name: str) -> None:
        """Ask for a profile, which may not have been read yet."""
        self._wanted = name
        self._preferences.set_text("profiles/open", name)

    def item(self, name: str) -> ShelfItem | None:
        """Return a profile by its name."""
        return next((item for item in self.items if item.name == name), None)

    def draft(self, name: str) -> ProfileDraft | None:
        """Return the draft of a profile; None where it cannot be read."""
        item = self.item(name)
        if item is not None and name not in self._drafts:
            self._make_draft(item)
        return self._drafts.get(name)

    @property
    def edited(self) -> set[str]:
        """Names of the profiles with changes that are not saved."""
        return {name for name, draft in self._drafts.items() if draft.edited}

    def look(self, *, then: str = "") -> None:
        """Read the files; the command line or an editor may have changed them. `then` is the profile to show."""
        self._wanted = then or self._wanted
        background.run(self, profile_shelf.read_shelf, done=self._on_shelf, failed=self.failed.emit)

    def _on_shelf(self, items: tuple[ShelfItem, ...]) -> None:
        self.items = items
        self._update_drafts()
        self.read.emit()

    def _update_drafts(self) -> None:
        """Give the drafts that there are what stands on disk now; the others are made when they are asked for."""
        self._engines = profile_shelf.engines_by_family(self.items)
        self._builtin = {item.name: item.profile for item in self.items if not item.is_own}
        before, self._drafts = self._drafts, {}
        for item in self.items:
            draft = before.get(item.name)
            if item.profile is not None and draft is not None:
                if draft.saved != item.profile:
                    texts = draft.kept_texts
                    draft.begin(item.profile)
                    draft.restore(texts)
                self._drafts[item.name] = draft
            elif item.is_own and item.name in self._kept:
                self._make_draft(item)
        # A file that cannot be read now may be mended; of one that is gone nothing is kept.
        self._kept = {item.name: self._kept[item.name] for item in self.items if item.name in self._kept}

    def _make_draft(self, item: ShelfItem) -> None:
        """Begin a draft as its profile is on disk, with the edits that an earlier window did not save."""
        if item.profile is not None:
            original = self._builtin.get(item.profile.based_on)
            draft = self._drafts[item.name] = ProfileDraft(item.profile, original=original, engines=self._engines)
            draft.restore(self._kept.pop(item.name, {}) if item.is_own else {})

    def keep_soon(self) -> None:
        """Write down what is not saved when nothing more is typed."""
        self._later.start()

    def keep(self) -> None:
        """Write down what is not saved, for the next start of the window."""
        self._later.stop()
        edited = {name: draft.kept_texts for name, draft in self._drafts.items() if draft.edited}
        try:
            self._file.write(json.dumps({**self._kept, **edited}, ensure_ascii=False).encode())
        except OSError as error:
            log.warning("What is not saved of the profiles could not be written down: %s", error)

    def _do(self, work: Callable[[], _T], done: Callable[[_T], object]) -> None:
        """Do something with files on a thread."""
        background.run(self, work, done=done, failed=self.failed.emit)

    def save(self, name: str, *, then: Callable[[], object]) -> None:
        """Save what was typed into a profile, and then do something."""
        draft = self.draft(name)
        if draft is None or draft.profile is None:
            return
        profile = draft.profile

        def on_saved(_nothing: None) -> None:
            if draft.profile == profile:
                draft.mark_saved()
            self.keep()
            then()
            self.look()

        self._do(lambda: profile_shelf.save(name, profile), on_saved)

    def duplicate(self, name: str) -> None:
        """Make a copy of a profile that is the user's to change, and show it."""
        item = self.item(name)
        if item is None or item.profile is None:
            return

        def on_done(new: str) -> None:
            self.duplicated.emit()
            self.look(then=new)

        self._do(lambda: profile_shelf.duplicate(item), on_done)

    def rename(self, name: str, title: str) -> None:
        """Give an own profile another title, and with it another file name."""
        item = self.item(name)
        if item is None or not item.is_own:
            return
        draft = self.draft(name)
        texts = draft.kept_texts if draft is not None else {}

        def on_done(new: str) -> None:
            self._drafts.pop(name, None)
            self._kept[new] = texts
            self.keep()
            self.look(then=new)

        self._do(lambda: profile_shelf.rename(item, title), on_done)

    def delete(self, name: str) -> None:
        """Lay the file of an own profile aside."""
        item = self.item(name)
        if item is None or not item.is_own:
            return

        def on_done(aside: Path) -> None:
            base = item.profile.based_on if item.profile is not None else ""
            self.deleted.emit(item, aside)
            self.look(then=base if self.item(base) is not None and name == self._wanted else "")

        self._do(lambda: profile_shelf.delete(item), on_done)

    def restore(self, aside: Path) -> None:
        """Bring back what was deleted."""
        self._do(lambda: profile_shelf.restore(aside), lambda name: self.look(then=name))

    def export_to(self, item: ShelfItem, path: Path) -> None:
        """Write a profile to a file."""
        target = path if path.suffix else path.with_suffix(".toml")
        self._do(lambda: profile_shelf.export(item, target), lambda _nothing: self.exported.emit(str(target)))

    def bring(self, path: Path) -> None:
        """Import a profile file."""

        def on_done(imported: Imported) -> None:
            self.imported.emit(imported)
            self.look(then=imported.name)

        self._do(lambda: profile_shelf.import_file(path), on_done)


def _texts(content: bytes) -> dict[str, dict[str, str]]:
    """The texts in a file of drafts, by the names of their profiles and fields.

    Raises:
        ValueError: It is no such file.
    """
    kept = json.loads(content)
    if not isinstance(kept, dict):
        raise ValueError("no texts")
    return {
        str(name): {str(field): text for field, text in texts.items() if isinstance(text, str)}
        for name, texts in kept.items()
        if isinstance(texts, dict)
    }
