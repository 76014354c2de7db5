"""Which cells of a grid are chosen, and where cells lie: what keys and clicks mean, without anything to draw."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, kw_only=True)
class GridShape:
    """Cells of one size in rows that fill the width.

    Attributes:
        width: Room in pixels.
        num_cells: How many cells there are.
        usual_px: Width that a cell should have about.
        text_px: Height of the words under a picture.
        gap_px: Room between cells.
        share: Height of a picture for its width.
    """

    width: int
    num_cells: int
    usual_px: int
    text_px: int
    gap_px: int
    share: float = 0.9

    @cached_property
    def columns(self) -> int:
        """How many cells stand in a row."""
        return max(2, round((self.width + self.gap_px) / (self.usual_px + self.gap_px)))

    @cached_property
    def num_rows(self) -> int:
        """How many rows there are."""
        return -(-self.num_cells // self.columns)

    @cached_property
    def cell_px(self) -> float:
        """Width of a cell."""
        return (self.width - self.gap_px * (self.columns - 1)) / self.columns

    @cached_property
    def picture_px(self) -> float:
        """Height of the picture in a cell."""
        return self.cell_px * self.share

    @cached_property
    def pitch_px(self) -> float:
        """From one row to the next."""
        return self.picture_px + self.text_px + self.gap_px

    @cached_property
    def height(self) -> int:
        """Height of everything."""
        return int(self.num_rows * self.pitch_px)

    def place(self, index: int) -> tuple[float, float]:
        """Return left and top of a cell."""
        row, column = divmod(index, self.columns)
        return column * (self.cell_px + self.gap_px), row * self.pitch_px

    def in_sight(self, top: float, bottom: float) -> range:
        """Return the cells of which something lies between two heights."""
        first = max(0, int(top // self.pitch_px)) * self.columns
        last = (int(bottom // self.pitch_px) + 1) * self.columns
        return range(min(first, self.num_cells), min(last, self.num_cells))

    def at(self, x: float, y: float) -> int | None:
        """Return the cell at a point; None beside the cells."""
        column = int(x // (self.cell_px + self.gap_px))
        row = int(y // self.pitch_px)
        left, top = column * (self.cell_px + self.gap_px), row * self.pitch_px
        index = row * self.columns + column
        is_inside = x - left <= self.cell_px and y - top <= self.picture_px + self.text_px
        return index if is_inside and 0 <= column < self.columns and 0 <= index < self.num_cells else None


@dataclass
class GridChoice:
    """The current cell, and all that are chosen.

    Attributes:
        num_cells: How many there are.
        current: The one that keys move from; -1 for none.
        chosen: All that are chosen.
    """

    num_cells: int = 0
    current: int = -1
    chosen: set[int] = field(default_factory=lambda: set[int]())
    _anchor: int = -1

    def reset(self, num_cells: int, *, current: int = -1, chosen: Iterable[int] = ()) -> None:
        """Take other cells."""
        self.num_cells = num_cells
        self.current = current if current < num_cells else num_cells - 1
        self.chosen = {index for index in chosen if index < num_cells} or (
            {self.current} if self.current >= 0 else set()
        )
        self._anchor = self.current

    def choose(self, index: int, *, adds: bool = False, spans: bool = False) -> None:
        """Choose a cell.

        Args:
            index: Which one; it is brought into range.
            adds: Whether the others stay chosen and this one changes, as with Ctrl.
            spans: Whether all from the last plain choice on are chosen, as with Shift.
        """
        if not self.num_cells:
            return
        index = max(0, min(self.num_cells - 1, index))
        if spans and self._anchor >= 0:
            self.chosen = set(range(min(self._anchor, index), max(self._anchor, index) + 1))
        elif adds:
            self.chosen = self.chosen ^ {index} or {index}
            self._anchor = index
        else:
            self.chosen, self._anchor = {index}, index
        self.current = index

    def choose_all(self) -> None:
        """Choose every cell."""
        self.chosen = set(range(self.num_cells))
        self.current = max(0, self.current) if self.num_cells else -1
