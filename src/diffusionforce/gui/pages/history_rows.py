"""The rows of the queue and of the history: the run that goes on, one that waits, one that was."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QAction, QDesktopServices
from PySide6.QtWidgets import QFrame, QMenu, QWidget

from diffusionforce.gui.model.history import PastRun
from diffusionforce.gui.model.language import current, tr
from diffusionforce.gui.model.plan_words import short_facts
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.model.run_title import job_title
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.bars import ProgressBar
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.check_mark import CheckMark
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.drag_handle import DragHandle
from diffusionforce.gui.widgets.labels import Elided
from diffusionforce.gui.widgets.layout import add, column, holder, row
from diffusionforce.gui.widgets.preview_grid import PreviewGrid
from diffusionforce.runs import QueuedRun

LEAD_PX, THUMB_PX, NAMES_LEAST_PX, FACTS_LEAST_PX = 30, 40, 254, 200
CHIP_PX, LONG_CHIP_PX = 96, {"de": 122}
BUTTONS_PX, LONG_BUTTONS_PX, BUTTON_PX = 240, {"de": 260}, 68
"""The same for all rows, so that their columns stand under each other; some languages have longer words."""
NAMES_SHARE, FACTS_SHARE = 5, 6
"""How names and facts share what is left: reasons of failures are longer than names."""
LOOKS = {
    "running": ("Training", "ok", "play"),
    "done": ("Done", "ok", "ok"),
    "stopped": ("Stopped", "info", "stop"),
    "failed": ("Failed", "err", "err"),
    "crashed": ("Crashed", "err", "err"),
}
UNREADABLE = ("Unreadable", "warn", "warn")
Entry = tuple[str, Callable[[], object]]
"""A line of a menu: its words and what it does."""
STILL_TRAINED = "It is still being trained. Stop it first."


class RunRow(QFrame):
    """One row: something at its head, a picture, names, a chip, facts with or without a bar, buttons, a menu.

    Args:
        store: Gives the picture.
        compact: Whether the window is narrow, so that there is one button less.
        lead: Handle or box at the head.
        picture: The picture, None for none.
    """

    def __init__(
        self, store: PictureStore, *, compact: bool, lead: QWidget | None = None, picture: Path | None = None
    ) -> None:
        super().__init__()
        self.setObjectName("card")
        head = holder(row(*(() if lead is None else (lead,)), gap=0))
        head.setFixedWidth(LEAD_PX)
        thumb = PreviewGrid(store, empty="", icon="images")
        thumb.setMinimumHeight(THUMB_PX)
        thumb.setFixedSize(THUMB_PX, THUMB_PX)
        thumb.show_paths([picture] if picture is not None else [])
        thumb.setAccessibleName(tr("Newest preview" if picture is not None else "No preview yet"))
        self.name, self.note = Elided("", "strong"), Elided("", "small")
        self.chip = Chip("Waiting", "", "clock")
        chip_box = holder(row(self.chip, None))
        chip_box.setFixedWidth(LONG_CHIP_PX.get(current(), CHIP_PX))
        self.bar = ProgressBar(height=6, name="Steps")
        self.facts = Elided("", "small")
        facts = holder(column(None, self.bar, self.facts, None, gap=5))
        facts.setMinimumWidth(FACTS_LEAST_PX)
        self.bar.hide()
        self.buttons = row(None, gap=6)
        buttons = holder(self.buttons)
        width_px = LONG_BUTTONS_PX.get(current(), BUTTONS_PX)
        buttons.setFixedWidth(width_px - BUTTON_PX if compact else width_px)
        names = holder(column(None, self.name, self.note, None, gap=1))
        names.setMinimumWidth(NAMES_LEAST_PX)
        self.setLayout(
            row(
                *(head, thumb, 2, (names, NAMES_SHARE), chip_box, (facts, FACTS_SHARE), buttons),
                gap=10,
                margins=(6, 8, 10, 8),
            ),
        )

    def add_button(self, text: str, icon: str, subject: str, act: Callable[[], object]) -> Button:
        """Append the fitting action."""
        button = Button(text, icon, size="small")
        button.setAccessibleName(f"{text}: {subject}")
        button.clicked.connect(lambda _checked=False: act())
        add(self.buttons, button)
        return button

    def add_menu(self, subject: str, entries: list[Entry]) -> None:
        """Append a menu with everything else."""
        button = Button("", "more", kind="ghost", size="small", tip=f"More for {subject}")
        menu = self.menu = QMenu(button)
        menu.setToolTipsVisible(True)
        for text, act in entries:
            action = QAction(tr(text), menu)
            action.triggered.connect(lambda _checked=False, act=act: act())
            menu.addAction(action)
        button.clicked.connect(lambda: menu.popup(button.mapToGlobal(button.rect().bottomLeft())))
        add(self.buttons, button)

    def show_bar(self, share: float, *, tone: str) -> None:
        """Show how far the run is, or came."""
        self.bar.show_share(share, tone=tone)
        self.bar.show()


class CurrentRow(RunRow):
    """The run that goes on."""

    def __init__(self, store: PictureStore, *, compact: bool, picture: Path | None) -> None:
        super().__init__(store, compact=compact, picture=picture)

    def show_model(self, title: str, model: RunModel) -> None:
        """Show where it is."""
        self.name.set_text(title)
        self.note.set_text(tr(short_facts(model.job.profile)) if model.job is not None else "")
        tone, icon = ("warn", "pause") if model.is_paused else ("ok", "play") if model.step else ("info", "clock")
        word = "Paused" if model.is_paused else "Training" if model.step else "Starting"
        self.chip.set(word, tone, icon)
        self.show_bar(model.share, tone="focus")
        left = model.time_left or model.phase_words
        facts = f"step {model.step:,} of {model.num_steps:,} · {left}" if model.num_steps else left
        self.facts.set_text(tr(facts))


class WaitingRow(RunRow):
    """A run that waits.

    Args:
        run: The run.
        store: Gives pictures.
        compact: Whether the window is narrow.
        times: When it starts, and how long it takes.
        goes_on: From which step it goes on; empty for one that begins at its first.
    """

    def __init__(self, run: QueuedRun, store: PictureStore, *, compact: bool, times: str, goes_on: str = "") -> None:
        title = job_title(run.job)
        self.handle = DragHandle(title)
        super().__init__(store, compact=compact, lead=self.handle)
        self.run = run
        self.setAccessibleName(tr(f"Waiting: {title}"))
        self.name.set_text(title)
        parts = [tr(goes_on), tr(short_facts(run.job.profile))]
        self.note.set_text(" · ".join(part for part in parts if part))
        self.facts.set_text(tr(times))


class PastRow(RunRow):
    """A run that was."""

    def __init__(self, run: PastRun, store: PictureStore, *, compact: bool) -> None:
        self.chosen = CheckMark(name=f"Compare {run.name}, {run.when}")
        super().__init__(store, compact=compact, lead=self.chosen, picture=run.picture)
        self.run = run
        state = run.state
        self.name.set_text(run.name)
        notes = " ".join(run.label.notes.split())
        dataset = run.dataset if run.label.name else ""
        self.note.set_text(" · ".join(part for part in (tr(run.when), notes, dataset, tr(run.settings)) if part))
        if notes:
            self.note.setToolTip(run.label.notes)
        self.chip.set(*(UNREADABLE if run.is_unreadable else LOOKS[state.state]))
        self.show_step(run)

    def show_step(self, run: PastRun) -> None:
        """Show how far it has come by now."""
        self.run, state = run, run.state
        if state.state != "done" and state.num_steps:
            self.show_bar(state.step / state.num_steps, tone="focus" if run.is_going else "text3")
        self.facts.set_text(tr(run.facts()))

    def refuse_delete(self) -> None:
        """Say why a run that goes on cannot be deleted."""
        delete = self.menu.actions()[-1]
        delete.setEnabled(False)
        delete.setToolTip(tr(STILL_TRAINED))


def open_folder(path: Path) -> None:
    """Show a folder in the system's own way."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
