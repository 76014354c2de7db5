"""The forecast at its edge: what is said to fit with hardly anything to spare runs, what is refused does not.

A budget just above what a job is forecast to make the allocator hold is enforced, and the job must run; one just below
is enforced, and it must run out of memory. The first shows that a plan can be trusted, the second that nothing is
refused that would have run.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from diffusionforce.trainer.forecast_bench.models import BenchModel
from diffusionforce.trainer.forecast_bench.planning import PlannedJob
from diffusionforce.trainer.forecast_bench.running import Bench, OutOfBudgetError, in_gib

FITTING, REFUSED = 1.02, 0.96
"""Budgets as shares of what is forecast to be held: two per cent to spare, four per cent too little."""
_LADDER = (1.04, 1.07, 1.12)
"""Tried after a fitting budget was too small, to learn how much was lacking."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run under a budget."""

    name: str
    share: float
    """The budget, as a share of what is forecast to be held."""
    budgets_bytes: tuple[int, ...]
    ran: bool
    peak_bytes: tuple[int, ...] = ()
    peak_reserved_bytes: tuple[int, ...] = ()
    problem: str = ""

    @property
    def as_forecast(self) -> bool:
        """Whether what was forecast came true."""
        return self.ran == (self.share >= 1)

    def line(self) -> str:
        """The trial in a sentence."""
        asked = "fits" if self.share >= 1 else "is refused"
        ending = f"ran, {in_gib(self.peak_reserved_bytes)} GiB held" if self.ran else self.problem
        verdict = "as forecast" if self.as_forecast else "NOT AS FORECAST"
        return f"{self.name}: {asked} in {in_gib(self.budgets_bytes)} GiB ({self.share:.0%}): {ending}. {verdict}."

    def record(self) -> dict[str, Any]:
        """The trial as JSON-ready data."""
        return {"edge": self.name, "as_forecast": self.as_forecast, **asdict(self)}


def trials(bench: Bench, model: BenchModel, planned: PlannedJob) -> Iterator[Trial]:
    """Run a job under a budget that is just enough, and under one that is not.

    Args:
        bench: The cards.
        model: The job's model.
        planned: The job.
    """
    first = _trial(bench, model, planned, FITTING)
    yield first
    if not first.ran:
        for share in _LADDER:
            larger = _trial(bench, model, planned, share)
            yield larger
            if larger.ran:
                break
    yield _trial(bench, model, planned, REFUSED)


def _trial(bench: Bench, model: BenchModel, planned: PlannedJob, share: float) -> Trial:
    budgets = tuple(int(share * planned.held_bytes(card)) for card in planned.layout.cards)
    try:
        seen = bench.run(model, planned, budgets_bytes=budgets)
    except OutOfBudgetError as error:
        return Trial(name=planned.job.name, share=share, budgets_bytes=budgets, ran=False, problem=str(error))
    num = len(budgets)
    return Trial(
        name=planned.job.name,
        share=share,
        budgets_bytes=budgets,
        ran=True,
        peak_bytes=seen.peak_bytes[:num],
        peak_reserved_bytes=seen.peak_reserved_bytes[:num],
    )
