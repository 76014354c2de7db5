"""The numbers of a chart as a table for other programs: CSV with a line of names and units, in any language alike."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.errors import UserError
from diffusionforce.gui.model.language import tr

NO_UNIT = "no unit"
LOSS, SMOOTHED, HELD_OUT = "loss", "smoothed loss", "held-out loss"
WORK = {"F": "forward", "B": "backward"}
WORK_HEAD = ("device", "work", "block group [number]", "micro-batch [number]", "start [s]", "end [s]")
"""What columns are called: a table is for programs, so it is the same in every language."""


class ChartFileError(UserError):
    """A picture or a table of a chart that cannot be written."""


@dataclass(frozen=True, kw_only=True)
class TableColumn:
    """One column over the steps.

    Attributes:
        name: What it holds.
        unit: In which unit.
        values: By step; a step may lack.
    """

    name: str
    values: Mapping[int, float]
    unit: str = NO_UNIT


def over_steps(columns: Sequence[TableColumn]) -> str:
    """Return a table with a row for each step that any of the columns has; what is no number stays empty."""
    head = ["step [number]", *(f"{column.name} [{column.unit}]" for column in columns)]
    steps = sorted({step for column in columns for step in column.values})
    return of_rows(head, ([step, *(column.values.get(step) for column in columns)] for step in steps))


def file_stem(*parts: str) -> str:
    """Return the usual name of a file, without its ending."""
    return "-".join(parts)


def of_rows(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of rows under a head."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return value


def write_file(path: Path, content: bytes) -> None:
    """Write a file.

    Raises:
        ChartFileError: It cannot be written there.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ChartFileError(
            tr("{name} could not be written.").format(name=path.name),
            hint=tr("Choose another folder, or free space on the disk."),
            detail=str(error),
        ) from error
