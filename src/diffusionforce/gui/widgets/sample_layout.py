"""Where the cells of the gallery's table are: plain arithmetic, so that only what is in sight is looked at."""

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

GAP_PX, HEADER_PX = 8, 28
MIN_NAMES_PX, MAX_NAMES_PX = 150, 320
MIN_CELL_PX, MAX_CELL_PX = 104, 320


@dataclass(frozen=True)
class Cell:
    """A place in the table: row and position of the column, from 0."""

    row: int
    column: int


@dataclass(frozen=True, kw_only=True)
class TableLayout:
    """A table of square cells in a viewport, with names at the left and a header on top that stay in place.

    Attributes:
        num_rows: Rows of the table.
        num_columns: Columns of the table.
        width_px: Width of the viewport.
        height_px: Height of the viewport.
        across_px: How far it is scrolled to the right.
        down_px: How far it is scrolled down.
    """

    num_rows: int
    num_columns: int
    width_px: int
    height_px: int
    across_px: int = 0
    down_px: int = 0

    @property
    def edge_px(self) -> float:
        """Edge of a cell: as large as it can be while the whole table fits, within limits."""
        width = (self.width_px - MIN_NAMES_PX) / max(1, self.num_columns) - GAP_PX
        return max(float(MIN_CELL_PX), min(width, self.edge_by_height_px))

    @property
    def edge_by_height_px(self) -> float:
        """Edge of a cell with which all rows fit, within limits."""
        height = (self.height_px - HEADER_PX + GAP_PX) / max(1, self.num_rows) - GAP_PX
        return max(float(MIN_CELL_PX), min(float(MAX_CELL_PX), height))

    @property
    def names_px(self) -> float:
        """Width of the names: what the pictures leave, within limits."""
        left = self.width_px - self.num_columns * (self.edge_px + GAP_PX)
        return max(float(MIN_NAMES_PX), min(float(MAX_NAMES_PX), left))

    @property
    def widest_px(self) -> int:
        """Width beyond which room would stay empty: it depends on the height alone."""
        return int(MAX_NAMES_PX + max(1, self.num_columns) * (self.edge_by_height_px + GAP_PX))

    @property
    def most_across_px(self) -> int:
        """How far it can be scrolled to the right."""
        full = self.names_px + self.num_columns * (self.edge_px + GAP_PX)
        return max(0, int(full - self.width_px - GAP_PX))

    @property
    def most_down_px(self) -> int:
        """How far it can be scrolled down."""
        full = HEADER_PX + self.num_rows * (self.edge_px + GAP_PX)
        return max(0, int(full - self.height_px - GAP_PX))

    def box(self, cell: Cell) -> QRectF:
        """Return the place of a cell in the viewport."""
        edge = self.edge_px
        left = self.names_px + cell.column * (edge + GAP_PX) - self.across_px
        top = HEADER_PX + cell.row * (edge + GAP_PX) - self.down_px
        return QRectF(left, top, edge, edge)

    @property
    def columns_in_sight(self) -> range:
        """Columns of which something can be seen."""
        step = self.edge_px + GAP_PX
        first = max(0, int(self.across_px // step))
        last = int((self.across_px + self.width_px - self.names_px) // step)
        return range(first, min(self.num_columns, last + 1))

    @property
    def rows_in_sight(self) -> range:
        """Rows of which something can be seen."""
        step = self.edge_px + GAP_PX
        first = max(0, int(self.down_px // step))
        last = int((self.down_px + self.height_px - HEADER_PX) // step)
        return range(first, min(self.num_rows, last + 1))

    def cell_at(self, point: QPointF) -> Cell | None:
        """Return the cell under a point, None between cells and over names and header."""
        if point.x() < self.names_px or point.y() < HEADER_PX:
            return None
        step = self.edge_px + GAP_PX
        column = int((point.x() - self.names_px + self.across_px) // step)
        row = int((point.y() - HEADER_PX + self.down_px) // step)
        cell = Cell(row, column)
        is_there = 0 <= row < self.num_rows and 0 <= column < self.num_columns
        return cell if is_there and self.box(cell).contains(point) else None
