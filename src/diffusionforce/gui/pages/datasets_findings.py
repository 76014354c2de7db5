"""What is wrong with the dataset, and what to do about it: the card above the pictures."""

import itertools
import time
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from diffusionforce.datasets.findings import GROUPS
from diffusionforce.datasets.records import Group
from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import held_out, words
from diffusionforce.gui.model.dataset_table import TONES, FindingLine
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.bars import ProgressBar
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.finding_row import ROW_PX, FindingRow
from diffusionforce.gui.widgets.labels import Icon, Label
from diffusionforce.gui.widgets.layout import add, clear, hairline, holder, row, scrolling

NUM_FOLDED = 4
LOW_PAGE_PX = 640
FOLDED_SHARE, FOLDED_LOW_SHARE = 0.4, 0.3
"""Of the page, for findings while they are folded."""
HEADER_GAPS_PX = 2 * 16 + 6 * 8 + 40
"""Beside title, chips and button: margins, gaps, and room for the button to say something longer."""
LIST_MARGINS_PX = 2 * 16 + 6 + 12
"""Beside the rows: what the card, the list and its scroll bar take."""


class FindingsCard(Card):
    """Findings by kind, the worst first; while a check runs, how far it is."""

    files_asked = Signal(str)
    """Key of a kind whose files are to be shown."""
    write_asked = Signal(object)
    """A line whose captions are to be written by hand."""

    def __init__(self, desk: DatasetDesk) -> None:
        super().__init__("Check before training", " ", gap=2)
        self._desk = desk
        self._is_open = self._is_compact = False
        self._rows = QVBoxLayout()
        self._rows.setSpacing(0)
        self._rows.setContentsMargins(0, 0, 6, 0)
        self._list = scrolling(holder(self._rows), name="clear")
        self.fold = Button("Show all", kind="ghost", size="small")
        self.fold.clicked.connect(self._turn)
        self._chips = [Chip() for _ in GROUPS]
        self.cancel = Button("Cancel", "x", size="small")
        self.cancel.clicked.connect(desk.cancel)
        add(self.header, *self._chips, self.fold)
        self.bar = ProgressBar(name="Check")
        self._progress = holder(row((self.bar, 1), self.cancel, gap=14, margins=(0, 6, 0, 0)))
        self._fine = _line("ok", "Nothing to fix. Everything in it is trained on.")
        self._nothing = _line(
            "err", "Nothing to train on. Put pictures with captions into the folder, and check again."
        )
        self._held_out_words = Label("", "body2", wrap=True)
        self._held_out = holder(row(Icon("info", "info", 18), (self._held_out_words, 1), gap=10, margins=(0, 6, 0, 2)))
        self._unchecked = _line("info", "Not checked. Press Check again to look for problems.")
        self.add(self._progress, self._fine, self._nothing, self._unchecked, self._list, self._held_out)
        self._lines: list[FindingLine] = []
        self._shown_rows: list[FindingRow] = []
        desk.progressed.connect(self._on_progress)

    def show_desk(self) -> None:
        """Show the findings of the open dataset, or how far the check is."""
        desk = self._desk
        busy = desk.is_checking or desk.is_repairing
        self._lines = [] if busy or not desk.table.is_checked else desk.table.lines()
        self._progress.setVisible(busy)
        is_known = not busy and desk.table.is_checked
        self._fine.setVisible(is_known and bool(desk.table.counted) and not self._lines)
        self._nothing.setVisible(is_known and not desk.table.counted)
        num_used, fewest = len(desk.table.used), desk.view.intake.fewest_to_split
        what, why = held_out.told(num_used, fewest=fewest)
        # Findings need the room more than what is as it should be; a demo has a set of its own that is held out.
        is_worth_it = num_used < fewest or not (self._lines or desk.is_read_only)
        self._held_out.setVisible(is_known and bool(what) and is_worth_it)
        self._held_out_words.set_text(f"{what}. {why}")
        self._unchecked.setVisible(not busy and not desk.table.is_checked)
        self.title.set_text("Checking the files" if busy else "Check before training")
        # Where there are findings, their numbers say it all, and need the room.
        self.note.set_text(" " if busy or self._is_compact or self._lines else tr(self._note()))
        self.bar.show_share(0)
        self._show_chips()
        self._fill()

    def _show_chips(self) -> None:
        """Show how many findings there are of each weight: in words where the title leaves room for them."""
        counts = self._desk.table.counts()
        for says_words in (True, False):
            for chip, group in zip(self._chips, GROUPS, strict=True):
                text = _chip_words(group, counts[group])
                chip.set(text if says_words else f"{counts[group]:,}", TONES[group], TONES[group])
                chip.setToolTip(tr(text))
                chip.setVisible(bool(self._lines) and counts[group] > 0)
            parts = [self.title, self.fold, *(chip for chip in self._chips if not chip.isHidden())]
            needed = sum(part.sizeHint().width() if part is self.title else part.width() for part in parts)
            if not self._is_compact and needed + HEADER_GAPS_PX <= self.width():
                break

    def _note(self) -> str:
        desk = self._desk
        if not desk.checked_s:
            return " "
        return f"{desk.table.summary()}, checked {words.ago(time.monotonic() - desk.checked_s)}"

    def _fill(self) -> None:
        clear(self._rows)
        made = self._shown_rows = [self._row(line) for line in self._lines]
        widest = max((each.repair.sizeHint().width() for each in made if each.repair.text()), default=0)
        for index, each in enumerate(made):
            if index:
                self._rows.addWidget(hairline())
            # So that the buttons stand in columns, where that leaves room for the words.
            each.repair.setMinimumWidth(0 if self._is_compact else widest)
            self._rows.addWidget(each)
        surplus = len(self._lines) - NUM_FOLDED
        self.fold.setVisible(surplus > 0)
        self.fold.set_text("Show fewer" if self._is_open else f"Show all {len(self._lines)}")
        self._list.setVisible(bool(self._lines))
        self._fit()

    def _row(self, line: FindingLine) -> FindingRow:
        desk = self._desk
        action = line.kind.action if desk.can_repair else ""
        writes = line.kind.repair == "write_caption"
        if writes and action:
            action = f"Use “{desk.trigger}”" if desk.trigger and len(desk.trigger) <= 16 else "Write caption"
        made = FindingRow(line, action=action)
        made.show_asked.connect(lambda: self.files_asked.emit(line.kind.key))
        if writes and not action.startswith("Use"):
            made.repair_asked.connect(lambda: self.write_asked.emit(line))
        else:
            made.repair_asked.connect(lambda: desk.repair(line))
        return made

    def set_compact(self, compact: bool) -> None:
        """Shorten words in a narrow window."""
        self._is_compact = compact
        self.show_desk()

    def _turn(self) -> None:
        self._is_open = not self._is_open
        self._fill()

    def _fit(self) -> None:
        """Give the list the height of what it shows; what is more scrolls, so that the pictures keep their room."""
        rows = [row for row in self._shown_rows if not row.isHidden()]
        # Where they are high, so that they fit when the bar to scroll with is there, too.
        width_px = self.width() - LIST_MARGINS_PX
        heights = [max(ROW_PX, row.heightForWidth(width_px)) + 1 for row in rows]
        parent = self.parentWidget()
        page_px = parent.height() if parent is not None else 800
        is_low = page_px <= LOW_PAGE_PX
        share = FOLDED_LOW_SHARE if is_low else FOLDED_SHARE
        folded = _whole_rows(heights[: 3 if is_low else NUM_FOLDED], limit_px=int(page_px * share))
        limit = max(folded, int(page_px * 0.5)) if self._is_open else folded
        # Without the hairline under the last one.
        self._list.setFixedHeight(max(1, min(sum(heights), limit) - 1))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the list to the page."""
        super().resizeEvent(event)
        self._show_chips()
        self._fit()

    def _on_progress(self, word: str, done: int, total: int) -> None:
        if self._progress.isVisible():
            self.title.set_text("Checking the files" if word == "Checking" else "Repairing")
            self.note.set_text(tr(f"{done:,} of {total:,}"))
            self.bar.show_share(done / max(1, total))


def _whole_rows(heights: Sequence[int], *, limit_px: int) -> int:
    """Return the height of as many of the first rows as have room, one at least."""
    return max((height for height in itertools.accumulate(heights) if height <= limit_px), default=sum(heights[:1]))


def _chip_words(group: Group, number: int) -> str:
    if group == "left_out":
        return f"{number:,} left out"
    if group == "fix":
        return f"{number:,} to fix"
    return f"{number:,} notes" if number != 1 else "1 note"


def _line(tone: str, text: str) -> QWidget:
    return holder(row(Icon(tone, tone, 18), Label(text, "body2"), None, gap=10, margins=(0, 6, 0, 2)))
