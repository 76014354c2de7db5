"""The Gallery place: samples by prompt and step as they grow, one picture large, and before against after."""

from pathlib import Path

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QComboBox, QFrame, QStackedWidget

from diffusionforce.errors import UserError
from diffusionforce.gui.model.run_title import long_title
from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.gui.pages.gallery_compare import ComparePane
from diffusionforce.gui.pages.gallery_files import LoraFilesCard
from diffusionforce.gui.pages.gallery_large import LargeView
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import clear, column, holder, row
from diffusionforce.gui.widgets.notices import Banner, Empty
from diffusionforce.gui.widgets.sample_grid import SampleGrid, step_words
from diffusionforce.gui.widgets.segmented import Segmented
from diffusionforce.job import read_job
from diffusionforce.runs import RunFolder, list_runs, runs_root

FILES_PX, FILES_COMPACT_PX = 256, 236


class GalleryPage(Page):
    """Shows the samples of one run: the window's own, or an earlier one."""

    run_asked = Signal()

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self._store = store
        self._current: RunSession | None = None
        self._shown: RunSession | None = None
        self._opened: RunSession | None = None
        self.body.setSpacing(12)
        self.header = Header("Gallery", "Every row keeps its prompt and seed, so only the training changes.")
        self.runs = QComboBox()
        self.runs.setAccessibleName("Run")
        self.runs.setMinimumWidth(230)
        self.runs.activated.connect(self._on_run_chosen)
        self.folder = Button("Open folder", "folder")
        self.folder.clicked.connect(self._open_folder)
        self.header.add_actions(self.runs, self.folder)
        self.tabs = Segmented(("Grid", "Compare"))
        self.tabs.chosen.connect(self._on_tab)
        self._facts = Label("", "muted")
        self.grid = SampleGrid(store)
        self.grid.chosen.connect(self._show_bar)
        self.grid.opened.connect(self._open_large)
        self.compare = ComparePane(store)
        self.large = LargeView(store)
        self.large.closed.connect(self._close_large)
        self.large.moved.connect(self._on_large_moved)
        self.files = LoraFilesCard()
        self._bar_step, self._bar_prompt = Label("", "strong"), Elided("", "body2")
        self._stack = QStackedWidget()
        self._build()

    def _build(self) -> None:
        start = Button("Set up a run", "play", kind="primary")
        start.clicked.connect(self.run_asked)
        text = "The first row is drawn before training starts, so you can compare every later step with it."
        self._empty = Empty("grid", "Previews will appear here", text, actions=(start,))
        self._problem = column(gap=0)
        self.files.setMinimumWidth(FILES_PX)
        # The table takes what it has use for, the files the rest.
        table = holder(row((self.grid, 1000), (self.files, 1), gap=16))
        grid = holder(column((table, 1), self._make_bar(), gap=12))
        self._tab_row = holder(row(self.tabs, None, self._facts))
        for widget in (self._empty, grid, self.compare, self.large):
            self._stack.addWidget(widget)
        self._grid_page = grid
        self.body.addWidget(self.header)
        self.body.addLayout(self._problem)
        self.body.addWidget(self._tab_row)
        self.body.addWidget(self._stack, 1)
        self.refresh()

    def _make_bar(self) -> QFrame:
        bar = QFrame()
        bar.setObjectName("bar")
        compare = Button("Compare with before", "compare")
        compare.clicked.connect(self._compare_chosen)
        copy = Button("Copy prompt", "copy", kind="ghost")
        copy.clicked.connect(lambda: QApplication.clipboard().setText(self._bar_prompt.text()))
        layout = row(self._bar_step, (self._bar_prompt, 1), compare, copy, gap=10, margins=(14, 8, 10, 8))
        bar.setLayout(layout)
        return bar

    def show_current(self, session: RunSession | None) -> None:
        """Follow the run of the window, unless the user looks at an earlier one."""
        if self._current is not None:
            self._current.changed.disconnect(self._on_changed)
        self._current = session
        if session is not None:
            session.changed.connect(self._on_changed)
            self._show(session)

    def open_run(self, path: Path) -> None:
        """Show the samples of another run."""
        if self._current is not None and path == self._current.root:
            self._show(self._current)
            return
        clear(self._problem)
        try:
            session = RunSession.open(path, parent=self)
        except UserError as error:
            self._problem.addWidget(Banner("err", error.sentence, error.hint))
            return
        self._close_opened()
        self._opened = session
        session.changed.connect(self._on_changed)
        self._show(session)

    def _close_opened(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened.deleteLater()
            self._opened = None

    def _show(self, session: RunSession) -> None:
        self._shown = session
        if session is self._current:
            self._close_opened()
        self.tabs.choose(0)
        self._stack.setCurrentWidget(self._grid_page)
        self._fill_runs()
        self.refresh()

    def _on_changed(self) -> None:
        if self.isVisible():
            self.refresh()

    def refresh(self) -> None:
        """Show the samples as they are now."""
        session = self._shown
        has_samples = session is not None and bool(session.model.samples.drawn_steps)
        self._tab_row.setVisible(has_samples)
        self.runs.setVisible(self.runs.count() > 0)
        self.folder.setVisible(session is not None)
        if session is None or not has_samples:
            self._stack.setCurrentWidget(self._empty)
            return
        if self._stack.currentWidget() is self._empty:
            self._stack.setCurrentWidget(self._grid_page)
        model, table = session.model, session.model.samples
        self.grid.show_table(table, session.root)
        self.compare.show_table(table, session.root)
        self.large.show_table(table, session.root)
        self.files.show_files(model, session.root)
        self._facts.set_text(self._facts_words(table, session))
        self._show_bar()

    def _facts_words(self, table: SampleTable, session: RunSession) -> str:
        seeds = sorted({sample_row.seed for sample_row in table.rows if sample_row.seed is not None})
        parts = [f"Seed {seeds[0]}" if len(seeds) == 1 else "One seed a row"] if seeds else []
        if session.model.job is not None:
            samples = session.model.job.profile.samples
            parts += [f"{samples.num_steps} steps", f"guidance {samples.guidance:g}"]
        return " · ".join(parts)

    def _show_bar(self) -> None:
        table, cell, step = self._table(), self.grid.cell, self.grid.step
        if table is None or step is None or cell.row >= len(table.rows):
            return
        self._bar_step.set_text(step_words(step))
        self._bar_prompt.set_text(table.rows[cell.row].prompt)

    def _table(self) -> SampleTable | None:
        return self._shown.model.samples if self._shown is not None else None

    def _on_tab(self, index: int) -> None:
        self._stack.setCurrentWidget(self.compare if index else self._grid_page)
        if index:
            self.compare.setFocus()

    def _compare_chosen(self) -> None:
        step = self.grid.step
        self.compare.choose(row=self.grid.cell.row, right_step=step if step else None)
        self.tabs.choose(1)
        self._on_tab(1)

    def _open_large(self) -> None:
        table, step = self._table(), self.grid.step
        if table is None or step is None or step not in table.rows[self.grid.cell.row].paths:
            return
        self.large.choose(self.grid.cell)
        self._stack.setCurrentWidget(self.large)
        self._tab_row.hide()
        self.large.setFocus()

    def _close_large(self) -> None:
        self._stack.setCurrentWidget(self._grid_page)
        self._tab_row.show()
        self.grid.setFocus()

    def _on_large_moved(self) -> None:
        self.grid.choose(self.large.cell)

    def _fill_runs(self) -> None:
        """List the runs that can be looked at, the window's own first."""
        self.runs.clear()
        roots: list[Path] = []
        if self._current is not None:
            live = "" if self._current.is_over else " · live"
            self.runs.addItem(f"{self._current.long_title}{live}", str(self._current.root))
            roots.append(self._current.root)
        for folder in list_runs(runs_root()):
            if folder.root not in roots:
                self.runs.addItem(_folder_title(folder), str(folder.root))
                roots.append(folder.root)
        if self._shown is not None:
            if self._shown.root not in roots:
                self.runs.addItem(self._shown.long_title, str(self._shown.root))
                roots.append(self._shown.root)
            self.runs.setCurrentIndex(roots.index(self._shown.root))

    def _on_run_chosen(self, index: int) -> None:
        self.open_run(Path(str(self.runs.itemData(index))))

    def _open_folder(self) -> None:
        if self._shown is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._shown.root / "samples")))

    def set_compact(self, compact: bool) -> None:
        """Narrow the list of files in a narrow window."""
        super().set_compact(compact)
        self.files.setMinimumWidth(FILES_COMPACT_PX if compact else FILES_PX)

    def shown(self) -> None:
        """Show what happened while the page was hidden; without a run of its own the newest one on disk."""
        if self._shown is None:
            newest = next((folder for folder in list_runs(runs_root()) if folder.num_samples()), None)
            if newest is not None:
                self.open_run(newest.root)
        self._fill_runs()
        self.refresh()


def _folder_title(folder: RunFolder) -> str:
    try:
        return long_title(folder.root, read_job(folder.job_path))
    except UserError:
        return folder.root.name
