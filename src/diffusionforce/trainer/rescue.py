"""What to change after a training ran out of memory, each change forecast before it is offered.

What the card wanted beyond the plan is remembered first, so that the next forecast counts it in. If the same run then
fits in another way, starting it again is all there is to do; else the settings are tried that need less memory.
"""

from collections.abc import Mapping, Sequence

from diffusionforce.errors import CardMemoryError, Change, UserError
from diffusionforce.job import Job
from diffusionforce.rig import in_gb
from diffusionforce.trainer.comparing import is_foreign
from diffusionforce.trainer.forecasting.smaller import enough, for_training
from diffusionforce.trainer.planning import MakePlan, PlannedRun


def with_ways_out(error: CardMemoryError, job: Job, *, planned: PlannedRun, make_plan: MakePlan) -> CardMemoryError:
    """The error with what would help, forecast.

    Args:
        error: What ended the run.
        job: The run's job.
        planned: Its plan.
        make_plan: Plans a job, with what was learnt from this run.
    """
    lines, changes = _ways_out(error, job, planned, make_plan)
    return CardMemoryError(
        error.sentence,
        hint="\n".join(filter(None, [error.hint, *lines])),
        detail=error.detail,
        device=error.device,
        wanted_bytes=error.wanted_bytes,
        held_bytes=error.held_bytes,
        changes=changes,
    )


def _ways_out(
    error: CardMemoryError, job: Job, planned: PlannedRun, make_plan: MakePlan
) -> tuple[list[str], Sequence[Change]]:
    device = planned.plan.of_device(error.device)
    if device is not None and is_foreign(error, device):
        free = f"Another program took memory of {device.label} that was free at the start: close it, and start again."
        return [free], ()
    lines: list[str] = []
    changes: list[Change] = []
    again = _planned_or_none(make_plan, job)
    if again is not None and again.plan.words != planned.plan.words:
        lines.append(f"Start the same run again: it is planned with what was seen, and trains as {again.plan.words}.")
        changes.append(Change(words=f"the same settings, trained as {again.plan.words}", settings={}))
    found = enough(for_training(job), job, outcome=lambda smaller: _saved(smaller, error, planned, make_plan))
    if found:
        lines.append("Any of these makes room:")
        lines += [f"- {as_in_profile(one.settings)}: {one.words}" for one in found]
    elif again is None:
        lines.append("No single setting makes enough room: choose a smaller model, or number formats of eight bits.")
    return lines, [*changes, *found]


def as_in_profile(settings: Mapping[str, object]) -> str:
    """Settings as they stand in a profile."""
    return " with ".join(f"{name} = {_toml(value)}" for name, value in settings.items())


def _saved(smaller: Job, error: CardMemoryError, planned: PlannedRun, make_plan: MakePlan) -> str:
    """What a changed job saves, in words, if that is as much as was wanted; else an empty string."""
    plan = _planned_or_none(make_plan, smaller)
    before = planned.plan.of_device(error.device)
    after = plan.plan.of_device(error.device) if plan is not None else None
    if before is None or after is None or before.planned_bytes is None or after.planned_bytes is None:
        return ""
    saved_bytes = before.planned_bytes - after.planned_bytes
    if saved_bytes <= 0 or saved_bytes < (error.wanted_bytes or 0):
        return ""
    return f"{in_gb(saved_bytes)} less on {before.label}"


def _planned_or_none(make_plan: MakePlan, job: Job) -> PlannedRun | None:
    try:
        return make_plan(job, finds_changes=False)
    except UserError:
        return None


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
