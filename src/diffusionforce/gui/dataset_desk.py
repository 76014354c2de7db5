"""The dataset that the page has open: read, checked, repaired, captioned; every change can be undone.

Views listen to its signals and ask it for deeds; nothing here draws.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from diffusionforce.datasets.records import FileFinding
from diffusionforce.datasets.sets import SetFolder
from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.dataset_check import DatasetCheck
from diffusionforce.gui.dataset_files import Opened, Outbox, TakenIn, list_files, take_in
from diffusionforce.gui.model import dataset_title, dataset_words, words
from diffusionforce.gui.model.caption_book import CaptionBook, Change
from diffusionforce.gui.model.dataset_library import DatasetLibrary
from diffusionforce.gui.model.dataset_table import DatasetTable, FindingLine, Row
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.profile_view import ProfileView
from diffusionforce.gui.repair_bench import (
    CHOSEN,
    RepairBench,
    Repairs,
    by_folder,
    kept_words,
    label_words,
    named_words,
)


class DatasetDesk(QObject):
    """One dataset at a time.

    Attributes:
        choice: `demo:NAME`, a folder or a set; empty for none.
        folders: What it consists of.
        view: The profile with whose eyes datasets are looked at.
        table: Its files; only their names until the check is done.
        book: Its captions.
        trigger: The word that calls the subject, empty when none is known.
        problem: Why it cannot be opened or checked.
        is_checking: Whether a check is under way.
        checked_s: When the check ended, by `time.monotonic`; 0 before.
    """

    opened = Signal()
    changed = Signal()
    progressed = Signal(str, int, int)
    captions_changed = Signal()
    said = Signal(str, str, str, bool)
    """Tone, title and text of a message, and whether it can be undone."""

    def __init__(self, library: DatasetLibrary, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.library = library
        self.choice, self.trigger = "", ""
        self.folders: tuple[SetFolder, ...] = ()
        self.table, self.book = DatasetTable(), CaptionBook()
        self.problem: UserError | None = None
        self.is_checking, self.is_repairing = False, False
        self.checked_s = 0.0
        self._steps: list[tuple[Path | None, str]] = []
        self._asked = 0
        self._check: DatasetCheck | None = None
        self._outbox = Outbox()
        self._missing: list[Path] | None = None
        self.view = ProfileView()
        self._bench = RepairBench(self._outbox.write, self)
        self._bench.progressed.connect(lambda done, total: self.progressed.emit("Repairing", done, total))

    @property
    def title(self) -> str:
        """Its name for people."""
        return dataset_title.choice_title(self.choice) if self.is_read_only else self.library.title(self.choice)

    @property
    def is_read_only(self) -> bool:
        """Whether it comes with the app, so that nothing in it is written."""
        return self.choice.startswith("demo:")

    @property
    def undoable(self) -> str:
        """What would be undone, in words; empty for nothing."""
        return self._steps[-1][1] if self._steps and not self.is_repairing else ""

    @property
    def num_steps(self) -> int:
        """How many edits and repairs can be undone one after the other."""
        return len(self._steps)

    @property
    def can_repair(self) -> bool:
        """Whether repairs and edits are taken now."""
        return not self.is_read_only and not self.is_repairing and self.table.is_checked

    @property
    def missing_trigger(self) -> list[Path]:
        """Pictures whose caption lacks the trigger word; those without a caption lack more than that."""
        if self._missing is None:
            self._missing = self.book.without(self.trigger, self.book.written(self.table.captioned))
        return self._missing

    def use_profile(self, profile: str) -> None:
        """Look at datasets as a profile does."""
        if self.view.look_through(profile):
            self.check_again()

    def open(self, choice: str) -> None:
        """Open a dataset: its names at once, its findings when the check has them."""
        self.stop()
        self.choice, self.folders = choice, ()
        self.table, self.book, self.problem = DatasetTable(is_checked=False), CaptionBook(), None
        self.trigger, self.checked_s, self._steps, self._missing = "", 0.0, [], None
        self.is_checking = True
        self._asked += 1
        asked = self._asked
        self.opened.emit()
        background.run(
            self,
            lambda: list_files(self.library, choice),
            done=lambda found: self._on_listed(asked, found),
            failed=lambda error: self._refuse(asked, error),
        )

    def check_again(self) -> None:
        """Check the open dataset anew; what is known stays in sight until then."""
        if self.choice and self.folders:
            self.stop()
            self._asked += 1
            self._start_check(self._asked)
            self.changed.emit()

    def stop(self) -> None:
        """End a check or a repair that is under way."""
        self._bench.stop()
        if self._check is not None:
            self._check.cancel()
            self._check.deleteLater()
            self._check = None
        self.is_checking = False

    def cancel(self) -> None:
        """End what is under way, as the user asks for."""
        was_checking = self.is_checking
        self.stop()
        if was_checking:
            self.changed.emit()

    def _on_listed(self, asked: int, found: Opened) -> None:
        if asked != self._asked:
            return
        self.folders = found.folders
        self.view.take_folders(found.folders)
        self._steps = [(root, action) for root, action in found.repairs] if not self.is_read_only else []
        self.table = found.table
        self._start_check(asked)
        self.changed.emit()

    def _start_check(self, asked: int) -> None:
        self.is_checking, self.problem = True, None
        # Before a profile is chosen nobody knows the size, and nothing is too small for it.
        size = self.view.size if self.view.profile else None
        check = DatasetCheck(self.folders, profile=self.view.profile, size=size, parent=self)
        self._check = check
        check.progressed.connect(lambda done, total: self.progressed.emit("Checking", done, total))
        check.checked.connect(lambda results: self._on_checked(asked, results))
        check.failed.connect(lambda error: self._refuse(asked, error))
        check.start()

    def _on_checked(self, asked: int, results: list[Any]) -> None:
        if asked != self._asked:
            return
        own = self.library.entry(self.choice).trigger
        background.run(
            self,
            lambda: take_in(results, own),
            done=lambda taken: self._show(asked, taken),
            failed=lambda error: self._refuse(asked, error),
        )

    def _show(self, asked: int, taken: TakenIn) -> None:
        if asked != self._asked:
            return
        if self._check is not None:
            self._check.deleteLater()
            self._check = None
        self.is_checking, self.checked_s = False, time.monotonic()
        self.table, self.trigger, self._missing = taken.table, taken.trigger, taken.missing
        self.book.refresh(taken.captions)
        self.library.note_check(self.choice, taken.table)
        background.run(self, self.library.save, done=lambda _: None, failed=self._on_not_saved)
        self.changed.emit()

    def _refuse(self, asked: int, error: UserError) -> None:
        if asked == self._asked:
            self.stop()
            # What was known of it holds no longer, so that nobody trains with it.
            self.table, self._missing, self.problem = DatasetTable(is_checked=False), None, error
            self.changed.emit()

    def set_aside(self, rows: Sequence[Row]) -> None:
        """Move files that the user chose into the originals."""
        findings = tuple(FileFinding(what="chosen", name=row.facts.name) for row in rows)
        if rows:
            self.repair(FindingLine(kind=CHOSEN, rows=tuple(rows), findings=findings))

    def repair(self, line: FindingLine, *, only: Row | None = None) -> None:
        """Repair all files of a finding, or one of them, then check again."""
        if not self.can_repair:
            return
        chosen = [(row, finding) for row, finding in zip(line.rows, line.findings, strict=True) if only in (None, row)]
        self.is_repairing = True
        label = f"{line.kind.action}: {named_words([Path(finding.name).name for _, finding in chosen])}"
        asked = self._asked

        def done(repairs: Repairs) -> None:
            self.is_repairing = False
            if asked == self._asked:
                self._on_repaired(label, repairs)
            else:
                self.changed.emit()  # Another dataset was opened meanwhile; what can be undone is written down.

        self._bench.repair(
            line.kind.repair,
            by_folder(chosen),
            action=label,
            caption=self.trigger,
            done=done,
            failed=self._on_not_repaired,
        )
        self.changed.emit()

    def _on_repaired(self, label: str, repairs: Repairs) -> None:
        self._steps += [(folder, label) for folder in repairs.folders]
        if repairs.problems:
            lost = words.count(len(repairs.problems), "file")
            self.said.emit("warn", f"{lost} could not be repaired", repairs.problems[0], True)
        else:
            self.said.emit("ok", label_words(label), kept_words(repairs), True)
        self.check_again()

    def _on_not_repaired(self, error: UserError) -> None:
        self.is_repairing = False
        self.said.emit("err", error.sentence, error.hint, False)
        self.check_again()

    def write_caption(self, picture: Path, text: str) -> None:
        """Take the caption of one picture as it was typed."""
        if not self.can_repair:
            return
        before = self.book.num_steps
        change = self.book.write(picture, text)
        if change is not None:
            if self.book.num_steps > before:
                self._steps.append((None, change.label))
            self._save(change)

    def apply_captions(self, label: str, texts: Mapping[Path, str]) -> None:
        """Change many captions as one step."""
        change = self.book.apply(label, texts) if self.can_repair else None
        if change is not None:
            self._steps.append((None, label))
            self._save(change)
            self.said.emit("ok", label, dataset_words.captions_words(change), True)

    def set_trigger(self, word: str) -> None:
        """Remember the word that calls the subject."""
        self.trigger, self._missing = word.strip(), None
        entry = self.library.add(self.choice)
        entry.trigger = self.trigger
        self.library.save()
        self.captions_changed.emit()

    def undo(self) -> None:
        """Take the last repair or edit back."""
        if not self.undoable:
            return
        folder, label = self._steps.pop()
        if folder is None:
            change = self.book.undo()
            if change is not None:
                self._save(change)
                self.said.emit("info", tr("Undone: {label}").format(label=label_words(label)), "", False)
            return
        self.is_repairing = True
        self._bench.undo(folder, done=lambda: self._on_undone(label), failed=self._on_not_repaired)

    def _on_undone(self, label: str) -> None:
        self.is_repairing = False
        self.said.emit(
            "info",
            tr("Undone: {label}").format(label=label_words(label)),
            "The originals are back in their places.",
            False,
        )
        self.check_again()

    def _save(self, change: Change) -> None:
        """Write captions on a thread; the table knows them at once."""
        self.table, self._missing = self.table.with_captions(change.after), None
        self._outbox.put(change.after)
        background.run(self, self._outbox.write, done=lambda _: None, failed=self._on_not_saved)
        self.captions_changed.emit()

    def _on_not_saved(self, error: UserError) -> None:
        self.said.emit("err", error.sentence, error.hint, False)

    def change_folders(self, folders: Sequence[SetFolder]) -> None:
        """Give the dataset other folders, and open it anew."""
        try:
            choice = self.library.change_folders(self.choice, tuple(folders), title=self.title)
        except UserError as error:
            self.said.emit("err", error.sentence, error.hint, False)
            return
        self.open(choice)
