"""The Profiles place: the built-in profiles and the user's own, each in a form. It joins list, editor and desk."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDropEvent, QHideEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QStackedWidget, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui.model import profile_shelf
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.profile_draft import ProfileDraft
from diffusionforce.gui.model.profile_shelf import Imported, ShelfItem
from diffusionforce.gui.pages.page import Page
from diffusionforce.gui.pages.profile_pane import LIST_COMPACT_PX, LIST_PX, ProfilePane
from diffusionforce.gui.pieces import Pieces
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.profile_desk import ProfileDesk
from diffusionforce.gui.widgets.layout import column
from diffusionforce.gui.widgets.notices import Empty
from diffusionforce.gui.widgets.pick_card import dropped_path
from diffusionforce.gui.widgets.toast import Toasts

if TYPE_CHECKING:
    from diffusionforce.gui.pages.profile_editor import ProfileEditor


class ProfilesPage(Page):
    """Shows the profiles, and asks the desk for what is wanted of them."""

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
        self.name = ""
        """Name of the profile in sight."""
        self.desk = ProfileDesk(preferences, self)
        self.editor: ProfileEditor | None = None
        self._building = Pieces(self)
        self.pane = ProfilePane()
        self._right = QStackedWidget()
        self._right.addWidget(Empty("sliders", "Reading the profiles", "This takes a moment."))
        self.toasts = Toasts(margins=(24, 4, 24, 12))
        self.setAcceptDrops(True)
        both = QHBoxLayout()
        both.setSpacing(0)
        both.addWidget(self.pane)
        both.addLayout(column((self._right, 1), self.toasts, gap=0), 1)
        self.body.addLayout(both)
        self._connect_pane()
        self._connect_desk()

    def _connect_pane(self) -> None:
        self.pane.chosen.connect(self.choose)
        self.pane.import_asked.connect(self._browse)
        self.pane.new_asked.connect(self.desk.duplicate)
        self.pane.duplicate_asked.connect(self.desk.duplicate)
        self.pane.rename_asked.connect(self._rename)
        self.pane.delete_asked.connect(self.desk.delete)
        self.pane.export_asked.connect(self._export)
        self.pane.show_asked.connect(self._show_file)

    def _connect_desk(self) -> None:
        self.desk.read.connect(self._on_read)
        self.desk.duplicated.connect(self._on_duplicated)
        self.desk.deleted.connect(self._on_deleted)
        self.desk.exported.connect(lambda path: self.toasts.say("ok", tr("Exported"), path))
        self.desk.imported.connect(self._on_imported)
        self.desk.failed.connect(self._on_failed)

    def shown(self) -> None:
        """Look at the files again."""
        self.desk.look()

    def _on_read(self) -> None:
        self.pane.show_items(self.desk.items, chosen=self.desk.wanted, edited=self.desk.edited)
        if self.editor is not None:
            self._open(self.desk.wanted)
        elif self._building.is_complete:
            self._building.start(self._build_editor())

    def _build_editor(self) -> Iterator[None]:
        """Load what the editor is made of, build it, and show the profile in it."""
        from diffusionforce.gui.pages.profile_editor import ProfileEditor  # noqa: PLC0415 - the list comes first.

        yield
        editor = ProfileEditor(dict(profile_shelf.titles_by_family(self.desk.items)))
        self._right.addWidget(editor)
        yield
        yield from editor.build()
        editor.set_compact(self.compact)
        editor.form.set_folded(self._preferences.text("profiles/advanced") != "open")
        editor.form.fold.clicked.connect(self._remember_fold)
        editor.changed.connect(self._on_changed)
        editor.save_asked.connect(self._save)
        editor.use_asked.connect(self._use)
        editor.duplicate_asked.connect(lambda: self.desk.duplicate(self.name))
        editor.export_asked.connect(lambda: self._export(self.name))
        editor.show_asked.connect(lambda: self._show_file(self.name))
        editor.menu_asked.connect(self._open_menu)
        editor.renamed.connect(lambda title: self.desk.rename(self.name, title))
        for part in editor.findChildren(QWidget):
            part.ensurePolished()  # Or all of them are when they are first seen.
        yield
        self.editor = editor
        self._open(self.desk.wanted)
        self._right.setCurrentWidget(editor)

    @property
    def is_filled(self) -> bool:
        """Whether a profile is in sight with all of its fields: they are built while the window goes on."""
        return self.editor is not None and bool(self.name) and self.editor.form.is_complete

    @property
    def draft(self) -> ProfileDraft | None:
        """The draft of the profile in sight."""
        return self.desk.draft(self.name)

    def choose(self, name: str) -> None:
        """Show a profile; one that is not read yet comes as soon as it is."""
        self.desk.want(name)
        if self.editor is not None and self.desk.item(name) is not None:
            self._open(name)

    def _open(self, name: str) -> None:
        self.name = name
        self.desk.want(name)
        item = self.desk.item(name)
        assert item is not None
        assert self.editor is not None
        self.pane.mark(chosen=name, edited=self.desk.edited)
        self.editor.show_item(item, self.desk.draft(name))

    def _on_changed(self) -> None:
        self.pane.mark(chosen=self.name, edited=self.desk.edited)
        self.desk.keep_soon()

    def _on_failed(self, error: UserError) -> None:
        self.toasts.say("err", error.sentence, error.hint)

    def _save(self) -> None:
        kept = tr("The run that goes on keeps its settings.") if self._is_training() else ""
        text = kept or f"{self.name}.toml"
        self.desk.save(self.name, then=lambda: self.toasts.say("ok", tr("Saved"), text))

    def _use(self) -> None:
        item, draft, name = self.desk.item(self.name), self.draft, self.name
        if item is None or draft is None:
            return
        if item.is_own and draft.edited:
            self.desk.save(name, then=lambda: self.use_asked.emit(name))
        else:
            self.use_asked.emit(name)

    def _on_duplicated(self) -> None:
        self.pane.search.clear()
        self.toasts.say("ok", tr("Duplicated"), tr("This copy is yours to change."))

    def _rename(self, name: str) -> None:
        self.choose(name)
        if self.editor is not None:
            self.editor.rename()

    def _on_deleted(self, item: ShelfItem, aside: Path) -> None:
        text = tr("The command line does not find it any more either.")
        title = tr("Deleted {title}").format(title=item.title)
        self.toasts.say("info", title, text, action=tr("Undo"), do=lambda: self.desk.restore(aside))

    def _export(self, name: str) -> None:
        item = self.desk.item(name)
        if item is None:
            return
        path, _ = QFileDialog.getSaveFileName(self, tr("Export the profile"), f"{name}.toml", "TOML (*.toml)")
        if path:
            self.desk.export_to(item, Path(path))

    def _browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, tr("Import a profile"), "", "TOML (*.toml)")
        if path:
            self.desk.bring(Path(path))

    def _on_imported(self, imported: Imported) -> None:
        if not imported.left_out:
            self.toasts.say("ok", tr("Imported"), f"{imported.name}.toml")
            return
        first, more = imported.left_out[0], len(imported.left_out) - 1
        title = tr("Imported without what is not understood")
        text = tr("{first} and {number} more").format(first=first, number=more) if more else first
        self.toasts.say("warn", title, text).setToolTip("\n".join(imported.left_out))

    def _show_file(self, name: str) -> None:
        item = self.desk.item(name)
        if item is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(item.path.parent)))

    def _open_menu(self, button: QWidget) -> None:
        item = self.desk.item(self.name)
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
        self.desk.bring(Path(dropped_path(event)))

    def hideEvent(self, event: QHideEvent) -> None:
        """Write down what is not saved, and stop forecasting."""
        super().hideEvent(event)
        self.desk.keep()
        if self.editor is not None:
            self.editor.rest()

    def set_compact(self, compact: bool) -> None:
        """Narrow the list in a narrow window."""
        super().set_compact(compact)
        self.pane.setFixedWidth(LIST_COMPACT_PX if compact else LIST_PX)
        if self.editor is not None:
            self.editor.set_compact(compact)
