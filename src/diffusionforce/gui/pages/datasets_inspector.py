"""The chosen file: what the model will see of it, its caption to edit, what was found about it."""

from collections.abc import Iterator

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QVBoxLayout

from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import words
from diffusionforce.gui.model.dataset_table import Row
from diffusionforce.gui.pages.datasets_bulk import BulkEdit
from diffusionforce.gui.pages.datasets_caption import CaptionEditor
from diffusionforce.gui.pages.datasets_found import FoundPart
from diffusionforce.gui.pages.datasets_seen import SeenPart
from diffusionforce.gui.thumbnails import Thumbnails
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import column, hairline, holder, row, scrolling
from diffusionforce.gui.widgets.small_pictures import SmallPictures

WIDTH_PX, COMPACT_PX = 312, 268
NUM_ALIKE, NUM_SOURCES, SOURCE_PX = 5, 3, 88


class Inspector(QFrame):
    """Shows one row, or the bulk edit where several are chosen."""

    stepped = Signal(int)
    """To a neighbour: -1 or 1."""

    def __init__(self, desk: DatasetDesk, thumbnails: Thumbnails) -> None:
        super().__init__()
        self.setObjectName("inspector")
        self.setFixedWidth(WIDTH_PX)
        self._desk, self._thumbnails = desk, thumbnails
        self._row: Row | None = None
        self._rows: list[Row] = []
        self._is_built = False
        self._inside = column(None, gap=0, margins=(16, 18, 14, 12))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scrolling(holder(self._inside), name="clear"))

    def build(self) -> Iterator[None]:
        """Build it in pieces, once it has its place in the window."""
        self._make_parts()
        yield
        self._build_one()
        yield
        self._build_many()
        self._none = Label("Choose a picture to see what the model will see of it.", "body2", wrap=True)
        self._none.hide()
        self._inside.insertWidget(2, self._none)
        self._desk.captions_changed.connect(self._on_captions)
        self._is_built = True
        self.show_rows([])

    def _make_parts(self) -> None:
        self.name = Elided("", "section", mode=Qt.TextElideMode.ElideMiddle)
        self.before = Button("", "chev-left", kind="ghost", size="small", tip="Previous (Alt+Up)")
        self.after = Button("", "chev-right", kind="ghost", size="small", tip="Next (Alt+Down)")
        self.aside = Button("", "trash", kind="ghost", size="small", tip="Set aside (Del): into the folder originals")
        self.aside.clicked.connect(self.set_aside)
        self.aside_all = Button("Set aside", "trash", tip="Moves the files into the folder originals (Del)")
        self.aside_all.clicked.connect(self.set_aside)
        self.before.setShortcut("Alt+Up")
        self.after.setShortcut("Alt+Down")
        self.before.clicked.connect(lambda: self.stepped.emit(-1))
        self.after.clicked.connect(lambda: self.stepped.emit(1))
        self.seen = SeenPart(self._desk, self._thumbnails)
        self.found = FoundPart(self._desk)
        self.caption = CaptionEditor(self._desk)
        self.alike, self.alike_note = SmallPictures(self._thumbnails, num=NUM_ALIKE), Label("", "muted")
        self.source = SmallPictures(self._thumbnails, num=NUM_SOURCES, height_px=SOURCE_PX, whole=True)
        self.source_note = Label("", "muted")

    def _build_one(self) -> None:
        """Build what is seen of one file."""
        self._alike_holder = holder(
            column(hairline(), row(Label("Same shape", "strong"), self.alike_note, None), self.alike, gap=8)
        )
        self._source_holder = holder(
            column(hairline(), row(Label("Made from", "strong"), self.source_note, None), self.source, gap=8)
        )
        self._one = holder(
            column(
                row((self.name, 1), self.aside, self.before, self.after, gap=2),
                self.seen,
                self.found,
                self._source_holder,
                self.caption,
                self._alike_holder,
                None,
                gap=9,
            )
        )
        self._one.hide()
        self._inside.insertWidget(0, self._one)

    def _build_many(self) -> None:
        """Build what is seen of several files."""
        self.bulk, self.bulk_title = BulkEdit(self._desk), Label("", "section")
        self._many = holder(
            column(
                self.bulk_title,
                Label("Edit their captions together", "small"),
                self.bulk,
                hairline(),
                row(self.aside_all, None),
                None,
                gap=9,
            )
        )
        self._many.hide()
        self._inside.insertWidget(1, self._many)

    def show_rows(self, rows: list[Row]) -> None:
        """Show one row, several, or none."""
        self.save()
        self._rows = rows
        self._row = rows[0] if len(rows) == 1 else None
        for button in (self.aside, self.aside_all):
            button.allow(self._desk.can_repair, reason="It comes with the app and stays as it is.")
        self._one.setVisible(len(rows) == 1)
        self._many.setVisible(len(rows) > 1)
        self._none.setVisible(not rows)
        self.seen.show_row(self._row)
        if len(rows) > 1:
            self.bulk_title.set_text(words.count(len(rows), "file") + " chosen")
            self.bulk.show_pictures([row.path for row in rows if row.is_captioned])
        if self._row is not None:
            self._show_row(self._row)

    def set_aside(self) -> None:
        """Move the chosen files into the originals."""
        self.save()
        if self._desk.can_repair:
            self._desk.set_aside(self._rows)

    def _show_row(self, shown: Row) -> None:
        self.name.set_text(shown.path.name)
        self.found.show_row(shown)
        self.caption.setVisible(shown.is_captioned and self._desk.table.is_checked)
        self.caption.show_row(shown)
        self._show_alike(shown)
        self._show_sources(shown)

    def _show_sources(self, shown: Row) -> None:
        """Show what the file is made from, where the model asks for that and some of its folder have it."""
        controls = self._desk.view.intake.controls
        asked = controls == "needed" or (controls == "used" and self._desk.table.has_controls)
        self._source_holder.setVisible(asked and shown.facts.media == "picture" and shown.is_checked)
        self.source.setVisible(bool(shown.controls))
        self.source.show_paths(shown.controls)
        more = len(shown.controls) - NUM_SOURCES
        self.source_note.set_text(f"and {more} more" if more > 0 else "" if shown.controls else "nothing")

    def _show_alike(self, shown: Row) -> None:
        number, alike = self._desk.table.same_shape(shown, most=NUM_ALIKE) if shown.facts.is_used else (0, [])
        self.alike_note.set_text(words.count(number, "other"))
        self.alike.show_paths([row.path for row in alike])
        self._alike_holder.setVisible(bool(alike))

    def save(self) -> None:
        """Save the caption that was typed."""
        self.caption.save()

    def focus_caption(self) -> None:
        """Put the cursor into the caption."""
        self.caption.take_focus()

    def _on_captions(self) -> None:
        if self._row is not None:
            self._row = self._desk.table.row_of(self._row.path) or self._row
            self.found.show_row(self._row)
        self.caption.refresh(self._row)
        self.bulk.refresh()

    def set_compact(self, compact: bool) -> None:
        """Narrow the pane in a narrow window."""
        self.setFixedWidth(COMPACT_PX if compact else WIDTH_PX)
        if not self._is_built:
            return
        self.seen.set_compact(compact)
        self.caption.set_compact(compact)
