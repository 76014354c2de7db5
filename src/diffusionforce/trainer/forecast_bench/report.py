"""The rows of the table, as lines and as JSON, and what they come to together."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from diffusionforce.trainer.forecast_bench.planning import PlannedJob
from diffusionforce.trainer.forecast_bench.running import Seen, in_gib

HEADINGS = ("job", "forecast GiB", "measured GiB", "error %", "held GiB", "forecast s", "measured s", "error %")
_WIDTHS = (36, 15, 15, 15, 15, 10, 10, 8)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One job: what was forecast and what was seen."""

    name: str
    planned: PlannedJob | None = None
    predicted_s: float | None = None
    seen: Seen | None = None
    problem: str = ""

    @property
    def memory_errors(self) -> tuple[float, ...]:
        """(forecast - measured) / measured, card by card; empty where nothing was measured."""
        if self.planned is None or self.seen is None:
            return ()
        pairs = zip(self.planned.forecast.peak_bytes, self.seen.peak_bytes, strict=False)
        return tuple(forecast / measured - 1 for forecast, measured in pairs if measured)

    @property
    def time_error(self) -> float | None:
        """(forecast - measured) / measured."""
        if self.seen is None or self.predicted_s is None:
            return None
        return self.predicted_s / self.seen.step_s - 1

    def cells(self) -> tuple[str, ...]:
        """One cell for each of `HEADINGS`, or the problem."""
        forecast = in_gib(self.planned.forecast.peak_bytes) if self.planned else ""
        predicted = "" if self.predicted_s is None else f"{self.predicted_s:.3f}"
        if self.planned is None or self.seen is None:
            return (self.name, forecast, self.problem) if self.problem else (self.name, forecast)
        num_cards = len(self.planned.forecast.cards)
        return (
            self.name,
            forecast,
            in_gib(self.seen.peak_bytes[:num_cards]),
            " / ".join(f"{error:+.1%}" for error in self.memory_errors) or "-",
            in_gib(self.seen.peak_reserved_bytes[:num_cards]),
            predicted,
            f"{self.seen.step_s:.3f}",
            "-" if self.time_error is None else f"{self.time_error:+.1%}",
        )

    def record(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        record: dict[str, Any] = {"job": self.name, "problem": self.problem, "predicted_s": self.predicted_s}
        if self.planned is not None:
            layout = self.planned.layout
            record |= {
                "forecast": [asdict(card) for card in self.planned.forecast.cards],
                "forecast_bytes": self.planned.forecast.peak_bytes,
                "forecast_held_bytes": [self.planned.held_bytes(card) for card in layout.cards],
                "chunk_sizes": layout.chunk_sizes,
                "card_of_chunk": layout.card_of_chunk,
                "paged": sorted(layout.paged),
                "num_slots": layout.num_slots,
                "budget_bytes": self.planned.job.budget_bytes,
            }
        if self.seen is not None:
            record |= asdict(self.seen)
            record |= {"memory_errors": self.memory_errors, "time_error": self.time_error}
        return record


@dataclass
class Table:
    """All rows so far."""

    rows: list[Row] = field(default_factory=list[Row])

    def summary(self) -> list[str]:
        """Median and worst errors, as sentences; empty where nothing was measured."""
        worst_of_rows = [max(map(abs, row.memory_errors)) for row in self.rows if row.memory_errors]
        times = [abs(row.time_error) for row in self.rows if row.time_error is not None]
        lines: list[str] = []
        if worst_of_rows:
            lines.append(
                f"Memory, the worse card of each of {len(worst_of_rows)} jobs: median error "
                f"{statistics.median(worst_of_rows):.1%}, worst {max(worst_of_rows):.1%}."
            )
        if times:
            lines.append(f"Time of {len(times)} jobs: median error {statistics.median(times):.1%}.")
        return lines

    def record(self) -> dict[str, Any]:
        """The summary as JSON-ready data."""
        memory = [abs(error) for row in self.rows for error in row.memory_errors]
        times = [abs(row.time_error) for row in self.rows if row.time_error is not None]
        return {
            "summary": {
                "num_jobs": len(self.rows),
                "num_measured": sum(row.seen is not None for row in self.rows),
                "memory_median": statistics.median(memory) if memory else None,
                "memory_worst": max(memory, default=None),
                "time_median": statistics.median(times) if times else None,
            }
        }


def table_line(cells: Sequence[str]) -> str:
    """One line of the table; a last cell that is a problem may be longer."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=False)).rstrip()


def json_line(record: dict[str, Any]) -> str:
    """One JSON object and a line end."""
    return json.dumps(record) + "\n"
