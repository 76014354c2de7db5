"""The list of profiles: the user's own, the built-in ones, a search, and what can be done with each."""

from collections.abc import Collection

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QFrame, QMenu, QVBoxLayout

from diffusionforce.gui.model.language import key_names, tr
from diffusionforce.gui.model.profile_shelf import ShelfItem
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import add, clear, column, holder, row, scrolling
from diffusionforce.gui.widgets.list_item import ListItem
from diffusionforce.gui.widgets.search_line import SearchLine

LIST_PX, LIST_COMPACT_PX = 288, 232
ENGINE_NOTES = {"pocket": "runs on any computer", "musubi": "needs a graphics card"}


class ProfilePane(QFrame):
    """Lists the profiles."""

    chosen = Signal(str)
    import_asked = Signal()
    new_asked = Signal(str)
    duplicate_asked = Signal(str)
    rename_asked = Signal(str)
    delete_asked = Signal(str)
    export_asked = Signal(str)
    show_asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("pane")
        self.setFixedWidth(LIST_PX)
        self._items: tuple[ShelfItem, ...] = ()
        self._chosen = ""
        self._edited: frozenset[str] = frozenset()
        self._group = QButtonGroup(self)
        self.bring = Button("", "download", kind="ghost", tip="Import a profile file")
        self.bring.clicked.connect(self.import_asked)
        self.new = Button("", "plus", kind="ghost", tip="New profile from a built-in one")
        self.new.clicked.connect(self._open_new_menu)
        self.search = SearchLine(tr("Find a profile"))
        self.search.textChanged.connect(self._fill)
        self._names = column(gap=2, margins=(0, 0, 10, 0))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 18, 4, 14)
        layout.setSpacing(8)
        layout.addLayout(row(Label("Profiles", "title"), None, self.bring, self.new, 10, gap=2))
        layout.addLayout(row(self.search, 10, gap=0))
        layout.addWidget(scrolling(holder(self._names), name="clear"), 1)

    def show_items(self, items: tuple[ShelfItem, ...], *, chosen: str, edited: Collection[str]) -> None:
        """Show the profiles; those in `edited` have changes that are not saved."""
        self._items, self._chosen, self._edited = items, chosen, frozenset(edited)
        self._fill()

    def mark(self, *, chosen: str, edited: Collection[str]) -> None:
        """Show which profile is chosen, and which have changes that are not saved."""
        if frozenset(edited) != self._edited:
            self.show_items(self._items, chosen=chosen, edited=edited)
            return
        self._chosen = chosen
        for button in self._group.buttons():
            button.setChecked(button.objectName() == chosen)

    def _fill(self) -> None:
        clear(self._names)
        found = [item for item in self._items if item.matches(self.search.text())]
        for is_own, title in ((True, tr("Mine")), (False, tr("Built in"))):
            group = [item for item in found if item.is_own == is_own]
            if group:
                add(self._names, Label(title.upper(), "caption"))
            for item in group:
                self._names.addWidget(self._line(item))
            if group:
                self._names.addSpacing(10)
        if not found and self._items:
            text = tr("No profile is called that.")
            self._names.addWidget(Label(text, "body2", wrap=True))
        self._names.addStretch(1)

    def _line(self, item: ShelfItem) -> ListItem:
        line = ListItem(item.title, self._note(item), mark="" if item.is_own else "lock", wraps=True)
        line.setObjectName(item.name)
        line.setChecked(item.name == self._chosen)
        line.clicked.connect(lambda: self.chosen.emit(item.name))
        line.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        line.customContextMenuRequested.connect(lambda at: self._open_menu(item, line.mapToGlobal(at)))
        self._group.addButton(line)
        return line

    def _note(self, item: ShelfItem) -> str:
        if item.profile is None:
            return tr("cannot be read")
        if item.name in self._edited:
            return tr("changes are not saved")
        if not item.is_own:
            return tr(ENGINE_NOTES[item.profile.model.engine])
        titles = {other.name: other.title for other in self._items if not other.is_own}
        base = titles.get(item.profile.based_on, "")
        return tr("copy of {title}").format(title=base) if base else tr("your own")

    def _open_menu(self, item: ShelfItem, at: QPoint) -> None:
        self.menu_of(item).popup(at)

    def menu_of(self, item: ShelfItem) -> QMenu:
        """Return the menu of a profile."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for words, shortcut, signal, allowed in (
            (tr("Duplicate"), "Ctrl+D", self.duplicate_asked, item.profile is not None),
            (tr("Rename"), "F2", self.rename_asked, item.is_own and item.profile is not None),
            (tr("Export…"), "", self.export_asked, item.profile is not None),
            (tr("Show the file"), "", self.show_asked, True),
            (tr("Delete"), "Del", self.delete_asked, item.is_own),
        ):
            if words == tr("Delete"):
                menu.addSeparator()
            action = menu.addAction(f"{words}\t{key_names(shortcut)}" if shortcut else words)
            action.setEnabled(allowed)
            action.triggered.connect(lambda _checked=False, ask=signal: ask.emit(item.name))
        return menu

    def _open_new_menu(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for item in self._items:
            if not item.is_own and item.profile is not None:
                action = menu.addAction(item.title)
                action.triggered.connect(lambda _checked=False, name=item.name: self.new_asked.emit(name))
        menu.popup(self.new.mapToGlobal(self.new.rect().bottomLeft()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Delete the chosen profile with Del."""
        if event.key() == Qt.Key.Key_Delete and self._chosen:
            self.delete_asked.emit(self._chosen)
            return
        super().keyPressEvent(event)
