"""The History place: the runs there are, how each ended, and the way back into it."""

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model import words
from diffusionforce.gui.model.run_title import day_and_time
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.bars import ProgressBar
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.labels import Elided
from diffusionforce.gui.widgets.layout import add, clear, column, holder, row, scrolling
from diffusionforce.gui.widgets.notices import Empty
from diffusionforce.gui.widgets.preview_grid import PreviewGrid
from diffusionforce.runs import RunState, list_runs, runs_root

LOOKS = {
    "running": ("Training", "ok", "play"),
    "done": ("Done", "ok", "ok"),
    "stopped": ("Stopped", "info", "stop"),
    "failed": ("Failed", "err", "err"),
    "crashed": ("Crashed", "err", "err"),
}


class HistoryPage(Page):
    """Lists the runs, the newest first."""

    open_asked = Signal(Path)
    gallery_asked = Signal(Path)
    run_asked = Signal()

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self._store = store
        self.header = Header("History", "")
        new_run = Button("New run", "plus", kind="primary")
        new_run.clicked.connect(self.run_asked)
        self.header.add_actions(new_run)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(8)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._list = scrolling(holder(column(self._rows, None)), name="clear")
        start = Button("Set up a run", "play", kind="primary")
        start.clicked.connect(self.run_asked)
        self._empty = Empty(
            "clock", "No runs yet", "Every run is kept here with its samples and files.", actions=(start,)
        )
        add(self.body, self.header, (self._list, 1), (self._empty, 1))
        self._list.hide()

    def shown(self) -> None:
        """Look at the runs again."""
        background.run(self, read_history, done=self._show, failed=lambda _error: None)

    def _show(self, runs: list[tuple[Path, RunState, Path | None]]) -> None:
        clear(self._rows)
        self._list.setVisible(bool(runs))
        self._empty.setVisible(not runs)
        self.header.set_title("History", f"{words.count(len(runs), 'run')} in {runs_root()}" if runs else "")
        for root, state, picture in runs:
            self._rows.addWidget(self._row(root, state, picture))

    def _row(self, root: Path, state: RunState, picture: Path | None) -> QWidget:
        frame = QFrame()
        frame.setObjectName("card")
        thumb = PreviewGrid(self._store, empty="")
        thumb.setFixedSize(44, 44)
        thumb.setMinimumHeight(44)
        thumb.show_paths([picture] if picture is not None else [])
        chip = Chip(*LOOKS[state.state])
        chip_box = holder(row(chip, None))
        chip_box.setFixedWidth(96)
        facts = column(None, gap=5)
        if state.state != "done" and state.num_steps:
            bar = ProgressBar(height=6, name="Steps")
            bar.show_share(state.step / state.num_steps, tone="focus" if state.state == "running" else "text3")
            facts.addWidget(bar)
        add(facts, Elided(facts_words(state), "small"), None)
        facts_box = holder(facts)
        facts_box.setFixedWidth(300 if not self.compact else 220)
        open_run = Button("Open", size="small")
        open_run.clicked.connect(lambda: self.open_asked.emit(root))
        open_run.setAccessibleName(f"Open {root.name}")
        gallery = Button("Gallery", size="small")
        gallery.clicked.connect(lambda: self.gallery_asked.emit(root))
        gallery.setAccessibleName(f"Gallery of {root.name}")
        gallery.allow(picture is not None, reason="This run has no samples.")
        names = column(Elided(state.title, "strong"), Elided(f"{when(state.started_at)} · {root.name}", "small"), gap=1)
        frame.setLayout(row(thumb, (names, 1), chip_box, facts_box, open_run, gallery, gap=12, margins=(10, 9, 12, 9)))
        return frame


def read_history() -> list[tuple[Path, RunState, Path | None]]:
    """Return the runs with their states and newest samples; a run whose process is gone is told to have crashed."""
    found: list[tuple[Path, RunState, Path | None]] = []
    for folder in list_runs(runs_root()):
        try:
            state = folder.reconciled_state()
        except UserError:
            continue
        samples = sorted(folder.samples_dir.rglob("*.png")) if folder.samples_dir.is_dir() else []
        found.append((folder.root, state, samples[-1] if samples else None))
    return found


def facts_words(state: RunState) -> str:
    """Return what a line of the history says about a run."""
    steps = f"step {state.step:,} of {state.num_steps:,}"
    fall = state.held_out_loss.fall if state.held_out_loss is not None else None
    if state.state == "done":
        took = f" · {words.duration(_seconds(state))}" if _seconds(state) else ""
        loss = f" · held-out {'−' if fall >= 0 else '+'}{words.percent(abs(fall))}" if fall is not None else ""
        return f"{words.count(state.step, 'step')}{took}{loss}"
    return f"{steps} · {state.sentence}" if state.state in {"failed", "crashed"} and state.sentence else steps


def when(iso: str) -> str:
    """Return a moment of a run's state as people say it."""
    try:
        return day_and_time(datetime.fromisoformat(iso).astimezone())
    except ValueError:
        return iso


def _seconds(state: RunState) -> float:
    try:
        span = datetime.fromisoformat(state.ended_at) - datetime.fromisoformat(state.started_at)
    except ValueError:
        return 0.0
    return span.total_seconds()
