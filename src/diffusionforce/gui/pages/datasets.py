"""The Datasets place: folders of pictures with captions, what is wrong with them, and what the model will see."""

from pathlib import Path

from PySide6.QtCore import QMimeData, QTimer, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QHideEvent,
    QKeySequence,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QStackedWidget, QVBoxLayout, QWidget

from diffusionforce.gui import dataset_reading
from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import training_size
from diffusionforce.gui.model.dataset_library import DatasetLibrary
from diffusionforce.gui.model.dataset_table import SORTS, Filter, FindingLine, Sort
from diffusionforce.gui.pages.datasets_findings import FindingsCard
from diffusionforce.gui.pages.datasets_inspector import Inspector
from diffusionforce.gui.pages.datasets_list import DatasetList
from diffusionforce.gui.pages.datasets_panels import FoldersPanel, TriggerPanel
from diffusionforce.gui.pages.datasets_tabs import CaptionsTab, ShapesTab
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.thumbnails import Thumbnails
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.count_tabs import CountTabs
from diffusionforce.gui.widgets.layout import add, clear, column, holder, row
from diffusionforce.gui.widgets.notices import Banner, Empty
from diffusionforce.gui.widgets.thumb_grid import ThumbGrid
from diffusionforce.gui.widgets.toast import Toasts

TABS = (
    ("all", "All"),
    ("left_out", "Left out"),
    ("fix", "To fix"),
    ("shapes", "Shapes"),
    ("captions", "Captions"),
)
SEARCH_AFTER_MS = 150
NARROW_PX, CENTRE_PX = 1200, 340
_EMPTY = (
    "Drop a folder of pictures here. Captions are text files with the same name. Your files are only read, and never "
    "changed without asking."
)


class DatasetsPage(Page):
    """Shows one dataset at a time."""

    train_asked = Signal(str)

    def __init__(self, preferences: Preferences, _store: PictureStore) -> None:
        super().__init__()
        self.body.setContentsMargins(0, 0, 0, 0)
        self.setAcceptDrops(True)
        self._preferences = preferences
        self.library = DatasetLibrary()
        for folder in reversed(preferences.recent_datasets):
            self.library.add(folder)
        self.desk = DatasetDesk(self.library, self)
        self.thumbnails = Thumbnails(self)
        self._what, self._searches = "", False
        self._is_narrow: bool | None = None
        self._make_parts()
        self._lay_out()
        self._connect()
        self._show()

    def _make_parts(self) -> None:
        self.list = DatasetList(self.library, self.thumbnails)
        self.header = Header("", "")
        self.undo = Button("", "undo", kind="ghost", tip="Undo (Ctrl+Z)")
        self.search_open = Button("", "search", kind="ghost", tip="Find in names and captions (Ctrl+F)")
        self.folders = Button("", "folder", kind="ghost", size="small", tip="Folders and repeats")
        self.trigger = Button("Trigger word", "tag", tip="The word that calls the subject")
        self.trigger_icon = Button("", "tag", tip="Trigger word")
        self.again = Button("", "refresh", tip="Check again (F5)")
        self.train = Button("Train with this", "play", kind="primary")
        self.header.chips.addWidget(self.folders)
        self.header.add_actions(self.undo, self.search_open, self.trigger, self.trigger_icon, self.again, self.train)
        self.trigger_panel, self.folders_panel = TriggerPanel(self.desk), FoldersPanel(self.desk)
        self.findings = FindingsCard(self.desk)
        self.tabs = CountTabs(TABS)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Find in names and captions")
        self.search.setAccessibleName("Find in names and captions")
        self.search.setClearButtonEnabled(True)
        self.sort = QComboBox()
        self.sort.setAccessibleName("Order")
        for key, words in SORTS:
            self.sort.addItem(words, key)
        self.only = Chip()
        self.all_files = Button("Show all", "x", kind="ghost", size="small")
        self.grid = ThumbGrid(self.thumbnails)
        self.inspector = Inspector(self.desk, self.thumbnails)
        self.inspector.offer_sizes(training_size.size_of(self._preferences.profile))
        self.shapes = ShapesTab(self.desk, size=lambda: self.inspector.size_px)
        self.captions = CaptionsTab(self.desk)
        self.toasts = Toasts(self)

    def _lay_out(self) -> None:
        choose = Button("Choose a folder", "folder", kind="primary")
        choose.clicked.connect(self.list.browse)
        self._empty = Empty("images", "No datasets yet", _EMPTY, actions=(choose,))
        self._problem = QVBoxLayout()
        self._no_match = Empty("search", "No file here", "No file passes this filter. Choose another one above.")
        self._views = QStackedWidget()
        for view in (self.grid, self.shapes, self.captions, self._no_match):
            self._views.addWidget(view)
        self._filter_row = holder(row((self.search, 1), self.only, self.all_files, None, gap=8))
        tools = row(self.tabs, None, self.sort, gap=8)
        self._content = holder(
            column(
                self.trigger_panel,
                self.folders_panel,
                self.findings,
                tools,
                self._filter_row,
                (self._views, 1),
                gap=12,
            )
        )
        centre = QWidget()
        centre.setObjectName("page")
        # Less than its parts ask for, so that the window can be made so small that they become narrow.
        centre.setMinimumSize(CENTRE_PX, CENTRE_PX)
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(22, 18, 18, 8)
        layout.setSpacing(14)
        self._rest = holder(column())
        add(layout, self.header, self._problem, (self._content, 1), (self._empty, 1), (self._rest, 1))
        both = QHBoxLayout()
        both.setSpacing(0)
        add(both, self.list, (centre, 1), self.inspector)
        self.body.addLayout(both)

    def _connect(self) -> None:
        desk = self.desk
        desk.opened.connect(self._on_opened)
        desk.changed.connect(self._show)
        desk.captions_changed.connect(self._on_captions)
        desk.said.connect(self._say)
        for panel in (self.trigger_panel, self.folders_panel):
            panel.turned.connect(self._make_room)
        self.list.chosen.connect(self.choose)
        self.list.removed.connect(self._remove)
        self.undo.clicked.connect(desk.undo)
        self.again.clicked.connect(desk.check_again)
        self.folders.clicked.connect(lambda: self._turn(self.folders_panel))
        for button in (self.trigger, self.trigger_icon):
            button.clicked.connect(lambda: self._turn(self.trigger_panel))
        self.search_open.clicked.connect(self._open_search)
        self.train.clicked.connect(lambda: self.train_asked.emit(desk.choice))
        self.findings.files_asked.connect(self._show_kind)
        self.findings.write_asked.connect(self._write_captions)
        self.tabs.chosen.connect(self._on_tab)
        self.all_files.clicked.connect(self._show_all)
        self.sort.currentIndexChanged.connect(self._fill)
        self._searching = QTimer(self)
        self._searching.setSingleShot(True)
        self._searching.setInterval(SEARCH_AFTER_MS)
        self._searching.timeout.connect(self._fill)
        self.search.textChanged.connect(lambda _text: self._searching.start())
        self.grid.chosen.connect(lambda: self.inspector.show_rows(self.grid.chosen_rows))
        self.grid.deleted.connect(self.inspector.set_aside)
        self.inspector.stepped.connect(self.grid.step)
        self.inspector.size_changed.connect(self.shapes.refresh)
        for keys, deed in (
            ("Ctrl+Z", desk.undo),
            ("Ctrl+O", self.list.browse),
            ("F5", desk.check_again),
            ("Ctrl+F", self._open_search),
            ("Ctrl+S", self.inspector.save),
        ):
            QShortcut(QKeySequence(keys), self, deed)

    def shown(self) -> None:
        """List the datasets again; open one the first time."""
        self.inspector.offer_sizes(training_size.size_of(self._preferences.profile))
        if not self.desk.choice:
            own = [entry.choice for entry in self.library.own]
            last = self._preferences.dataset
            choice = last or next(iter([*own, *dataset_reading.demo_choices()]), "")
            if choice:
                self.choose(choice)
        self.list.show_choice(self.desk.choice)

    def choose(self, choice: str) -> None:
        """Open a dataset: `demo:NAME`, a folder or a set."""
        self.inspector.save()
        if not choice.startswith("demo:"):
            self.library.add(choice)
        self.desk.open(choice)

    def _remove(self, choice: str) -> None:
        self.library.remove(choice)
        self._preferences.forget_folder(choice)
        if choice == self.desk.choice:
            self.choose(next(iter([entry.choice for entry in self.library.own] + dataset_reading.demo_choices()), ""))
        self.list.show_choice(self.desk.choice)

    def _on_opened(self) -> None:
        self._what, self._searches = "", False
        self.tabs.choose("all")
        self.search.clear()
        self.thumbnails.forget()
        self.trigger_panel.hide()
        self.folders_panel.hide()
        self.list.show_choice(self.desk.choice)
        self._show()

    def _show(self) -> None:
        """Show the open dataset as it is known now."""
        desk = self.desk
        is_open, table = bool(desk.choice), desk.table
        self._empty.setVisible(not is_open)
        self.inspector.setVisible(is_open)
        self._content.setVisible(is_open and desk.problem is None)
        self._rest.setVisible(is_open and desk.problem is not None)
        self.header.setVisible(is_open)
        clear(self._problem)
        if desk.problem is not None:
            self._problem.addWidget(self._banner())
        where = ", ".join(folder.path for folder in desk.folders) if not desk.is_read_only else "comes with the app"
        self.header.set_title(desk.title if is_open else "", where or " ")
        busy = desk.is_checking or desk.is_repairing
        self.again.allow(bool(desk.folders) and not busy, reason="The files are being checked.")
        why = desk.problem.sentence if desk.problem is not None else "Nothing in it can be trained on."
        self.train.allow(
            bool(table.used) or (busy and bool(table.rows)), reason="The files are being read." if busy else why
        )
        for button in (self.trigger, self.trigger_icon):
            button.allow(table.is_checked and is_open, reason="The files are being checked.")
        self.folders.allow(bool(desk.folders), reason="The files are being checked.")
        self._show_undo()
        self.findings.show_desk()
        counts = table.counts()
        self.tabs.show_counts({"all": counts["all"], "left_out": counts["left_out"], "fix": counts["fix"]})
        if table.is_checked and is_open and desk.problem is None:
            self._preferences.remember_folder(desk.choice)
            self.list.show_choice(desk.choice)
        self._fill()

    def _banner(self) -> Banner:
        error = self.desk.problem
        assert error is not None
        find = Button("Find folder", "folder", size="small")
        find.clicked.connect(self.list.browse)
        remove = Button("Remove from the list", kind="ghost", size="small")
        remove.clicked.connect(lambda: self._remove(self.desk.choice))
        return Banner("err", error.sentence, error.hint, actions=(find, remove))

    def _show_undo(self) -> None:
        label = self.desk.undoable
        self.undo.allow(bool(label), reason="Nothing to undo")
        if label:
            self.undo.setToolTip(f"Undo: {label} (Ctrl+Z)")
        self.undo.setVisible(not self.desk.is_read_only)

    def _fill(self) -> None:
        """Show what the tab, the search and the order let through."""
        tab = self.tabs.key
        shows_files = tab not in {"shapes", "captions"}
        self.sort.setVisible(shows_files)
        self.search.setVisible(self._searches)
        self.only.setVisible(bool(self._what))
        self.all_files.set_text("Show all" if self._what else "Close the search")
        self._filter_row.setVisible(shows_files and (bool(self._what) or self._searches))
        if tab == "shapes":
            self.shapes.refresh()
            self._views.setCurrentWidget(self.shapes)
        elif tab == "captions":
            self.captions.refresh()
            self._views.setCurrentWidget(self.captions)
        else:
            filter_: Filter = "left_out" if tab == "left_out" else "fix" if tab == "fix" else "all"
            sort: Sort = self.sort.currentData()
            rows = self.desk.table.picked(filter_, sort=sort, what=self._what, search=self.search.text())
            self._views.setCurrentWidget(self.grid if rows or not self.desk.table.rows else self._no_match)
            self.grid.show_rows(rows)
            if self.grid.current is None and rows and self.desk.table.is_checked:
                self.grid.choose(0)

    def _on_tab(self, _key: str) -> None:
        self._what = ""
        self._fill()

    def _show_kind(self, what: str) -> None:
        self._what = what
        self.tabs.choose("all")
        line = next((line for line in self.desk.table.lines() if line.kind.key == what), None)
        if line is not None:
            self.only.set(line.heading, line.tone, line.tone)
        self._fill()
        if what and self.grid.rows:
            self.grid.choose(0)

    def _show_all(self) -> None:
        self._searches = False
        self.search.clear()
        self._show_kind("")

    def _open_search(self) -> None:
        self._searches = True
        if self.tabs.key in {"shapes", "captions"}:
            self.tabs.choose("all")
        self._fill()
        self.search.setFocus()

    def _write_captions(self, line: FindingLine) -> None:
        self._show_kind(line.kind.key)
        self.inspector.focus_caption()

    def _turn(self, panel: TriggerPanel | FoldersPanel) -> None:
        if panel.isVisible():
            panel.hide()
        else:
            for other in (self.trigger_panel, self.folders_panel):
                other.hide()
            panel.open()

    def _make_room(self) -> None:
        """Let a panel stand in the place of the findings: there is no room for both in a low window."""
        self.findings.setVisible(self.trigger_panel.isHidden() and self.folders_panel.isHidden())

    def _on_captions(self) -> None:
        self._show_undo()
        table = self.desk.table
        counts = table.counts()
        self.tabs.show_counts({"all": counts["all"], "left_out": counts["left_out"], "fix": counts["fix"]})
        self.findings.show_desk()
        if self.tabs.key == "captions":
            self.captions.refresh()
        else:
            self.grid.take_rows({row.path: row for row in table.rows})

    def _say(self, tone: str, title: str, text: str, undoable: bool) -> None:
        if undoable:
            self.toasts.say(tone, title, text, action="Undo", do=self.desk.undo)
        else:
            self.toasts.say(tone, title, text)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Welcome folders, and files by the folder that they lie in."""
        if dropped_folders(event.mimeData()):
            self.list.show_dropping(True)
            event.acceptProposedAction()

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:
        """Forget what was dragged."""
        self.list.show_dropping(False)

    def dropEvent(self, event: QDropEvent) -> None:
        """Add the folders and open the first; into the folders of the open dataset where these are shown."""
        self.list.show_dropping(False)
        folders = dropped_folders(event.mimeData())
        if not folders:
            return
        event.acceptProposedAction()
        if self.folders_panel.isVisible():
            for folder in folders:
                self.folders_panel.take(folder)
            return
        for folder in folders:
            self.library.add(folder)
        self.choose(folders[0])

    def hideEvent(self, event: QHideEvent) -> None:
        """Save what was typed; end a check when the window closes."""
        self.inspector.save()
        if not self.window().isVisible():
            self.desk.stop()
        super().hideEvent(event)

    def set_compact(self, compact: bool) -> None:
        """Shorten words and narrow panes in a narrow window."""
        super().set_compact(compact)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Narrow the panes where three of them would be too many for the width."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        narrow = self.compact or self.width() < NARROW_PX
        if narrow == self._is_narrow:
            return
        self._is_narrow = narrow
        for part in (self.list, self.inspector, self.captions, self.findings, self.tabs):
            part.set_compact(narrow)
        self.trigger.setVisible(not narrow)
        self.trigger_icon.setVisible(narrow)
        self.sort.setFixedWidth(116 if narrow else 132)


def dropped_folders(data: QMimeData) -> list[str]:
    """Return the folders among what is dragged; a file stands for the folder that it lies in."""
    found: dict[str, None] = {}
    for url in data.urls():
        path = Path(url.toLocalFile()) if url.isLocalFile() else None
        if path is not None and path.is_dir():
            found[str(path)] = None
        elif path is not None and path.is_file():
            found[str(path.parent)] = None
    return list(found)
