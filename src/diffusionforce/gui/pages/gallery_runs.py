"""The runs whose previews can be looked at: the window's own first, then those on disk."""

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QStyleOptionComboBox

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.run_title import long_title, shown_title
from diffusionforce.gui.run_trash import RunTrash
from diffusionforce.gui.session import RunSession
from diffusionforce.job import read_job
from diffusionforce.runs import RunFolder, list_runs, runs_root

WIDTH_PX, WIDEST_PX, FRAME_PX = 210, 340, 46
LIVE = " · live"


class RunPicker(QComboBox):
    """Lists the runs by their names."""

    picked = Signal(Path)

    def __init__(self, trash: RunTrash) -> None:
        super().__init__()
        self._trash = trash
        self.setAccessibleName(tr("Run"))
        self.setMinimumWidth(WIDTH_PX)
        self.setMaximumWidth(WIDEST_PX)
        self._current: RunSession | None = None
        self._shown: RunSession | None = None
        self.activated.connect(lambda index: self.picked.emit(Path(str(self.itemData(index)))))

    def fill(self, *, current: RunSession | None, shown: RunSession | None) -> None:
        """List the runs anew; those on disk are read on a thread.

        Args:
            current: The run of the window.
            shown: The run that is looked at.
        """
        self._current, self._shown = current, shown
        root = runs_root()
        background.run(self, lambda: _titles(root), done=self._list, failed=lambda _error: None)

    def initStyleOption(self, option: QStyleOptionComboBox) -> None:
        """Shorten a name that has no room: by itself it would be cut off, at its beginning where it reads leftwards."""
        super().initStyleOption(option)
        room_px = self.width() - FRAME_PX
        option.currentText = option.fontMetrics.elidedText(option.currentText, Qt.TextElideMode.ElideRight, room_px)

    def _list(self, others: list[tuple[Path, str]]) -> None:
        known: dict[Path, str] = {}
        if self._current is not None:
            live = "" if self._current.is_over else LIVE
            known[self._current.root] = f"{self._current.long_title}{live}"
        for root, title in others:
            if not self._trash.holds(root):
                known.setdefault(root, title)
        if self._shown is not None:
            known.setdefault(self._shown.root, self._shown.long_title)
        self.clear()
        for root, title in known.items():
            live = title.endswith(LIVE)
            self.addItem(f"{shown_title(title.removesuffix(LIVE))}{tr(LIVE) if live else ''}", str(root))
        if self._shown is not None:
            self.setCurrentIndex(list(known).index(self._shown.root))
            # The name of a run may be longer than there is room for.
            self.setToolTip(self.currentText())
        self.setVisible(self.count() > 0)


def _titles(root: Path) -> list[tuple[Path, str]]:
    return [(folder.root, _folder_title(folder)) for folder in list_runs(root)]


def _folder_title(folder: RunFolder) -> str:
    try:
        return long_title(folder.root, read_job(folder.job_path))
    except UserError:
        return folder.root.name
