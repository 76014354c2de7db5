"""The Gallery place: previews by prompt and step as they grow, over the steps, before and after, and those marked."""

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedWidget, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui.clips import ClipStore
from diffusionforce.gui.model.favourites import Favourites
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.model.samples import SampleTable, facts_words
from diffusionforce.gui.pages.gallery_care import LoraCare
from diffusionforce.gui.pages.gallery_compare import ComparePane
from diffusionforce.gui.pages.gallery_grid import COMFY_KEY, GridPane
from diffusionforce.gui.pages.gallery_header import GalleryHeader
from diffusionforce.gui.pages.gallery_large import LargeView
from diffusionforce.gui.pages.gallery_marks import MarksPane
from diffusionforce.gui.pages.gallery_saving import save_picture
from diffusionforce.gui.pages.gallery_screen import WholeScreen
from diffusionforce.gui.pages.gallery_strip import FilmStripPane
from diffusionforce.gui.pages.page import Page
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.run_trash import RunTrash
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import clear, column, holder, row
from diffusionforce.gui.widgets.notices import Banner, Empty
from diffusionforce.gui.widgets.sample_layout import Cell
from diffusionforce.gui.widgets.segmented import Segmented
from diffusionforce.gui.widgets.toast import Toasts
from diffusionforce.runs import list_runs, runs_root
from diffusionforce.wire import Command

__all__ = ["COMFY_KEY", "COMPARE", "FAVOURITES", "GRID", "STRIP", "GalleryPage"]

GRID, STRIP, COMPARE, FAVOURITES = range(4)
_EMPTY = (
    "Each prompt is drawn before the training starts and again while it goes on, always with the same seed. So you see "
    "beside each other what the training has changed."
)


class GalleryPage(Page):
    """Shows the samples of one run: the window's own, or an earlier one."""

    run_asked = Signal()

    def __init__(self, store: PictureStore, preferences: Preferences, trash: RunTrash) -> None:
        super().__init__()
        self._store, self._preferences, self._trash = store, preferences, trash
        self._clips = ClipStore(self)
        self._current: RunSession | None = None
        self._shown: RunSession | None = None
        self._opened: RunSession | None = None
        self._favourites: Favourites | None = None
        self._screen: WholeScreen | None = None
        self.body.setSpacing(12)
        self.toasts = Toasts()

    def build(self) -> Iterator[None]:
        """Build the header, then pane after pane; what is in each comes when all of them are there."""
        store, clips = self._store, self._clips
        self._build_frame()
        yield
        self.pane = GridPane(store, clips, self._preferences, self._trash)
        self.grid, self.files, self.bar, self.prompts = (
            self.pane.grid,
            self.pane.files,
            self.pane.bar,
            self.pane.prompts,
        )
        self.pane.set_compact(self.compact)
        self._stack.addWidget(self.pane)
        yield
        self.strip = FilmStripPane(store, clips)
        self._stack.addWidget(self.strip)
        yield
        self.compare = ComparePane(store, clips)
        self._stack.addWidget(self.compare)
        yield
        self.marks, self.large = MarksPane(store), LargeView(store, clips)
        self._stack.addWidget(self.marks)
        self._stack.addWidget(self.large)
        self._panes = (self.pane, self.strip, self.compare, self.marks)
        self._connect()
        yield
        self.refresh()

    def _build_frame(self) -> None:
        """Build what stands over the panes, and the pane that says that there is nothing."""
        self.header = GalleryHeader(self._trash)
        self.runs = self.header.runs
        self.runs.picked.connect(self.open_run)
        self.header.save.clicked.connect(self._save_comparison)
        self.header.show_run(None, compares=False)
        self.tabs = Segmented(("Grid", "Film strip", "Compare", "Favourites"))
        self.tabs.chosen.connect(self._on_tab)
        self._facts = Label("", "muted")
        self._problem = column(gap=8)
        self._tab_row = holder(row(self.tabs, None, self._facts))
        self._tab_row.hide()
        start = Button("Set up a run", "play", kind="primary")
        start.clicked.connect(self.run_asked)
        self._empty = Empty("grid", "Previews will appear here", _EMPTY, actions=(start,))
        self._stack = QStackedWidget()
        for widget in (QWidget(), self._empty):
            self._stack.addWidget(widget)
        self.body.addWidget(self.header)
        self.body.addLayout(self._problem)
        self.body.addWidget(self._tab_row)
        self.body.addWidget(self._stack, 1)
        self.body.addWidget(self.toasts)

    def _connect(self) -> None:
        self.grid.opened.connect(self._open_large)
        self.pane.marked.connect(lambda: self._toggle_mark(self.grid.cell))
        self.pane.compared.connect(self._compare_chosen)
        self.pane.screen_asked.connect(self._open_on_screen)
        self.pane.changed.connect(self.refresh)
        self._care = LoraCare(self.files, self._trash, self.toasts)
        self._care.changed.connect(self.refresh)
        self.pane.prompts_used.connect(self._on_prompts_used)
        self.large.closed.connect(self._close_large)
        self.large.moved.connect(lambda: self.grid.choose(self.large.cell))
        self.large.marked.connect(lambda: self._toggle_mark(self.large.cell))
        self.large.screen_asked.connect(lambda: self._toggle_screen(self.large))
        self.compare.screen_asked.connect(lambda: self._toggle_screen(self.compare))
        self.marks.opened.connect(self._open_marked)
        self.marks.unmarked.connect(self._toggle_mark)
        QShortcut(QKeySequence("Ctrl+Z"), self).activated.connect(self.toasts.act)
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
            self._say("err", error.sentence, error.hint)
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

    def forget(self, path: Path) -> None:
        """Let go of a run that is deleted, if it is the one that is looked at."""
        if self._shown is not None and self._shown.root == path:
            self._close_opened()
            self._shown = self._favourites = None
            self.refresh()

    def _show(self, session: RunSession) -> None:
        self._shown = session
        self._favourites = Favourites(session.root)
        if session is self._current:
            self._close_opened()
        self.tabs.choose(GRID)
        self._stack.setCurrentWidget(self.pane)
        self.pane.take(session, self._favourites)
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
        self.header.show_run(session, compares=has_samples and self._stack.currentWidget() is self.compare)
        if session is None or not has_samples:
            self._stack.setCurrentWidget(self._empty)
            return
        if self._stack.currentWidget() is self._empty:
            self._stack.setCurrentWidget(self._panes[self.tabs.index])
        table = session.model.samples
        self.pane.refresh()
        if self._stack.currentWidget() is self.strip:
            self.strip.show_table(table, session.root)
        if self._stack.currentWidget() is self.compare:
            self.compare.show_table(table, session.root)
        self.large.show_table(table, session.root, self._favourites)
        self._facts.set_text(facts_words(table, session.model.job))

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
        """Mark the preview in a cell, or take the mark away."""
        table, marked = self._table(), self._favourites
        relative = table.path_in_run(cell.row, cell.column) if table is not None else ""
        if marked is None or table is None or not relative:
            return
        if self._set_mark(marked, relative) is False:
            title, prompt = tr("Taken out of the favourites"), table.rows[cell.row].prompt

            def undo() -> None:
                if relative not in marked:
                    self._set_mark(marked, relative)

            self.toasts.say("info", title, prompt, action="Undo", do=undo)

    def _set_mark(self, marked: Favourites, relative: str) -> bool | None:
        """Mark a preview or take the mark away; tells whether it is marked now, None where the disk refuses."""
        clear(self._problem)
        is_marked = None
        try:
            is_marked = marked.toggle(relative)
        except UserError as error:
            self._say("err", error.sentence, error.hint)
        self._show_marks()
        self.pane.show_bar()
        return is_marked

    def _on_prompts_used(self, session: RunSession, before: tuple[str, ...]) -> None:
        """Say that the previews to come have other prompts, which can be taken back as long as the run goes on."""

        def take_back() -> None:
            if session is self._shown and not session.is_over:
                session.send(Command(command="prompts", prompts=before))
                self.refresh()

        title, text = tr("The next previews have other prompts"), tr("Those that are drawn stay.")
        self.toasts.say("ok", title, text, action="Undo", do=take_back)

    def _show_marks(self) -> None:
        marked, table, session = self._favourites, self._table(), self._shown
        if marked is None or table is None or session is None:
            return
        self.grid.mark(marked)
        self.marks.show_marks(marked, table, session.root)
        self.tabs.retitle(FAVOURITES, f"Favourites  {len(marked)}" if len(marked) else noted("Favourites"))

    def _open_marked(self, cell: Cell) -> None:
        self.grid.choose(cell)
        self._open_large()

    def _open_large(self) -> None:
        if self.pane.is_drawn:
            self.large.choose(self.grid.cell)
            self._stack.setCurrentWidget(self.large)
            self._tab_row.hide()
            self.large.setFocus()

    def _close_large(self) -> None:
        if self._screen is not None:
            self._toggle_screen(self.large)
            return
        self._stack.setCurrentWidget(self._panes[self.tabs.index])
        self._tab_row.show()
        self._panes[self.tabs.index].setFocus()
        if self.tabs.index == GRID:
            self.grid.setFocus()

    def _open_on_screen(self) -> None:
        """Take to the whole screen what is looked at: the comparison, or the chosen preview."""
        if self._screen is not None:
            return
        if self._stack.currentWidget() is self.compare:
            self._toggle_screen(self.compare)
            return
        if self._stack.currentWidget() is not self.large:
            self._open_large()
        if self._stack.currentWidget() is self.large:
            self._toggle_screen(self.large)

    def _toggle_screen(self, view: QWidget) -> None:
        """Take a part to the whole screen, or back into the page."""
        self.compare.set_whole(view is self.compare and self._screen is None)
        if self._screen is None:
            self._screen = WholeScreen(view, self._stack)
        else:
            screen, self._screen = self._screen, None
            screen.give_back()

    def _save_comparison(self) -> None:
        picture = self.compare.as_picture()
        if picture is not None and self._shown is not None:
            save_picture(self, picture, name=f"{self._shown.root.name}-before-after.png", told=self._on_saved)

    def _on_saved(self, saved: bool, path: str) -> None:
        if saved:
            self._say("ok", "The comparison is saved.", path)
        else:
            self._say("err", f"{path} could not be written.", "Choose another folder.")

    def _say(self, tone: str, title: str, text: str) -> None:
        clear(self._problem)
        self._problem.addWidget(Banner(tone, title, text))

    def _fill_runs(self) -> None:
        self.runs.fill(current=self._current, shown=self._shown)

    def set_compact(self, compact: bool) -> None:
        """Narrow what lies beside the grid in a narrow window."""
        super().set_compact(compact)
        if self.is_complete:
            self.pane.set_compact(compact)

    def let_go(self) -> None:
        """End what is under way, because the window closes."""
        if not self.is_complete:
            return
        self.files.desk.close()
        if self._screen is not None:
            self._toggle_screen(self._screen.view)

    def shown(self) -> None:
        """Show what happened while the page was hidden; without a run of its own the newest one on disk."""
        if self._shown is None:
            folders = (folder for folder in list_runs(runs_root()) if not self._trash.holds(folder.root))
            newest = next((folder for folder in folders if folder.num_samples()), None)
            if newest is not None:
                self.open_run(newest.root)
        self._fill_runs()
        self.refresh()
