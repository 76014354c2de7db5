"""The panel with the folders that are trained on together: how often each counts, at which size, made from what."""

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QFrame, QSpinBox, QVBoxLayout

from diffusionforce.datasets.intake import FRAME_STRIDE, MIN_CLIP_FRAMES
from diffusionforce.datasets.sets import MAX_FRAMES, MAX_REPEATS, SetFolder
from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import training_size
from diffusionforce.gui.model.dataset_words import media_words
from diffusionforce.gui.model.folder_choices import SIZE_RULE, SIZES, read_size, with_changes
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.datasets_panel import Panel
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Elided, Icon, Label, set_property
from diffusionforce.gui.widgets.layout import clear, column, hairline, holder, row, scrolling

REPEATS_PX, SIZE_PX, FRAMES_PX, INDENT_PX = 84, 140, 152, 26
ROW_PX, MOST_ROWS = 74, 3


class FolderLine(QFrame):
    """One folder."""

    changed = Signal()
    removed = Signal()

    def __init__(self, folder: SetFolder, desk: DatasetDesk, *, is_only: bool) -> None:
        super().__init__()
        self.setObjectName("clear")
        self.folder, self._desk = folder, desk
        self.is_valid = True
        self.repeats, self.sizes, self.frames = QSpinBox(), QComboBox(), QSpinBox()
        self.controls = Button("", "folder", size="small", tip="Choose the folder with what the pictures are made from")
        self.no_controls = Button("", "x", kind="ghost", size="small", tip="Use the folder control beside the pictures")
        self.remove = Button("", "x", kind="ghost", size="small", tip="Take this folder out")
        self.remove.clicked.connect(self.removed)
        self.remove.allow(not is_only and not desk.is_read_only, reason="A dataset needs a folder.")
        self._make_repeats()
        self._make_size()
        self._make_frames()
        self._make_controls()
        self._lay_out()

    def _make_repeats(self) -> None:
        self.repeats.setRange(1, MAX_REPEATS)
        self.repeats.setPrefix("× ")
        self.repeats.setValue(self.folder.repeats)
        self.repeats.setFixedWidth(REPEATS_PX)
        self.repeats.setAccessibleName(tr(f"Repeats of {self.folder.path}"))
        self.repeats.setEnabled(not self._desk.is_read_only)
        self.repeats.valueChanged.connect(lambda value: self._change(repeats=value))

    def _make_size(self) -> None:
        sizes, usual = self.sizes, self._desk.view.size
        sizes.setEditable(True)
        sizes.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        sizes.addItem(tr("As the profile"), None)
        for each in SIZES:
            sizes.addItem(training_size.words(each), each)
        own = (self.folder.width, self.folder.height)
        if self.folder.width and own not in SIZES:
            sizes.addItem(training_size.words(own), own)
        sizes.setCurrentText(training_size.words(own) if self.folder.width else tr("As the profile"))
        sizes.setFixedWidth(SIZE_PX)
        editor = sizes.lineEdit()
        for named in (sizes, editor) if editor is not None else (sizes,):
            named.setAccessibleName(tr(f"Training size of {self.folder.path}"))
        sizes.setToolTip(tr(f"The profile trains at {training_size.words(usual)}. {SIZE_RULE}"))
        sizes.setEnabled(not self._desk.is_read_only)
        sizes.currentTextChanged.connect(self._on_size)

    def _make_frames(self) -> None:
        frames, intake = self.frames, self._desk.view.intake
        frames.setRange(MIN_CLIP_FRAMES - FRAME_STRIDE, MAX_FRAMES // FRAME_STRIDE * FRAME_STRIDE + 1)
        frames.setSingleStep(FRAME_STRIDE)
        # The least value stands for what the profile's previews have.
        frames.setSpecialValueText(tr(f"{intake.frames_of(0)} frames"))
        frames.setSuffix(tr(" frames"))
        frames.setValue(intake.frames_of(self.folder.frames) if self.folder.frames else frames.minimum())
        frames.setFixedWidth(FRAMES_PX)
        frames.setAccessibleName(tr(f"Frames of the clips of {self.folder.path}"))
        frames.setToolTip(tr("Frames of each clip that are trained on; at first as many as the previews have."))
        frames.setEnabled(not self._desk.is_read_only)
        frames.valueChanged.connect(self._on_frames)
        self._has_frames = intake.takes_clips

    def _make_controls(self) -> None:
        self.controls.clicked.connect(self._browse)
        self.no_controls.clicked.connect(lambda: self._set_controls(""))
        self._controls_name = Elided("", "small", mode=Qt.TextElideMode.ElideMiddle)
        for button in (self.controls, self.no_controls):
            button.allow(not self._desk.is_read_only, reason="It comes with the app and stays as it is.")
        self._has_controls = self._desk.view.intake.controls != "ignored"
        self._show_controls()

    def _lay_out(self) -> None:
        used = [each for each in self._desk.table.used if each.folder == Path(self.folder.path)]
        clips = sum(each.facts.media == "clip" for each in used)
        note = f"{media_words(len(used), num_clips=clips)} trained on" if used else "not read yet"
        name = Elided(self.folder.path, "body", mode=Qt.TextElideMode.ElideMiddle)
        self._made_from = holder(
            row(Label("Made from", "small"), (self._controls_name, 1), self.controls, self.no_controls, gap=6)
        )
        choices = row(INDENT_PX, self.repeats, self.sizes, self.frames, (self._made_from, 1), gap=8)
        if not self._has_controls:
            choices.addStretch(1)
        head = row(Icon("folder", "text2", 16), (name, 1), Label(note, "caption"), self.remove, gap=10)
        self.setLayout(column(head, choices, gap=4))
        # Not before they lie in this: a widget that is shown by itself is a window.
        self._made_from.setVisible(self._has_controls)
        self.frames.setVisible(self._has_frames)

    def _on_size(self, text: str) -> None:
        size = None if text == tr("As the profile") or not text.strip() else read_size(text)
        self.is_valid = size is not None or text == tr("As the profile") or not text.strip()
        editor = self.sizes.lineEdit()
        if editor is not None:
            set_property(editor, "error", "" if self.is_valid else "1")
        width, height = size or (0, 0)
        self._change(width=width, height=height)

    def _on_frames(self, value: int) -> None:
        self._change(frames=0 if value < MIN_CLIP_FRAMES else value)

    def _browse(self) -> None:
        path = QFileDialog.getExistingDirectory(self, "Choose the folder with what these pictures are made from")
        if path:
            self._set_controls(path)

    def _set_controls(self, path: str) -> None:
        self._change(controls=path)
        self._show_controls()

    def _show_controls(self) -> None:
        chosen = self.folder.controls
        self._controls_name.set_text(chosen or tr("the folder control"))
        self.no_controls.setVisible(bool(chosen))

    def _change(self, **changes: object) -> None:
        self.folder = with_changes(self.folder, **changes)
        self.changed.emit()


class FoldersPanel(Panel):
    """The folders that are trained on together."""

    def __init__(self, desk: DatasetDesk) -> None:
        super().__init__("Folders", "How often the pictures of each count in a pass, and at what size.")
        self._desk = desk
        self.lines: list[FolderLine] = []
        self._rows = QVBoxLayout()
        self._rows.setSpacing(8)
        self._rows.setContentsMargins(0, 0, 6, 0)
        self._list = scrolling(holder(self._rows), name="clear")
        self.add_folder = Button("Add a folder", "plus", size="small")
        self.add_folder.clicked.connect(self._browse)
        self.keep = Button("Use these folders", "check", size="small")
        self.keep.clicked.connect(self._keep)
        self.problem = Label("", "small", tone="err", wrap=True)
        self.add(self._list, self.problem, row(self.add_folder, None, self.keep))

    @property
    def folders(self) -> list[SetFolder]:
        """The folders as they stand here."""
        return [line.folder for line in self.lines]

    def open(self) -> None:
        """Show the folders of the open dataset."""
        self._fill(list(self._desk.folders))
        self.show()
        self.add_folder.setFocus()

    def take(self, path: str) -> None:
        """Add a folder to the list."""
        folders = self.folders
        if path and all(folder.path != path for folder in folders):
            self._fill([*folders, SetFolder(path=path)])

    def _fill(self, folders: list[SetFolder]) -> None:
        clear(self._rows)
        self.lines = [FolderLine(folder, self._desk, is_only=len(folders) == 1) for folder in folders]
        for index, line in enumerate(self.lines):
            if index:
                self._rows.addWidget(hairline())
            line.changed.connect(self._check)
            line.removed.connect(lambda line=line: self._remove(line))
            self._rows.addWidget(line)
        self._list.setFixedHeight(min(MOST_ROWS, len(self.lines)) * ROW_PX)
        self.add_folder.allow(not self._desk.is_read_only, reason="It comes with the app and stays as it is.")
        self._check()

    def _check(self) -> None:
        is_valid = all(line.is_valid for line in self.lines)
        self.problem.set_text("" if is_valid else f"This is no size. {SIZE_RULE}")
        self.problem.setVisible(not is_valid)
        changed = self.folders != list(self._desk.folders) and bool(self.lines)
        reason = "Nothing has changed." if is_valid else SIZE_RULE
        self.keep.allow(changed and is_valid and not self._desk.is_read_only, reason=reason)

    def _remove(self, line: FolderLine) -> None:
        self._fill([other.folder for other in self.lines if other is not line])

    def _browse(self) -> None:
        self.take(QFileDialog.getExistingDirectory(self, "Choose a folder to train on together with the others"))

    def _keep(self) -> None:
        self.hide()
        self._desk.change_folders(self.folders)
