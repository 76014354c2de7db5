"""The Profiles place: the built-in profiles and the user's own, each in a form. It joins list, editor and files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDropEvent, QHideEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QStackedWidget, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model import profile_shelf
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.profile_draft import ProfileDraft
from diffusionforce.gui.model.profile_shelf import Imported, ShelfItem
from diffusionforce.gui.pages.page import Page
from diffusionforce.gui.pages.profile_editor import ProfileEditor
from diffusionforce.gui.pages.profile_pane import LIST_COMPACT_PX, LIST_PX, ProfilePane
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.widgets.notices import Empty
from diffusionforce.gui.widgets.pick_card import dropped_path
from diffusionforce.gui.widgets.toast import Toasts

_T = TypeVar("_T")
FIRST = "pocket-demo"
KEEP_MS = 800
FOOT_PX = 104


class ProfilesPage(Page):
    """Shows the profiles, and does what is asked to their files on a thread."""

    use_asked = Signal(str)

    def __init__(self, preferences: Preferences, *, is_training: Callable[[], bool]) -> None:
        """Build the page.

        Args:
            preferences: What the window remembers.
            is_training: Whether a run goes on in this window.
        """
        super().__init__()
        self._is_training = is_training
        self.body.setContentsMargins(0, 0, 0, 0)
        self._preferences = preferences
        self.items: tuple[ShelfItem, ...] = ()
        self._name = ""
        self._wanted = preferences.text("profiles/open") or FIRST
        self._drafts: dict[str, ProfileDraft] = {}
        self.editor: ProfileEditor | None = None
        self.pane = ProfilePane()
        self._right = QStackedWidget()
        self._right.addWidget(Empty("sliders", "Reading the profiles", "This takes a moment."))
        self.toasts = Toasts(self)
        self.toasts.keep_clear(FOOT_PX)
        self._keep = QTimer(self)
        self._keep.setSingleShot(True)
        self._keep.setInterval(KEEP_MS)
        self._keep.timeout.connect(self.keep)
        self.setAcceptDrops(True)
        both = QHBoxLayout()
        both.setSpacing(0)
        both.addWidget(self.pane)
        both.addWidget(self._right, 1)
        self.body.addLayout(both)
        self._connect_pane()

    def _connect_pane(self) -> None:
        self.pane.chosen.connect(self.choose)
        self.pane.import_asked.connect(self._browse)
        self.pane.new_asked.connect(self._duplicate)
        self.pane.duplicate_asked.connect(self._duplicate)
        self.pane.rename_asked.connect(self._rename)
        self.pane.delete_asked.connect(self._delete)
        self.pane.export_asked.connect(self._export)
        self.pane.show_asked.connect(self._show_file)

    def shown(self) -> None:
        """Look at the files again; the command line or an editor may have changed them."""
        self._read()

    def _read(self, *, then: str = "") -> None:
        """Read the profiles on a thread; `then` is the one to show."""
        self._wanted = then or self._wanted
        background.run(self, profile_shelf.read_shelf, done=self._on_shelf, failed=self._on_failed)

    def _on_shelf(self, items: tuple[ShelfItem, ...]) -> None:
        self.items = items
        if self.editor is None:
            self._build_editor()
        self._update_drafts()
        known = {item.name for item in items}
        name = self._wanted if self._wanted in known else FIRST if FIRST in known else items[0].name
        self.pane.show_items(items, chosen=name, edited=self._edited())
        self._open(name)

    def _build_editor(self) -> None:
        families = dict(profile_shelf.titles_by_family(self.items))
        editor = self.editor = ProfileEditor(families)
        editor.set_compact(self.compact)
        editor.form.set_folded(self._preferences.text("profiles/advanced") != "open")
        editor.form.fold.clicked.connect(self._remember_fold)
        editor.changed.connect(self._on_changed)
        editor.save_asked.connect(self._save)
        editor.use_asked.connect(self._use)
        editor.duplicate_asked.connect(lambda: self._duplicate(self._name))
        editor.export_asked.connect(lambda: self._export(self._name))
        editor.show_asked.connect(lambda: self._show_file(self._name))
        editor.menu_asked.connect(self._open_menu)
        editor.renamed.connect(self._on_renamed)
        self._right.addWidget(editor)
        self._right.setCurrentWidget(editor)

    def _update_drafts(self) -> None:
        """Give every own profile a draft: as it is on disk, with the edits that an earlier window did not save."""
        kept = self._kept_texts()
        engines = profile_shelf.engines_by_family(self.items)
        builtin = {item.name: item.profile for item in self.items if not item.is_own}
        drafts: dict[str, ProfileDraft] = {}
        for item in self.items:
            if item.profile is None:
                continue
            draft = self._drafts.get(item.name)
            if draft is None:
                draft = ProfileDraft(item.profile, original=builtin.get(item.profile.based_on), engines=engines)
                draft.restore(kept.get(item.name, {}) if item.is_own else {})
            elif draft.saved != item.profile:
                texts = draft.kept_texts
                draft.begin(item.profile)
                draft.restore(texts)
            drafts[item.name] = draft
        self._drafts = drafts

    def _kept_texts(self) -> dict[str, dict[str, str]]:
        try:
            kept = json.loads(self._preferences.text("profiles/drafts") or "{}")
        except ValueError:
            return {}
        return kept if isinstance(kept, dict) else {}

    def keep(self) -> None:
        """Write down what is not saved, for the next start of the window."""
        self._keep.stop()
        kept = {name: draft.kept_texts for name, draft in self._drafts.items() if draft.edited}
        self._preferences.set_text("profiles/drafts", json.dumps(kept))

    def _edited(self) -> set[str]:
        return {name for name, draft in self._drafts.items() if draft.edited}

    def item(self, name: str) -> ShelfItem | None:
        """Return a profile by its name."""
        return next((item for item in self.items if item.name == name), None)

    @property
    def draft(self) -> ProfileDraft | None:
        """The draft of the profile in sight."""
        return self._drafts.get(self._name)

    @property
    def name(self) -> str:
        """Name of the profile in sight."""
        return self._name

    def choose(self, name: str) -> None:
        """Show a profile; one that is not read yet comes as soon as it is."""
        self._wanted = name
        if self.editor is not None and self.item(name) is not None:
            self._open(name)

    def _open(self, name: str) -> None:
        self._name = self._wanted = name
        self._preferences.set_text("profiles/open", name)
        item = self.item(name)
        assert item is not None
        assert self.editor is not None
        self.pane.mark(chosen=name, edited=self._edited())
        self.editor.show_item(item, self._drafts.get(name))

    def _on_changed(self) -> None:
        self.pane.mark(chosen=self._name, edited=self._edited())
        self._keep.start()

    def _do(self, work: Callable[[], _T], done: Callable[[_T], object]) -> None:
        """Do something with files on a thread."""
        background.run(self, work, done=done, failed=self._on_failed)

    def _on_failed(self, error: UserError) -> None:
        self.toasts.say("err", error.sentence, error.hint)

    def _save(self) -> None:
        kept = tr("The run that goes on keeps its settings.") if self._is_training() else ""
        self._save_then(lambda: self.toasts.say("ok", tr("Saved"), kept or f"{self._name}.toml"))

    def _save_then(self, then: Callable[[], object]) -> None:
        draft, name = self.draft, self._name
        if draft is None or draft.profile is None:
            return
        profile = draft.profile

        def on_saved(_nothing: None) -> None:
            if draft.profile == profile:
                draft.mark_saved()
            self.keep()
            then()
            self._read()

        self._do(lambda: profile_shelf.save(name, profile), on_saved)

    def _use(self) -> None:
        item, draft = self.item(self._name), self.draft
        if item is None or draft is None:
            return
        name = item.name
        if item.is_own and draft.edited:
            self._save_then(lambda: self.use_asked.emit(name))
        else:
            self.use_asked.emit(name)

    def _duplicate(self, name: str) -> None:
        item = self.item(name)
        if item is None or item.profile is None:
            return

        def on_done(new: str) -> None:
            self.pane.search.clear()
            self.toasts.say("ok", tr("Duplicated"), tr("This copy is yours to change."))
            self._read(then=new)

        self._do(lambda: profile_shelf.duplicate(item), on_done)

    def _rename(self, name: str) -> None:
        self.choose(name)
        if self.editor is not None:
            self.editor.rename()

    def _on_renamed(self, title: str) -> None:
        item = self.item(self._name)
        if item is None or not item.is_own:
            return
        draft = self._drafts.get(item.name)
        texts = draft.kept_texts if draft is not None else {}

        def on_done(new: str) -> None:
            kept = {**self._kept_texts(), new: texts}
            self._preferences.set_text("profiles/drafts", json.dumps(kept))
            self._drafts.pop(item.name, None)
            self._read(then=new)

        self._do(lambda: profile_shelf.rename(item, title), on_done)

    def _delete(self, name: str) -> None:
        item = self.item(name)
        if item is None or not item.is_own:
            return

        def on_done(aside: Path) -> None:
            base = item.profile.based_on if item.profile is not None else ""
            text = tr("The command line does not find it any more either.")
            title = tr("Deleted {title}").format(title=item.title)
            self.toasts.say("info", title, text, action=tr("Undo"), do=lambda: self._restore(aside))
            self._read(then=base if self.item(base) is not None and name == self._name else "")

        self._do(lambda: profile_shelf.delete(item), on_done)

    def _restore(self, aside: Path) -> None:
        self._do(lambda: profile_shelf.restore(aside), lambda name: self._read(then=name))

    def _export(self, name: str) -> None:
        item = self.item(name)
        if item is None:
            return
        path, _ = QFileDialog.getSaveFileName(self, tr("Export the profile"), f"{name}.toml", "TOML (*.toml)")
        if path:
            self.export_to(item, Path(path))

    def export_to(self, item: ShelfItem, path: Path) -> None:
        """Write a profile to a file."""
        target = path if path.suffix else path.with_suffix(".toml")
        self._do(
            lambda: profile_shelf.export(item, target),
            lambda _nothing: self.toasts.say("ok", tr("Exported"), str(target)),
        )

    def _browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, tr("Import a profile"), "", "TOML (*.toml)")
        if path:
            self.bring(Path(path))

    def bring(self, path: Path) -> None:
        """Import a profile file."""
        self._do(lambda: profile_shelf.import_file(path), self._on_imported)

    def _on_imported(self, imported: Imported) -> None:
        if imported.left_out:
            first, more = imported.left_out[0], len(imported.left_out) - 1
            title = tr("Imported without what is not understood")
            toast = self.toasts.say("warn", title, f"{first} and {more} more" if more else first)
            toast.setToolTip("\n".join(imported.left_out))
        else:
            self.toasts.say("ok", tr("Imported"), f"{imported.name}.toml")
        self._read(then=imported.name)

    def _show_file(self, name: str) -> None:
        item = self.item(name)
        if item is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(item.path.parent)))

    def _open_menu(self, button: QWidget) -> None:
        item = self.item(self._name)
        if item is not None:
            self.pane.menu_of(item).popup(button.mapToGlobal(button.rect().bottomLeft()))

    def _remember_fold(self) -> None:
        assert self.editor is not None
        self._preferences.set_text("profiles/advanced", "" if self.editor.form.is_folded else "open")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Welcome a dragged profile file."""
        if dropped_path(event).endswith(".toml"):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Import the dropped file."""
        event.acceptProposedAction()
        self.bring(Path(dropped_path(event)))

    def hideEvent(self, event: QHideEvent) -> None:
        """Write down what is not saved, and stop forecasting."""
        super().hideEvent(event)
        self.keep()
        if self.editor is not None:
            self.editor.rest()

    def set_compact(self, compact: bool) -> None:
        """Narrow the list in a narrow window."""
        super().set_compact(compact)
        self.pane.setFixedWidth(LIST_COMPACT_PX if compact else LIST_PX)
        if self.editor is not None:
            self.editor.set_compact(compact)
