"""The chosen file: what the model will see of it, its caption to edit, what was found about it."""

from pathlib import Path

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QComboBox, QFrame, QPlainTextEdit, QVBoxLayout, QWidget

from diffusionforce.datasets.findings import KINDS
from diffusionforce.gui import paint, theme
from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import training_size, words
from diffusionforce.gui.model.caption_book import adding_trigger, num_words
from diffusionforce.gui.model.dataset_table import TONES, FindingLine, Row
from diffusionforce.gui.pages.datasets_bulk import BulkEdit
from diffusionforce.gui.thumbnails import LARGE_PX, Thumbnails
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.crop_view import CropView
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import add, clear, column, hairline, holder, row, scrolling

WIDTH_PX, COMPACT_PX = 312, 268
SAVE_AFTER_MS = 1000
NUM_ALIKE = 5


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
        self._size = training_size.USUAL
        self._original = ""
        self._saving = QTimer(self)
        self._saving.setSingleShot(True)
        self._saving.setInterval(SAVE_AFTER_MS)
        self._saving.timeout.connect(self.save)
        self._make_parts()
        self._lay_out()
        thumbnails.arrived.connect(self._on_arrived)
        desk.captions_changed.connect(self._on_captions)
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
        self.sizes = QComboBox()
        self.sizes.setAccessibleName("Training size")
        self.sizes.currentIndexChanged.connect(self._on_size)
        self.crop = CropView()
        self._facts = {"File": Elided(""), "Cropped": Label("", wrap=True)}
        self.words = Label("", "muted")
        self.caption = QPlainTextEdit()
        self.caption.setAccessibleName("Caption")
        self.caption.setTabChangesFocus(True)
        self.caption.setPlaceholderText("Write what the picture shows")
        self.caption.setFixedHeight(124)
        self.caption.textChanged.connect(self._on_typed)
        self.state = Label("", "muted")
        self.revert = Button("Revert", kind="ghost", size="small")
        self.revert.clicked.connect(self._revert)
        self.coverage = Label("", "small", wrap=True)
        self.add_missing = Button("Add it to the missing ones", "tag", size="small")
        self.add_missing.clicked.connect(self._add_missing)
        self._found = column(gap=8)
        self.alike = AlikeStrip(self._thumbnails)
        self.alike_note = Label("", "muted")
        self.source = AlikeStrip(self._thumbnails)
        self.source_note = Label("", "muted")
        self.bulk = BulkEdit(self._desk)
        self.bulk_title = Label("", "section")

    def _lay_out(self) -> None:
        facts = column(gap=4)
        for name, value in self._facts.items():
            facts.addLayout(row(_fixed(Label(name, "small"), 72), (value, 1), gap=6))
            if name == "File":
                facts.addLayout(row(_fixed(Label("Trained at", "small"), 72), self.sizes, None, gap=6))
        seen = row(Label("What the model will see", "small"), None)
        self._found_holder = holder(self._found)
        self._alike_holder = holder(
            column(hairline(), row(Label("Same shape", "strong"), self.alike_note, None), self.alike, gap=8)
        )
        self._source_holder = holder(
            column(hairline(), row(Label("Made from", "strong"), self.source_note, None), self.source, gap=8)
        )
        self._caption_part = holder(
            column(
                hairline(),
                row(Label("Caption", "strong"), None, self.words),
                self.caption,
                row(self.state, None, self.revert),
                self.coverage,
                self.add_missing,
                gap=8,
            )
        )
        one = column(
            row((self.name, 1), self.aside, self.before, self.after, gap=2),
            seen,
            self.crop,
            facts,
            self._found_holder,
            self._source_holder,
            self._caption_part,
            self._alike_holder,
            None,
            gap=9,
        )
        self._one = holder(one)
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
        self._none = Label("Choose a picture to see what the model will see of it.", "body2", wrap=True)
        inside = column(self._one, self._many, self._none, None, gap=0, margins=(16, 18, 14, 12))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scrolling(holder(inside), name="clear"))

    def offer_sizes(self, size: tuple[int, int]) -> None:
        """Offer training sizes, with the profile's own chosen."""
        self._size = size
        self.sizes.blockSignals(True)
        self.sizes.clear()
        for each in training_size.choices(size):
            self.sizes.addItem(training_size.words(each), each)
        self.sizes.blockSignals(False)

    @property
    def size_px(self) -> tuple[int, int]:
        """The training size that is looked at."""
        return self._size

    size_changed = Signal()

    def _on_size(self, index: int) -> None:
        chosen = self.sizes.itemData(index)
        if chosen:
            self._size = (int(chosen[0]), int(chosen[1]))
            self._show_picture()
            self.size_changed.emit()

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
        if len(rows) > 1:
            pictures = [row.path for row in rows if row.facts.media == "picture"]
            self.bulk_title.set_text(words.count(len(rows), "file") + " chosen")
            self.bulk.show_pictures(pictures)
        if self._row is not None:
            self._show_row(self._row)

    def set_aside(self) -> None:
        """Move the chosen files into the originals."""
        self.save()
        if self._desk.can_repair:
            self._desk.set_aside(self._rows)

    def _show_row(self, shown: Row) -> None:
        self.name.set_text(shown.path.name)
        self._show_picture()
        self._show_findings(shown)
        has_caption = shown.facts.media == "picture" and shown.is_readable
        self._caption_part.setVisible(has_caption and self._desk.table.is_checked)
        self._take_caption()
        self._show_coverage()
        self._show_alike(shown)
        sources = self._desk.controls_of(shown.path)
        self._source_holder.setVisible(sources is not None and has_caption)
        self.source.setVisible(bool(sources))
        self.source.show_paths((sources or [])[:NUM_ALIKE])
        self.source_note.set_text("" if sources else "nothing in the folder control")

    def _show_picture(self) -> None:
        shown = self._row
        if shown is None:
            return
        framing = shown.framing(self._size)
        picture = self._thumbnails.get(shown.path, edge_px=LARGE_PX) if shown.is_readable else None
        if picture is None and shown.is_readable:
            picture = self._thumbnails.get(shown.path)
        cropped = "nothing"
        if framing is not None and framing.cropped_share >= 0.005:
            where = "at the sides" if framing.is_cut_at_sides else "above and below"
            cropped = f"{words.percent(framing.cropped_share)} {where}"
        if framing is not None and framing.is_blurry:
            cropped += f", blown up {framing.scale:.1f} ×"
        icon = "film" if shown.facts.media == "clip" else "log" if shown.facts.media == "caption" else "image"
        spoken = f"{shown.path.name}, {shown.size_words}, cut off: {cropped}"
        self.crop.show_picture(picture, framing if shown.facts.media == "picture" else None, icon=icon, spoken=spoken)
        turned = ", turned upright" if any(finding.what == "rotated" for finding in shown.findings) else ""
        kind = f"{shown.facts.format}, " if shown.facts.format else ""
        self._facts["File"].set_text(f"{kind}{shown.size_words}{turned}" if shown.size_words else "not readable")
        self._facts["Cropped"].set_text(cropped if framing is not None else "–")

    def _show_findings(self, shown: Row) -> None:
        clear(self._found)
        for finding in shown.findings:
            kind = KINDS[finding.what]
            tone = TONES[kind.group]
            text = Label(f"{finding.note or kind.heading(1)}. {kind.meaning}", "small", wrap=True)
            line = row(gap=8)
            line.addWidget(Icon(tone, tone, 16), 0, Qt.AlignmentFlag.AlignTop)
            add(line, (text, 1))
            parts = [line]
            if self._desk.can_repair and kind.repair and kind.repair != "write_caption":
                button = Button(kind.action, size="small")
                button.setAccessibleName(f"{kind.action}: {shown.path.name}")
                found = FindingLine(kind=kind, rows=(shown,), findings=(finding,))
                button.clicked.connect(lambda _checked=False, found=found: self._desk.repair(found))
                parts.append(row(24, button, None, gap=0))
            self._found.addLayout(column(*parts, gap=6))
        self._found_holder.setVisible(bool(shown.findings))

    def _show_alike(self, shown: Row) -> None:
        number, alike = self._desk.table.same_shape(shown, most=NUM_ALIKE) if shown.facts.is_used else (0, [])
        self.alike_note.set_text(words.count(number, "other"))
        self.alike.show_paths([row.path for row in alike])
        self._alike_holder.setVisible(bool(alike))

    def _take_caption(self) -> None:
        text = self._desk.book.text(self._row.path) if self._row is not None else ""
        self._original = text
        self._set_text(text)
        self.caption.setReadOnly(self._desk.is_read_only)
        self.state.set_text("Comes with the app, so it stays as it is" if self._desk.is_read_only else "")
        self.revert.hide()

    def _set_text(self, text: str) -> None:
        if text != self.caption.toPlainText():
            self.caption.blockSignals(True)
            self.caption.setPlainText(text)
            self.caption.blockSignals(False)
        self.words.set_text(words.count(num_words(text), "word"))

    def _on_typed(self) -> None:
        text = self.caption.toPlainText()
        self.words.set_text(words.count(num_words(text), "word"))
        self.state.set_text("Not saved yet" if text.strip() else "Empty: it would be left out")
        self.revert.setVisible(text != self._original)
        self._saving.start()

    def save(self) -> None:
        """Save what was typed, where it was."""
        if self._saving.isActive() or self.sender() is self._saving:
            self._saving.stop()
            if self._row is not None and not self._desk.is_read_only:
                self._desk.write_caption(self._row.path, self.caption.toPlainText())
                self.state.set_text(
                    "Saved" if self.caption.toPlainText().strip() else "Saved: empty, so it is left out"
                )

    def _revert(self) -> None:
        self._set_text(self._original)
        self._saving.start()
        self.save()
        self.revert.hide()
        self.state.set_text("As it was")

    def focus_caption(self) -> None:
        """Put the cursor into the caption."""
        self.caption.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _on_captions(self) -> None:
        if self._row is not None:
            self._row = self._desk.table.row_of(self._row.path) or self._row
            if not self._saving.isActive() and self.caption.toPlainText().split() != self._text().split():
                self._set_text(self._text())
            self._show_findings(self._row)
        self._show_coverage()
        self.bulk.refresh()

    def _text(self) -> str:
        return self._desk.book.text(self._row.path) if self._row is not None else ""

    def _show_coverage(self) -> None:
        desk = self._desk
        pictures = desk.table.captioned
        missing = desk.missing_trigger
        self.coverage.setVisible(bool(desk.trigger))
        have = len(pictures) - len(missing)
        if desk.trigger:
            whole = "all" if not missing else f"{have:,} of"
            self.coverage.set_text(
                f"Trigger word “{desk.trigger}” is in {whole} {words.count(len(pictures), 'caption')}."
            )
        self.add_missing.setVisible(bool(desk.trigger and missing) and desk.can_repair)
        self.add_missing.set_text(
            "Add it to the missing one" if len(missing) == 1 else f"Add it to the {len(missing):,} missing"
        )

    def _add_missing(self) -> None:
        self.save()
        desk = self._desk
        missing = desk.missing_trigger
        desk.apply_captions("Add the trigger word", desk.book.plan(missing, adding_trigger(desk.trigger)))

    def _on_arrived(self, path: str) -> None:
        if self._row is not None and path == str(self._row.path):
            self._show_picture()

    def set_compact(self, compact: bool) -> None:
        """Narrow the pane in a narrow window."""
        self.setFixedWidth(COMPACT_PX if compact else WIDTH_PX)
        self.crop.setFixedHeight(160 if compact else 200)
        self.caption.setFixedHeight(96 if compact else 124)


class AlikeStrip(QWidget):
    """A few small pictures in a row."""

    def __init__(self, thumbnails: Thumbnails) -> None:
        super().__init__()
        self._thumbnails = thumbnails
        self._paths: list[Path] = []
        self.setFixedHeight(48)
        thumbnails.arrived.connect(lambda _path: self.update())

    def show_paths(self, paths: list[Path]) -> None:
        """Show other pictures."""
        self._paths = paths
        self.setAccessibleName(", ".join(path.name for path in paths))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the pictures."""
        painter = paint.begin(self)
        edge = (self.width() - 6 * (NUM_ALIKE - 1)) / NUM_ALIKE
        for index, path in enumerate(self._paths):
            box = QRectF(index * (edge + 6), 0, edge, 48)
            picture = self._thumbnails.get(path)
            if picture is not None:
                paint.cover(painter, box, picture, radius=5)
            else:
                paint.box(painter, box, radius=5, fill=theme.colour("raised"))
        painter.end()


def _fixed(label: Label, width: int) -> Label:
    label.setFixedWidth(width)
    return label
