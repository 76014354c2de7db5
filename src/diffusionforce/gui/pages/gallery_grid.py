"""The previews of a run by prompt and step, with what can be done with them, and the LoRA files beside them."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from diffusionforce.gui.clips import ClipStore
from diffusionforce.gui.model import lora_words
from diffusionforce.gui.model.favourites import Favourites
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.gallery_bar import GalleryBar
from diffusionforce.gui.pages.gallery_files import LoraFilesCard
from diffusionforce.gui.pages.gallery_prompts import PromptEditor
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.run_trash import RunTrash
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.layout import column, holder, row
from diffusionforce.gui.widgets.sample_grid import SampleGrid, step_words
from diffusionforce.wire import Command

FILES_PX, FILES_COMPACT_PX = 264, 250
COMFY_KEY = "comfy_folder"


class GridPane(QWidget):
    """Shows the grid of one run."""

    screen_asked = Signal()
    marked = Signal()
    compared = Signal()
    changed = Signal()
    """The prompts of the previews to come are others."""
    prompts_used = Signal(object, object)
    """The `RunSession` whose prompts the user changed, and those before."""

    def __init__(self, store: PictureStore, clips: ClipStore, preferences: Preferences, trash: RunTrash) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._preferences = preferences
        self._shown: RunSession | None = None
        self._favourites: Favourites | None = None
        self.grid = SampleGrid(store, clips)
        self.files = LoraFilesCard(trash)
        self.files.setMinimumWidth(FILES_PX)
        self.bar = GalleryBar()
        self.prompts = PromptEditor()
        self.prompts.hide()
        # The table takes what it has use for, the files the rest.
        table = holder(row((self.grid, 1000), (self.files, 1), gap=16))
        self.setLayout(column((table, 1), self.prompts, self.bar, gap=12))
        self.setFocusProxy(self.grid)
        self._connect()

    def _connect(self) -> None:
        self.grid.chosen.connect(self.show_bar)
        self.grid.marked.connect(self.marked)
        self.grid.compared.connect(self.compared)
        self.files.copy_asked.connect(self._copy_to_comfy)
        self.bar.favourite.clicked.connect(self.marked)
        self.bar.compare.clicked.connect(self.compared)
        self.bar.whole.clicked.connect(self.screen_asked)
        self.bar.copy.clicked.connect(lambda: QApplication.clipboard().setText(self.bar.prompt))
        self.bar.edit.clicked.connect(self.edit_prompts)
        self.prompts.applied.connect(self._use_prompts)
        self.prompts.closed.connect(self.close_prompts)

    def take(self, session: RunSession, favourites: Favourites) -> None:
        """Show another run."""
        self._shown, self._favourites = session, favourites
        self.grid.told_of_drawing = lambda: session.model.drawing_words
        self.close_prompts()

    def refresh(self) -> None:
        """Show the run as it is now."""
        if self._shown is not None:
            self.grid.show_table(self._shown.model.samples, self._shown.root)
            self.files.show_files(self._shown.model, self._shown.root)
            self.show_bar()

    def show_bar(self) -> None:
        """Show the chosen preview in the line under the grid."""
        cell, step = self.grid.cell, self.grid.step
        if self._shown is None or step is None or cell.row >= len(self._shown.model.samples.rows):
            return
        row_of = self._shown.model.samples.rows[cell.row]
        relative = row_of.paths.get(step, "")
        self.bar.show_cell(
            step_words(step),
            row_of.prompt,
            is_drawn=bool(relative),
            is_marked=self._favourites is not None and relative in self._favourites,
        )
        self.bar.show_edit(self._shown)

    @property
    def is_drawn(self) -> bool:
        """Whether there is a preview in the chosen cell."""
        rows, step = (self._shown.model.samples.rows if self._shown is not None else []), self.grid.step
        return step is not None and self.grid.cell.row < len(rows) and step in rows[self.grid.cell.row].paths

    def edit_prompts(self) -> None:
        """Let the user change the prompts of the previews to come."""
        if self._shown is not None:
            self.bar.hide()
            self.prompts.show()
            self.prompts.edit(self._shown.model.prompts)

    def close_prompts(self) -> None:
        """Close that again."""
        self.prompts.hide()
        self.bar.show()

    def _use_prompts(self, prompts: tuple[str, ...], draws: bool) -> None:
        session = self._shown
        if session is None:
            return
        before = session.model.prompts
        session.send(Command(command="prompts", prompts=prompts))
        if draws:
            session.send(Command(command="sample"))
        self.changed.emit()
        if prompts != before:
            self.prompts_used.emit(session, before)

    def _copy_to_comfy(self, path: Path, step: int) -> None:
        folder = self._preferences.text(COMFY_KEY)
        if not folder or not Path(folder).is_dir():
            chosen = QFileDialog.getExistingDirectory(self, tr("ComfyUI's folder, or its models/loras"))
            if not chosen:
                return
            folder = str(lora_words.lora_dir(Path(chosen)))
            self._preferences.set_text(COMFY_KEY, folder)
        if self._shown is not None:
            self.files.copy(path, lora_words.lora_dir(Path(folder)), title=self._shown.title)

    def set_compact(self, compact: bool) -> None:
        """Narrow the list of files in a narrow window."""
        self.files.setMinimumWidth(FILES_COMPACT_PX if compact else FILES_PX)
        self.bar.set_compact(compact)
