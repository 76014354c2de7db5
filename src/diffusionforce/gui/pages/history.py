"""The Queue place: the run that goes on, those that wait, those that were, and some of these side by side."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QApplication, QStackedWidget, QVBoxLayout

from diffusionforce.errors import UserError
from diffusionforce.gui.history_reader import HistoryReader
from diffusionforce.gui.model import history, queue_times, words
from diffusionforce.gui.model.comparison import MOST
from diffusionforce.gui.model.history import PastRun
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.model.run_title import job_title
from diffusionforce.gui.pages.history_care import RunCare
from diffusionforce.gui.pages.history_rows import CurrentRow, Entry, PastRow, WaitingRow, open_folder
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.queue_desk import NEW_NAME, QueueDesk
from diffusionforce.gui.run_trash import RunTrash
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import clear, column, holder, row, scrolling
from diffusionforce.gui.widgets.notices import Empty
from diffusionforce.gui.widgets.toast import Toasts
from diffusionforce.job import read_job
from diffusionforce.runs import QueuedRun, RunFolder, runs_root

if TYPE_CHECKING:
    from diffusionforce.gui.pages.compare_runs import CompareRunsPane

FIRST_SHOWN = 30
TITLE = "Queue and history"


class HistoryPage(Page):
    """Lists the runs: now, next, before."""

    open_asked = Signal(Path)
    gallery_asked = Signal(Path)
    run_asked = Signal()
    start_asked = Signal(object)
    queue_asked = Signal()
    """The run that waits first is to start."""
    report_asked = Signal(Path)
    deleted = Signal(Path)
    """A run that goes to the trash: whoever reads its files has to let go of them."""

    def __init__(self, store: PictureStore, desk: QueueDesk, trash: RunTrash, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self._store, self._desk, self._trash = store, desk, trash
        self._session: RunSession | None = None
        self.reader = HistoryReader(is_held=self._is_held, parent=self)
        self.reader.read.connect(self._on_read)
        self.reader.moved.connect(self._on_moved)
        self._num_shown = FIRST_SHOWN
        self._chosen: list[Path] = []
        self._current: CurrentRow | None = None
        self.waiting_rows: list[WaitingRow] = []
        self.past_rows: list[PastRow] = []
        self.elsewhere_rows: list[PastRow] = []
        """Of runs that go on, but not in this window."""
        self.header = Header(TITLE, "")
        self.hold = Button("Pause after this run", "pause")
        self.hold.clicked.connect(lambda: desk.hold(not desk.is_held))
        self.start = Button("Start the queue", "play")
        self.start.clicked.connect(self.queue_asked)
        self.compare = Button("Compare", "compare")
        self.compare.clicked.connect(self._compare)
        new_run = Button("New run", "plus", kind="primary")
        new_run.clicked.connect(self.run_asked)
        self.header.add_actions(self.hold, self.start, self.compare, new_run)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(8)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._list = scrolling(holder(column(self._rows, None)), name="clear")
        self.care = RunCare()
        self.care.changed.connect(self.shown)
        self.care.deleted.connect(self._delete)
        self.care.renamed.connect(self._on_renamed)
        self.toasts = Toasts()
        QShortcut(QKeySequence("Ctrl+Z"), self).activated.connect(self.toasts.act)
        self._pane: CompareRunsPane | None = None
        self._stack = QStackedWidget()
        self._build()
        desk.changed.connect(self._on_queue_changed)
        desk.removed.connect(self._on_removed)
        trash.changed.connect(self.shown)

    def _build(self) -> None:
        start = Button("Set up a run", "play", kind="primary")
        start.clicked.connect(self.run_asked)
        text = "Runs that you add to the queue wait here for their turn. Every run is kept with its previews and files."
        self._empty = Empty("queue", "No runs yet", text, actions=(start,))
        self._loading = Empty("clock", "Looking through the runs", "This takes a moment.")
        for widget in (self._list, self._empty, self._loading):
            self._stack.addWidget(widget)
        self._stack.setCurrentWidget(self._loading)
        self.body.addWidget(self.header)
        self.body.addWidget(self.care)
        self.body.addWidget(self._stack, 1)
        self.body.addWidget(self.toasts)
        self._show_header()

    @property
    def pane(self) -> "CompareRunsPane":
        """Runs side by side, built when the first ones are: most who look at the list compare none."""
        if self._pane is None:
            from diffusionforce.gui.pages.compare_runs import CompareRunsPane  # noqa: PLC0415 - see above.

            self._pane = CompareRunsPane(self._store, self._preferences)
            self._pane.menu.saved.connect(lambda path: self.toasts.say("ok", tr("Saved"), path))
            self._pane.menu.failed.connect(lambda error: self.toasts.say("err", error.sentence, error.hint))
            self._pane.closed.connect(self._close_pane)
            self._stack.addWidget(self._pane)
        return self._pane

    @property
    def _compares(self) -> bool:
        """Whether runs side by side are in sight."""
        return self._pane is not None and self._stack.currentWidget() is self._pane

    def show_session(self, session: RunSession | None) -> None:
        """Take the run of the window."""
        if self._session is not None:
            self._session.changed.disconnect(self._on_run_changed)
            self._session.ended.disconnect(self.shown)
        self._session = session
        if session is not None:
            session.changed.connect(self._on_run_changed)
            session.ended.connect(self.shown)
        self.refresh()

    def shown(self) -> None:
        """Look at the runs again."""
        self.reader.again()

    def _is_held(self) -> bool:
        """Whether the rows must stay as they are: no menu closes, and no focus is lost."""
        return self._compares or QApplication.activePopupWidget() is not None

    def _on_read(self) -> None:
        there = {run.root for run in self.reader.past}
        self._chosen = [root for root in self._chosen if root in there]
        self._trash.forget_gone()
        self.refresh()

    def _on_moved(self) -> None:
        by_root = {run.root: run for run in self.reader.past}
        for line in self.elsewhere_rows:
            line.show_step(by_root[line.run.root])

    def showEvent(self, event: QShowEvent) -> None:
        """Look at the runs every few seconds, as long as somebody sees them."""
        self.reader.watch(True)
        super().showEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Look no more."""
        self.reader.watch(False)
        super().hideEvent(event)

    def _on_queue_changed(self) -> None:
        if self.isVisible():
            self.refresh()

    def _on_run_changed(self) -> None:
        if self.isVisible() and self._current is not None and self._session is not None:
            if self._going() is None:
                self.refresh()
            else:
                self._current.show_model(self._session.title, self._session.model)

    def _going(self) -> RunSession | None:
        session = self._session
        return session if session is not None and not session.is_over else None

    def refresh(self) -> None:
        """Build the rows anew."""
        clear(self._rows)
        self._current, self.waiting_rows, self.past_rows, self.elsewhere_rows = None, [], [], []
        going = self._going()
        waiting = self._desk.runs
        others = [run for run in self.reader.past if going is None or run.root != going.root]
        others = [run for run in others if not self._trash.holds(run.root)]
        elsewhere, past = [run for run in others if run.is_going], [run for run in others if not run.is_going]
        if going is not None or elsewhere:
            self._rows.addWidget(Label("NOW", "caption"))
        if going is not None:
            self._rows.addWidget(self._current_row(going))
        self._add_elsewhere(elsewhere)
        if waiting:
            self._rows.addWidget(Label("NEXT", "caption"))
            self._add_waiting(waiting, going)
        if past:
            self._rows.addWidget(Label("BEFORE", "caption"))
            self._add_past(past)
        if not self._compares:
            is_empty = going is None and not waiting and not others
            shown = self._list if not is_empty else self._empty if self.reader.is_read else self._loading
            self._stack.setCurrentWidget(shown)
        self._show_header()

    def _show_header(self) -> None:
        going, waiting = self._going(), self._desk.runs
        in_pane = self._compares
        note = queue_times.all_done_words(self._times(waiting, going), now=datetime.now())
        if waiting and self._desk.is_held:
            note = f"{queue_times.waiting_words(len(waiting))} The queue is paused."
        if in_pane:
            note = "Runs side by side"
        number = sum(not self._trash.holds(run.root) for run in self.reader.past)
        so_far = f"{words.count(number, 'run')} so far" if number else ""
        self.header.set_title(TITLE, tr(note or so_far))
        held = self._desk.is_held
        self.hold.set_text("Go on after this run" if held else "Pause after this run", icon="play" if held else "pause")
        self.hold.setVisible(going is not None and bool(waiting) and not in_pane)
        self.start.setVisible(going is None and bool(waiting) and not in_pane)
        number = len(self._chosen)
        self.compare.set_text(f"Compare {number} runs" if number > 1 else "Compare")
        reason = "" if 1 < number <= MOST else f"Tick two to {MOST} runs below."
        self.compare.allow(not reason, reason=reason)
        self.compare.setVisible(len(self.reader.past) > 1 and not in_pane)

    def _times(self, waiting: tuple[QueuedRun, ...], going: RunSession | None) -> list[queue_times.WaitingTime]:
        busy_s = 0.0 if going is None else going.model.eta_s
        # Nothing starts by itself where nothing goes on: a run of the queue starts when another one has ended.
        held = queue_times.WAITS_FOR_THE_QUEUE if self._desk.is_held else ""
        waits_for = queue_times.WAITS_FOR_START if going is None else held
        return queue_times.waiting_times(
            [run.job for run in waiting], self.reader.past, busy_s=busy_s, waits_for=waits_for
        )

    def _current_row(self, going: RunSession) -> CurrentRow:
        _, latest = going.model.samples.latest(going.root)
        picture = next(iter(latest), None)
        line = CurrentRow(self._store, compact=self.compact, picture=picture)
        line.add_button(noted("Open"), "", going.title, lambda: self.open_asked.emit(going.root))
        entries = [("Gallery", lambda: self.gallery_asked.emit(going.root))]
        line.add_menu(going.title, [*entries, (noted("Open folder"), lambda: open_folder(going.root))])
        line.show_model(going.title, going.model)
        self._current = line
        return line

    def _add_waiting(self, waiting: tuple[QueuedRun, ...], going: RunSession | None) -> None:
        times, now = self._times(waiting, going), datetime.now()
        for run, time in zip(waiting, times, strict=True):
            key, title = run.key, job_title(run.job)
            step = queue_times.resume_step(run.job, self.reader.past)
            goes_on = queue_times.resume_words(step) if step else ""
            line = WaitingRow(run, self._store, compact=self.compact, times=time.words(now), goes_on=goes_on)
            line.handle.moved.connect(lambda by, key=key: self._move(key, by))
            line.add_menu(
                title,
                [
                    ("Move up", lambda key=key: self._move(key, -1)),
                    ("Move down", lambda key=key: self._move(key, 1)),
                    ("Move to the front", lambda key=key: self._move(key, -len(self._desk.runs))),
                    ("Remove from the queue", lambda key=key: self._desk.remove(key)),
                ],
            )
            self.waiting_rows.append(line)
            self._rows.addWidget(line)

    def _move(self, key: str, by: int) -> None:
        self._desk.move(key, by)
        # The rows were built anew; the keyboard stays at the run that was moved.
        moved = next((line for line in self.waiting_rows if line.run.key == key), None)
        if moved is not None:
            moved.handle.setFocus()

    def _add_elsewhere(self, runs: list[PastRun]) -> None:
        for run in runs:
            line = self._past_row(run)
            line.refuse_delete()
            self.elsewhere_rows.append(line)
            self._rows.addWidget(line)

    def _add_past(self, past: list[PastRun]) -> None:
        for run in past[: self._num_shown]:
            line = self._past_row(run)
            self.past_rows.append(line)
            self._rows.addWidget(line)
        if len(past) > self._num_shown:
            more = Button(f"Show {min(FIRST_SHOWN, len(past) - self._num_shown)} more", "chev-down", kind="ghost")
            more.clicked.connect(self._show_more)
            self._rows.addLayout(row(None, more, None))

    def _show_more(self) -> None:
        self._num_shown += FIRST_SHOWN
        self.refresh()

    def _past_row(self, run: PastRun) -> PastRow:
        line = PastRow(run, self._store, compact=self.compact)
        root, title = run.root, run.name
        line.chosen.setChecked(root in self._chosen)
        line.chosen.toggled.connect(lambda on: self._choose(root, on))
        states = [state for state in run.states if not self._trash.holds(state.path)]
        if run.can_resume and states:
            line.add_button(noted("Continue"), "", title, lambda: self._resume(run, states[0].path))
        line.add_button(noted("Open"), "", title, lambda: self.open_asked.emit(root))
        gallery: Entry = (noted("Gallery"), lambda: self.gallery_asked.emit(root))
        if not self.compact:
            button = line.add_button(gallery[0], "", title, gallery[1])
            button.allow(run.picture is not None, reason="This run has no previews.")
        line.add_menu(
            title,
            [
                *((gallery,) if self.compact and run.picture is not None else ()),
                *((history.state_words(state), lambda state=state: self._resume(run, state.path)) for state in states),
                ("Add to the queue again", lambda: self._run_again(root)),
                ("Name and notes", lambda: self.care.edit(run)),
                (noted("Open folder"), lambda: open_folder(root)),
                (tr("Report a problem"), lambda: self.report_asked.emit(root)),
                (noted("Delete"), lambda: self.care.ask_delete(run, needed_by=self._needs(root))),
            ],
        )
        return line

    def _needs(self, root: Path) -> str:
        """Return the name of a run that waits to go on from another, empty if none does."""
        for job in (run.job for run in self._desk.runs):
            if job.resume is not None and job.resume.is_relative_to(root):
                return job_title(job)
        return ""

    def _delete(self, run: PastRun) -> None:
        """Take a run out of sight, and move it to the trash when the message about it has left."""
        root, trash = run.root, self._trash
        self._chosen = [path for path in self._chosen if path != root]
        # Whoever reads its files lets go of them first: Windows moves no folder with open files.
        self.deleted.emit(root)
        trash.put(root)
        self.refresh()
        text = tr("It goes to the trash of the system in a moment, as {folder}.").format(folder=root.name)
        text = f"{run.name}, {tr(run.when)}. {text}"
        toast = self.toasts.say("info", tr("Run deleted"), text, action="Undo", do=lambda: trash.bring_back(root))
        toast.left.connect(lambda: trash.finish(root))

    def _on_renamed(self, before: PastRun) -> None:
        title = tr("Name and notes are kept")
        self.toasts.say("ok", title, action="Undo", do=lambda: self.care.put_back_label(before))

    def _on_removed(self, run: QueuedRun, before: str) -> None:
        title, text = tr("Removed from the queue"), job_title(run.job)
        self.toasts.say("info", title, text, action="Undo", do=lambda: self._desk.restore(run, before))

    def _choose(self, root: Path, on: bool) -> None:
        self._chosen = [path for path in self._chosen if path != root] + ([root] if on else [])
        self._show_header()

    def _run_again(self, root: Path) -> None:
        try:
            job = read_job(RunFolder(root).job_path)
        except UserError as error:
            self._desk.failed.emit(error)
            return
        # Its own folder is taken.
        self._desk.add(job.model_copy(update={"run_dir": runs_root() / NEW_NAME}))

    def _resume(self, run: PastRun, state: Path) -> None:
        """Go on from a state that the run saved: at once, or after the run that goes on."""
        try:
            job = read_job(RunFolder(run.root).job_path)
        except UserError as error:
            self._desk.failed.emit(error)
            return
        job = job.model_copy(update={"run_dir": runs_root() / NEW_NAME, "resume": state})
        if self._going() is None:
            self.start_asked.emit(job)
        else:
            self._desk.add(job)
            self.care.say("info", queue_times.queued_words(run.name, queue_times.resume_step(job, self.reader.past)))

    def _compare(self) -> None:
        order = {run.root: index for index, run in enumerate(self.reader.past)}
        self.pane.compare(sorted(self._chosen, key=lambda root: order.get(root, 0), reverse=True))
        self._stack.setCurrentWidget(self.pane)
        self._show_header()

    def _close_pane(self) -> None:
        self._stack.setCurrentWidget(self._list)
        self.refresh()
        self.shown()

    def set_compact(self, compact: bool) -> None:
        """Put the way to the gallery into the menus in a narrow window."""
        changes = compact != self.compact
        super().set_compact(compact)
        if changes:
            self.refresh()
