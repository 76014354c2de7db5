"""The previews of a run that were marked, on a wall of their own."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget

from diffusionforce.gui.model.favourites import Favourites
from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.notices import Empty
from diffusionforce.gui.widgets.sample_grid import step_words
from diffusionforce.gui.widgets.sample_layout import Cell
from diffusionforce.gui.widgets.sample_wall import SampleWall, WallPicture

_EMPTY = "Press F at a preview, or the star under the grid, and it is kept here. The marks lie beside the run."


class MarksPane(QStackedWidget):
    """Shows what is marked."""

    opened = Signal(object)
    """A `Cell` that is to be shown large."""
    unmarked = Signal(object)

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self._cells: list[Cell] = []
        self.empty = Empty("star", "No favourites yet", _EMPTY)
        self.wall = SampleWall(store)
        self.wall.opened.connect(lambda index: self.opened.emit(self._cells[index]))
        self.wall.unmarked.connect(lambda index: self.unmarked.emit(self._cells[index]))
        self.addWidget(self.empty)
        self.addWidget(self.wall)
        self.setFocusProxy(self.wall)

    def show_marks(self, marked: Favourites, table: SampleTable, root: Path) -> None:
        """Show the marked previews of a run, in the order in which they were marked."""
        places = {
            path: Cell(row_index, column_index)
            for row_index, sample_row in enumerate(table.rows)
            for column_index, step in enumerate(table.steps)
            if (path := sample_row.paths.get(step, "")) in marked
        }
        self._cells = [places[path] for path in marked.paths if path in places]
        pictures: list[WallPicture] = []
        for cell in self._cells:
            path = table.path(root, cell.row, table.steps[cell.column])
            if path is not None:
                title = step_words(table.steps[cell.column])
                pictures.append(WallPicture(path=path, title=title, note=table.rows[cell.row].prompt))
        self.wall.show_pictures(pictures)
        self.setCurrentWidget(self.wall if pictures else self.empty)
