"""The files of the open dataset: filters, search and order over the grid, and two tabs with what is said of all."""

from collections.abc import Iterator

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QComboBox, QLineEdit, QStackedWidget, QWidget

from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model.dataset_table import SORTS, Filter, Sort
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.pages.datasets_inspector import Inspector
from diffusionforce.gui.pages.datasets_tabs import CaptionsTab, ShapesTab
from diffusionforce.gui.thumbnails import Thumbnails
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.count_tabs import CountTabs
from diffusionforce.gui.widgets.layout import column, holder, row
from diffusionforce.gui.widgets.notices import Empty
from diffusionforce.gui.widgets.thumb_grid import ThumbGrid

TABS = (
    ("all", noted("All")),
    ("left_out", "Left out"),
    ("fix", "To fix"),
    ("shapes", noted("Shapes")),
    ("captions", noted("Captions")),
)
SEARCH_AFTER_MS = 150
SORT_PX, SORT_COMPACT_PX = 140, 126


class FilesPane(QWidget):
    """Shows what a tab, the search and the order let through."""

    def __init__(self, desk: DatasetDesk, thumbnails: Thumbnails, inspector: Inspector) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._desk, self._inspector = desk, inspector
        self._thumbnails = thumbnails
        self._what, self._searches = "", False

    def build(self) -> Iterator[None]:
        """Build it in pieces, once it has its place in the window."""
        self._build_tools()
        self._views = QStackedWidget()
        self.setLayout(
            column(row(self.tabs, None, self.sort, gap=8), self._filter_row, (self._views, 1), gap=12),
        )
        self.grid = ThumbGrid(self._thumbnails)
        self._views.addWidget(self.grid)
        yield
        self.shapes = ShapesTab(self._desk, size=lambda: self._inspector.seen.usual_size)
        self._views.addWidget(self.shapes)
        yield
        self.captions = CaptionsTab(self._desk)
        self._views.addWidget(self.captions)
        yield
        self.no_match = Empty("search", "No file here", "No file passes this filter. Choose another one above.")
        self.nothing = Empty(
            "images", "No pictures in this folder", "Put pictures with captions into it, and check again."
        )
        self._views.addWidget(self.no_match)
        self._views.addWidget(self.nothing)
        self._connect()

    def _build_tools(self) -> None:
        """Build what stands over the files."""
        self.tabs = CountTabs(TABS)
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Find in names and captions"))
        self.search.setAccessibleName(tr("Find in names and captions"))
        self.search.setClearButtonEnabled(True)
        self.sort = QComboBox()
        self.sort.setAccessibleName(tr("Order"))
        for key, words in SORTS:
            self.sort.addItem(tr(words), key)
        self.only = Chip()
        self.all_files = Button("Show all", "x", kind="ghost", size="small")
        self._filter_row = holder(row((self.search, 1), self.only, self.all_files, None, gap=8))

    def _connect(self) -> None:
        self._searching = QTimer(self)
        self._searching.setSingleShot(True)
        self._searching.setInterval(SEARCH_AFTER_MS)
        self._searching.timeout.connect(self.fill)
        self.search.textChanged.connect(lambda _text: self._searching.start())
        self.tabs.chosen.connect(self._on_tab)
        self.all_files.clicked.connect(self.show_all)
        self.sort.currentIndexChanged.connect(self.fill)
        self.grid.chosen.connect(lambda: self._inspector.show_rows(self.grid.chosen_rows))
        self.grid.deleted.connect(self._inspector.set_aside)
        self._inspector.stepped.connect(self.grid.step)
        self._inspector.seen.size_changed.connect(self.shapes.refresh)

    def reset(self) -> None:
        """Start with all files, because another dataset was opened."""
        self._what, self._searches = "", False
        self.tabs.choose("all")
        self.search.clear()

    def show_counts(self) -> None:
        """Say on the tabs how many files each has."""
        counts = self._desk.table.counts()
        self.tabs.show_counts({"all": counts["all"], "left_out": counts["left_out"], "fix": counts["fix"]})

    def fill(self) -> None:
        """Show what is to be shown now."""
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
            self._fill_grid("left_out" if tab == "left_out" else "fix" if tab == "fix" else "all")

    def _fill_grid(self, filter_: Filter) -> None:
        table, sort = self._desk.table, self.sort.currentData()
        chosen: Sort = sort
        rows = table.picked(filter_, sort=chosen, what=self._what, search=self.search.text())
        if rows or not table.is_checked:
            self._views.setCurrentWidget(self.grid)
        else:
            self._views.setCurrentWidget(self.no_match if table.counted else self.nothing)
        self.grid.show_rows(rows)
        if self.grid.current is None and rows and table.is_checked:
            self.grid.choose(0)

    def _on_tab(self, _key: str) -> None:
        self._what = ""
        self.fill()

    def show_kind(self, what: str) -> None:
        """Show the files of one kind of finding; of all where it is empty."""
        self._what = what
        self.tabs.choose("all")
        line = next((line for line in self._desk.table.lines() if line.kind.key == what), None)
        if line is not None:
            self.only.set(line.heading, line.tone, line.tone)
        self.fill()
        if what and self.grid.rows:
            self.grid.choose(0)

    def show_all(self) -> None:
        """Show all files, and close the search."""
        self._searches = False
        self.search.clear()
        self.show_kind("")

    def open_search(self) -> None:
        """Let the user search."""
        self._searches = True
        if self.tabs.key in {"shapes", "captions"}:
            self.tabs.choose("all")
        self.fill()
        self.search.setFocus()

    def take_captions(self) -> None:
        """Show captions that were changed."""
        self.show_counts()
        if self.tabs.key == "captions":
            self.captions.refresh()
        else:
            self.grid.take_rows({row.path: row for row in self._desk.table.rows})

    def set_compact(self, compact: bool) -> None:
        """Shorten words in a narrow window."""
        for part in (self.captions, self.tabs):
            part.set_compact(compact)
        self.sort.setFixedWidth(SORT_COMPACT_PX if compact else SORT_PX)
