"""The Gallery place: samples by prompt and step as they grow, over the steps, before and after, and those marked."""

from pathlib import Path

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QStackedWidget

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.clips import ClipStore
from diffusionforce.gui.model import lora_words
from diffusionforce.gui.model.favourites import Favourites
from diffusionforce.gui.model.run_title import long_title
from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.gui.pages.gallery_bar import GalleryBar
from diffusionforce.gui.pages.gallery_compare import ComparePane
from diffusionforce.gui.pages.gallery_files import LoraFilesCard
from diffusionforce.gui.pages.gallery_large import LargeView, WholeScreen
from diffusionforce.gui.pages.gallery_prompts import PromptEditor
from diffusionforce.gui.pages.gallery_strip import FilmStripPane
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import clear, column, holder, row
from diffusionforce.gui.widgets.notices import Banner, Empty
from diffusionforce.gui.widgets.sample_grid import SampleGrid, step_words
from diffusionforce.gui.widgets.sample_layout import Cell
from diffusionforce.gui.widgets.sample_wall import SampleWall, WallPicture
from diffusionforce.gui.widgets.segmented import Segmented
from diffusionforce.job import read_job
from diffusionforce.runs import RunFolder, list_runs, runs_root
from diffusionforce.wire import Command

FILES_PX, FILES_COMPACT_PX = 264, 250
GRID, STRIP, COMPARE, FAVOURITES = range(4)
COMFY_KEY = "comfy_folder"


class GalleryPage(Page):
    """Shows the samples of one run: the window's own, or an earlier one."""

    run_asked = Signal()

    def __init__(self, store: PictureStore, preferences: Preferences) -> None:
        super().__init__()
        self._store, self._preferences = store, preferences
        self._clips = ClipStore(self)
        self._current: RunSession | None = None
        self._shown: RunSession | None = None
        self._opened: RunSession | None = None
        self._favourites: Favourites | None = None
        self._screen: WholeScreen | None = None
        self.body.setSpacing(12)
        self.header = Header("Gallery", "Every row keeps its prompt and seed, so only the training changes.")
        self.runs = QComboBox()
        self.runs.setAccessibleName("Run")
        self.runs.setMinimumWidth(210)
        self.runs.activated.connect(self._on_run_chosen)
        self.save = Button("Save as picture", "download")
        self.save.clicked.connect(self._save_comparison)
        self.folder = Button("Open folder", "folder")
        self.folder.clicked.connect(self._open_folder)
        self.header.add_actions(self.runs, self.save, self.folder)
        self.tabs = Segmented(("Grid", "Film strip", "Compare", "Favourites"))
        self.tabs.chosen.connect(self._on_tab)
        self._facts = Label("", "muted")
        self.grid = SampleGrid(store, self._clips)
        self.strip = FilmStripPane(store, self._clips)
        self.compare = ComparePane(store, self._clips)
        self.wall = SampleWall(store)
        self.large = LargeView(store, self._clips)
        self.files = LoraFilesCard()
        self.bar = GalleryBar()
        self.prompts = PromptEditor()
        self._stack, self._marked_stack = QStackedWidget(), QStackedWidget()
        self._marks: list[tuple[Cell, str]] = []
        self._build()
        self._connect()
        self.refresh()

    def _build(self) -> None:
        start = Button("Set up a run", "play", kind="primary")
        start.clicked.connect(self.run_asked)
        text = "The first row is drawn before training starts, so you can compare every later step with it."
        self._empty = Empty("grid", "Previews will appear here", text, actions=(start,))
        text = "Press F at a sample, or the star under the grid, and it is kept here. The marks lie beside the run."
        self._no_marks = Empty("star", "No favourites yet", text)
        self._problem = column(gap=8)
        self.files.setMinimumWidth(FILES_PX)
        self.prompts.hide()
        # The table takes what it has use for, the files the rest.
        table = holder(row((self.grid, 1000), (self.files, 1), gap=16))
        self._grid_page = holder(column((table, 1), self.prompts, self.bar, gap=12))
        self._marked_stack.addWidget(self._no_marks)
        self._marked_stack.addWidget(self.wall)
        self._tab_row = holder(row(self.tabs, None, self._facts))
        self._panes = (self._grid_page, self.strip, self.compare, self._marked_stack)
        for widget in (self._empty, *self._panes, self.large):
            self._stack.addWidget(widget)
        self.body.addWidget(self.header)
        self.body.addLayout(self._problem)
        self.body.addWidget(self._tab_row)
        self.body.addWidget(self._stack, 1)

    def _connect(self) -> None:
        self.grid.chosen.connect(self._show_bar)
        self.grid.opened.connect(self._open_large)
        self.grid.marked.connect(lambda: self._toggle_mark(self.grid.cell))
        self.grid.compared.connect(self._compare_chosen)
        self.large.closed.connect(self._close_large)
        self.large.moved.connect(lambda: self.grid.choose(self.large.cell))
        self.large.marked.connect(lambda: self._toggle_mark(self.large.cell))
        self.large.screen_asked.connect(self._toggle_screen)
        self.wall.opened.connect(self._open_marked)
        self.wall.unmarked.connect(lambda index: self._toggle_mark(self._marks[index][0]))
        self.files.copy_asked.connect(self._copy_to_comfy)
        self.bar.favourite.clicked.connect(lambda: self._toggle_mark(self.grid.cell))
        self.bar.compare.clicked.connect(self._compare_chosen)
        self.bar.whole.clicked.connect(self._open_on_screen)
        self.bar.copy.clicked.connect(lambda: QApplication.clipboard().setText(self.bar.prompt))
        self.bar.edit.clicked.connect(self._edit_prompts)
        self.prompts.applied.connect(self._use_prompts)
        self.prompts.closed.connect(self._close_prompts)
        QShortcut(QKeySequence("F11"), self).activated.connect(self._open_on_screen)

    def show_current(self, session: RunSession | None) -> None:
        """Follow the run of the window, unless the user looks at an earlier one."""
        if self._current is not None:
            self._current.changed.disconnect(self._on_changed)
            self._current.ended.disconnect(self._fill_runs)
        self._current = session
        if session is not None:
            session.changed.connect(self._on_changed)
            session.ended.connect(self._fill_runs)
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
        self._favourites = Favourites(session.root)
        if session is self._current:
            self._close_opened()
        self.tabs.choose(GRID)
        self._stack.setCurrentWidget(self._grid_page)
        self._close_prompts()
        self._fill_runs()
        self._show_marks()
        self.refresh()

    def _on_changed(self) -> None:
        if self.isVisible() or self._screen is not None:
            self.refresh()

    def refresh(self) -> None:
        """Show the samples as they are now; what is out of sight waits until it is looked at."""
        session = self._shown
        has_samples = session is not None and bool(session.model.samples.num_samples)
        in_large = self._stack.currentWidget() is self.large
        self._tab_row.setVisible(has_samples and not in_large)
        self.runs.setVisible(self.runs.count() > 0)
        self.folder.setVisible(session is not None)
        self.save.setVisible(has_samples and self._stack.currentWidget() is self.compare)
        if session is None or not has_samples:
            self._stack.setCurrentWidget(self._empty)
            return
        if self._stack.currentWidget() is self._empty:
            self._stack.setCurrentWidget(self._panes[self.tabs.index])
        model, table = session.model, session.model.samples
        self.grid.show_table(table, session.root)
        if self._stack.currentWidget() is self.strip:
            self.strip.show_table(table, session.root)
        if self._stack.currentWidget() is self.compare:
            self.compare.show_table(table, session.root)
        self.large.show_table(table, session.root, self._favourites)
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
        if table is None or step is None or cell.row >= len(table.rows) or self._shown is None:
            return
        relative = table.rows[cell.row].paths.get(step, "")
        self.bar.show_cell(
            step_words(step),
            table.rows[cell.row].prompt,
            is_drawn=bool(relative),
            is_marked=self._favourites is not None and relative in self._favourites,
        )
        self.bar.show_edit(self._shown)

    def _table(self) -> SampleTable | None:
        return self._shown.model.samples if self._shown is not None else None

    def _on_tab(self, index: int) -> None:
        self._stack.setCurrentWidget(self._panes[index])
        self.refresh()
        if index == FAVOURITES:
            self._show_marks()
        self._panes[index].setFocus()
        if index == GRID:
            self.grid.setFocus()

    def _compare_chosen(self) -> None:
        step = self.grid.step
        self.tabs.choose(COMPARE)
        self._on_tab(COMPARE)
        self.compare.choose(row=self.grid.cell.row, right_step=step if step else None)

    def _toggle_mark(self, cell: Cell) -> None:
        """Mark the sample in a cell, or take the mark away."""
        table = self._table()
        steps = table.steps if table is not None else []
        if table is None or self._favourites is None or cell.column >= len(steps):
            return
        relative = table.rows[cell.row].paths.get(steps[cell.column])
        if relative is None:
            return
        clear(self._problem)
        try:
            self._favourites.toggle(relative)
        except UserError as error:
            self._problem.addWidget(Banner("err", error.sentence, error.hint))
        self._show_marks()
        self._show_bar()

    def _show_marks(self) -> None:
        marked, table, session = self._favourites, self._table(), self._shown
        if marked is None or table is None or session is None:
            return
        self.grid.mark(marked)
        places = {
            path: Cell(row_index, column_index)
            for row_index, sample_row in enumerate(table.rows)
            for column_index, step in enumerate(table.steps)
            if (path := sample_row.paths.get(step, "")) in marked
        }
        self._marks = [(places[path], path) for path in marked.paths if path in places]
        pictures: list[WallPicture] = []
        for cell, _ in self._marks:
            path = table.path(session.root, cell.row, table.steps[cell.column])
            if path is not None:
                title = step_words(table.steps[cell.column])
                pictures.append(WallPicture(path=path, title=title, note=table.rows[cell.row].prompt))
        self.wall.show_pictures(pictures)
        self._marked_stack.setCurrentWidget(self.wall if pictures else self._no_marks)
        self.tabs.retitle(FAVOURITES, f"Favourites  {len(marked)}" if len(marked) else "Favourites")

    def _open_marked(self, index: int) -> None:
        self.grid.choose(self._marks[index][0])
        self._open_large()

    def _is_drawn(self) -> bool:
        table, step = self._table(), self.grid.step
        if table is None or step is None or self.grid.cell.row >= len(table.rows):
            return False
        return step in table.rows[self.grid.cell.row].paths

    def _open_large(self) -> None:
        if self._is_drawn():
            self.large.choose(self.grid.cell)
            self._stack.setCurrentWidget(self.large)
            self._tab_row.hide()
            self.large.setFocus()

    def _close_large(self) -> None:
        if self._screen is not None:
            self._toggle_screen()
            return
        self._stack.setCurrentWidget(self._panes[self.tabs.index])
        self._tab_row.show()
        self._panes[self.tabs.index].setFocus()
        if self.tabs.index == GRID:
            self.grid.setFocus()

    def _open_on_screen(self) -> None:
        if self._stack.currentWidget() is not self.large:
            self._open_large()
        if self._stack.currentWidget() is self.large and self._screen is None:
            self._toggle_screen()

    def _toggle_screen(self) -> None:
        """Take the large view to the whole screen, or back into the page."""
        if self._screen is None:
            self._screen = WholeScreen(self.large)
            self._screen.showFullScreen()
        else:
            self._stack.addWidget(self.large)
            self._stack.setCurrentWidget(self.large)
            self._screen.close()
            self._screen.deleteLater()
            self._screen = None
        self.large.show()
        self.large.setFocus()

    def _edit_prompts(self) -> None:
        if self._shown is not None:
            self.bar.hide()
            self.prompts.show()
            self.prompts.edit(self._shown.model.prompts)

    def _close_prompts(self) -> None:
        self.prompts.hide()
        self.bar.show()

    def _use_prompts(self, prompts: tuple[str, ...], draws: bool) -> None:
        if self._shown is not None:
            self._shown.send(Command(command="prompts", prompts=prompts))
            if draws:
                self._shown.send(Command(command="sample"))
            self.refresh()

    def _copy_to_comfy(self, path: Path, step: int) -> None:
        folder = self._preferences.text(COMFY_KEY)
        if not folder or not Path(folder).is_dir():
            chosen = QFileDialog.getExistingDirectory(self, "ComfyUI's folder, or its models/loras")
            if not chosen:
                return
            folder = str(lora_words.lora_dir(Path(chosen)))
            self._preferences.set_text(COMFY_KEY, folder)
        if self._shown is not None:
            self.files.copy(path, lora_words.lora_dir(Path(folder)), title=self._shown.title)

    def _save_comparison(self) -> None:
        picture = self.compare.as_picture()
        if picture is None or self._shown is None:
            return
        usual = str(Path.home() / f"{self._shown.root.name}-before-after.png")
        chosen, _ = QFileDialog.getSaveFileName(self, "Save the comparison", usual, "PNG pictures (*.png)")
        if chosen:
            image = picture.toImage()
            background.run(
                self,
                lambda: image.save(chosen),
                done=lambda ok: self._on_saved(ok, chosen),
                failed=lambda _: self._on_saved(False, chosen),
            )

    def _on_saved(self, saved: bool, path: str) -> None:
        clear(self._problem)
        if saved:
            self._problem.addWidget(Banner("ok", "The comparison is saved.", path))
        else:
            self._problem.addWidget(Banner("err", f"{path} could not be written.", "Choose another folder."))

    def _fill_runs(self) -> None:
        """List the runs that can be looked at, the window's own first; the others are read on a thread."""
        root = runs_root()
        background.run(self, lambda: _titles(root), done=self._list_runs, failed=lambda _error: None)

    def _list_runs(self, others: list[tuple[Path, str]]) -> None:
        known: dict[Path, str] = {}
        if self._current is not None:
            live = "" if self._current.is_over else " · live"
            known[self._current.root] = f"{self._current.long_title}{live}"
        for root, title in others:
            known.setdefault(root, title)
        if self._shown is not None:
            known.setdefault(self._shown.root, self._shown.long_title)
        self.runs.clear()
        for root, title in known.items():
            self.runs.addItem(title, str(root))
        if self._shown is not None:
            self.runs.setCurrentIndex(list(known).index(self._shown.root))
        self.runs.setVisible(self.runs.count() > 0)

    def _on_run_chosen(self, index: int) -> None:
        self.open_run(Path(str(self.runs.itemData(index))))

    def _open_folder(self) -> None:
        if self._shown is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._shown.root / "samples")))

    def set_compact(self, compact: bool) -> None:
        """Narrow the list of files in a narrow window."""
        super().set_compact(compact)
        self.files.setMinimumWidth(FILES_COMPACT_PX if compact else FILES_PX)
        self.bar.set_compact(compact)

    def let_go(self) -> None:
        """End what is under way, because the window closes."""
        self.files.desk.close()
        if self._screen is not None:
            self._toggle_screen()

    def shown(self) -> None:
        """Show what happened while the page was hidden; without a run of its own the newest one on disk."""
        if self._shown is None:
            newest = next((folder for folder in list_runs(runs_root()) if folder.num_samples()), None)
            if newest is not None:
                self.open_run(newest.root)
        self._fill_runs()
        self.refresh()


def _titles(root: Path) -> list[tuple[Path, str]]:
    return [(folder.root, _folder_title(folder)) for folder in list_runs(root)]


def _folder_title(folder: RunFolder) -> str:
    try:
        return long_title(folder.root, read_job(folder.job_path))
    except UserError:
        return folder.root.name
