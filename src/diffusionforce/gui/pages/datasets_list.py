"""The list of datasets at the left of the page: those with the app and the user's own."""

from pathlib import Path

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QFileDialog, QFrame, QMenu, QVBoxLayout

from diffusionforce.gui.model import dataset_title
from diffusionforce.gui.model.dataset_library import DatasetLibrary
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.thumbnails import Thumbnails
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label, set_property
from diffusionforce.gui.widgets.layout import add, clear, column, holder, row, scrolling
from diffusionforce.gui.widgets.list_item import ListItem
from diffusionforce.job import shipped_dir

WIDTH_PX, COMPACT_PX = 240, 188


class DatasetList(QFrame):
    """Names, with what is known of each."""

    chosen = Signal(str)
    removed = Signal(str)

    def __init__(self, library: DatasetLibrary, thumbnails: Thumbnails) -> None:
        super().__init__()
        self.setObjectName("pane")
        self.setFixedWidth(WIDTH_PX)
        self._library, self._thumbnails = library, thumbnails
        self._group = QButtonGroup(self)
        self._names = QVBoxLayout()
        self._names.setSpacing(2)
        self._items: dict[str, tuple[ListItem, str]] = {}
        self._choice = ""
        self.add_folder = Button("", "plus", kind="ghost", tip="Add a folder (Ctrl+O)")
        self.add_folder.clicked.connect(self.browse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 18, 10, 14)
        add(layout, row(Label("Datasets", "title"), None, self.add_folder), 6)
        add(layout, (scrolling(holder(column(self._names, None)), name="clear"), 1))
        thumbnails.arrived.connect(self._on_arrived)

    def show_choice(self, choice: str) -> None:
        """List the datasets anew, with one of them marked."""
        self._choice = choice
        clear(self._names)
        self._items = {}
        groups = (
            ("WITH THE APP", [self._library.entry(choice) for choice in dataset_title.demo_choices()]),
            (noted("MINE"), self._library.own),
        )
        for title, entries in reversed(groups):
            if entries:
                label = Label(title, "caption")
                label.setContentsMargins(4, 8, 0, 2)
                self._names.addWidget(label)
            for entry in entries:
                name = (
                    dataset_title.choice_title(entry.choice)
                    if entry.choice.startswith("demo:")
                    else self._library.title(entry.choice)
                )
                note = entry.note or ("comes with the app" if entry.choice.startswith("demo:") else "not checked yet")
                item = ListItem(tr(name), tr(note), icon="images", mark=entry.mark, tone=entry.mark, wraps=True)
                item.setObjectName(entry.choice)
                item.setChecked(entry.choice == choice)
                item.clicked.connect(lambda _checked=False, c=entry.choice: self.chosen.emit(c))
                if not entry.choice.startswith("demo:"):
                    item.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
                    item.customContextMenuRequested.connect(
                        lambda at, i=item, c=entry.choice: self._open_menu(i, c, at)
                    )
                self._group.addButton(item)
                self._names.addWidget(item)
                self._items[entry.choice] = (item, entry.picture or _demo_picture(entry.choice))
                self._dress(entry.choice)

    def _open_menu(self, item: ListItem, choice: str, at: QPoint) -> None:
        menu = QMenu(item)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Remove from the list")).triggered.connect(lambda: self.removed.emit(choice))
        menu.popup(item.mapToGlobal(at))

    def _dress(self, choice: str) -> None:
        item, path = self._items[choice]
        picture = self._thumbnails.get(Path(path), edge_px=96) if path else None
        if picture is not None:
            item.set_picture(picture)

    def _on_arrived(self, path: str) -> None:
        for choice, (_, picture) in self._items.items():
            if picture == path:
                self._dress(choice)

    def show_dropping(self, dropping: bool) -> None:
        """Show that what is dragged would be taken."""
        set_property(self, "dropping", "1" if dropping else "")

    def browse(self) -> None:
        """Let the user choose a folder."""
        path = QFileDialog.getExistingDirectory(self, "Choose a folder of pictures with captions")
        if path:
            self.chosen.emit(path)

    def set_compact(self, compact: bool) -> None:
        """Narrow the list in a narrow window."""
        self.setFixedWidth(COMPACT_PX if compact else WIDTH_PX)


def _demo_picture(choice: str) -> str:
    """Return a picture of a demo that was not checked yet; the user's own folders are not looked into for it."""
    if not choice.startswith("demo:"):
        return ""
    folder = shipped_dir("demo_datasets") / choice.removeprefix("demo:")
    return str(next(iter(sorted(folder.glob("*.png"))), ""))
