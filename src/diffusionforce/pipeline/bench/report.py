"""The rows of the benchmark, as lines of a table and as JSON."""

import json
from dataclasses import dataclass
from typing import Any

from diffusionforce.pipeline.bench.rig import Measured

HEADINGS = ("way", "micro", "s/step", "samples/s", "of limit", "predicted", "blocks (paged)", "peak GiB (held)")
_WIDTHS = (34, 6, 9, 10, 9, 10, 22, 14)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One way to train, measured or not."""

    way: str
    num_microbatches: int
    measured: Measured | None
    """None if it could not run; see `problem`."""
    limit_s: float
    """The step in which all cards work all the time."""
    problem: str = ""
    predicted_s: float | None = None
    chunk_sizes: tuple[int, ...] = ()
    card_of_chunk: tuple[int, ...] = ()
    num_blocks: tuple[int, ...] = ()
    """Blocks of each card."""
    num_paged: tuple[int, ...] = ()
    num_slots: tuple[int, ...] = ()
    planned_bytes: tuple[int, ...] = ()
    """What the splitter expects each card to need."""
    schedule: str = ""

    @property
    def share_of_limit(self) -> float | None:
        """1 is the limit."""
        return self.limit_s / self.measured.step_s if self.measured else None

    def cells(self) -> tuple[str, ...]:
        """The row as text, one cell for each of `HEADINGS`."""
        blocks = " + ".join(
            f"{count} ({paged})" if paged else str(count)
            for count, paged in zip(self.num_blocks, self.num_paged, strict=True)
        )
        predicted = "" if self.predicted_s is None else f"{self.predicted_s:.3f}"
        if self.measured is None:
            return (self.way, str(self.num_microbatches), "-", "-", "-", predicted, blocks, self.problem)
        return (
            self.way,
            str(self.num_microbatches),
            f"{self.measured.step_s:.3f}",
            f"{self.num_microbatches / self.measured.step_s:.3f}",
            f"{self.limit_s / self.measured.step_s:.3f}",
            predicted,
            blocks,
            f"{in_gib(self.measured.peak_bytes)} ({in_gib(self.measured.peak_reserved_bytes)})",
        )

    def record(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        record: dict[str, Any] = {
            "way": self.way,
            "num_microbatches": self.num_microbatches,
            "limit_s": self.limit_s,
            "predicted_s": self.predicted_s,
            "schedule": self.schedule,
            "chunk_sizes": self.chunk_sizes,
            "card_of_chunk": self.card_of_chunk,
            "num_blocks": self.num_blocks,
            "num_paged": self.num_paged,
            "num_slots": self.num_slots,
            "planned_bytes": self.planned_bytes,
        }
        if self.measured is None:
            return {**record, "problem": self.problem}
        return {
            **record,
            "step_s": self.measured.step_s,
            "samples_per_s": self.num_microbatches / self.measured.step_s,
            "share_of_limit": self.share_of_limit,
            "loss": self.measured.loss,
            "peak_bytes": self.measured.peak_bytes,
            "peak_reserved_bytes": self.measured.peak_reserved_bytes,
            "late_loads": self.measured.late_loads,
            "held_bytes": [{"step": step, "bytes": held} for step, held in self.measured.held_bytes],
            "drift": _drift(self.measured.all_steps_s),
        }


def table_line(cells: tuple[str, ...]) -> str:
    """One line of the table."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()


def json_line(record: dict[str, Any]) -> str:
    """One JSON object and a line end."""
    return json.dumps(record) + "\n"


def in_gib(sizes: tuple[int, ...]) -> str:
    """Memory of all cards."""
    return " / ".join(f"{size / 2**30:.1f}" for size in sizes)


def _drift(steps_s: tuple[float, ...]) -> float | None:
    """Median of the last quarter of the steps over that of the first; None if there are too few steps to say."""
    quarter = len(steps_s) // 4
    if quarter < 5:
        return None
    first, last = sorted(steps_s[:quarter]), sorted(steps_s[-quarter:])
    return last[quarter // 2] / first[quarter // 2]
