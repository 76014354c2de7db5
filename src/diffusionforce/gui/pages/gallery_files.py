"""The LoRA files of a run: step, size, and how to get at them."""

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QFrame, QVBoxLayout

from diffusionforce.gui.model import words
from diffusionforce.gui.model.run_model import RunModel, SavedLora
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import clear, holder, row, scrolling


class LoraFilesCard(Card):
    """Lists the files, the newest first."""

    def __init__(self) -> None:
        super().__init__("LoRA files", gap=8)
        self._list = QVBoxLayout()
        self._list.setSpacing(8)
        self._list.setContentsMargins(0, 0, 0, 0)
        self._known: tuple[SavedLora, ...] | None = None
        inner = QVBoxLayout()
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addLayout(self._list)
        inner.addStretch(1)
        self.add((scrolling(holder(inner), name="clear"), 1))

    def show_files(self, model: RunModel, root: Path) -> None:
        """Show the files that are there; a file that was removed to keep the newest few is left out."""
        files = tuple(lora for lora in reversed(model.saved) if (root / lora.path).is_file())
        if files == self._known:
            return
        self._known = files
        clear(self._list)
        best = best_step(model, files)
        for i, lora in enumerate(files):
            notes = ["newest"] if i == 0 else []
            notes += ["lowest held-out loss"] if lora.step == best and len(files) > 1 else []
            self._list.addWidget(_file_box(lora, root / lora.path, note=", ".join(notes)))
        if not files:
            text = "None yet. The first file is written at the next save, or when you stop."
            self._list.addWidget(Label(text, "body2", wrap=True))


def best_step(model: RunModel, files: tuple[SavedLora, ...]) -> int | None:
    """Return the step of the file whose held-out loss is the lowest of those that were measured."""
    steps = {lora.step for lora in files}
    measured = [(loss, step) for step, loss in model.losses.held_out if step in steps]
    return min(measured)[1] if measured else None


def _file_box(lora: SavedLora, path: Path, *, note: str) -> QFrame:
    box = QFrame()
    box.setObjectName("sub")
    layout = QVBoxLayout(box)
    layout.setContentsMargins(12, 10, 12, 10)
    layout.setSpacing(6)
    layout.addLayout(row(Label(f"Step {lora.step:,}", "strong"), None, Label(words.size(lora.size_bytes), "muted")))
    layout.addWidget(Elided(note or path.name, "small"))
    copy = Button("Copy path", "copy", size="small")
    copy.setToolTip(str(path))
    copy.clicked.connect(lambda: QApplication.clipboard().setText(str(path)))
    show = Button("", "folder", kind="ghost", size="small", tip=f"Show {path.name} in its folder")
    show.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent))))
    layout.addLayout(row(copy, None, show))
    return box
