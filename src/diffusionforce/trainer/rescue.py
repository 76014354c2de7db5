"""What to change after a training ran out of memory, each change forecast before it is offered.

What the card wanted beyond the plan is remembered first, so that the next forecast counts it in. If the same run then
fits in another way, starting it again is all there is to do; else the settings are tried that need less memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from diffusionforce.errors import CardMemoryError, UserError
from diffusionforce.job import Job, changed
from diffusionforce.rig import in_gb
from diffusionforce.trainer.comparing import is_foreign
from diffusionforce.trainer.planning import MakePlan, PlannedRun

_SIZE_STEP_PX = 16
_SMALLEST_PX = 64
_SMALLER = 0.75


@dataclass(frozen=True, kw_only=True)
class Change:
    """Settings that need less memory."""

    settings: dict[str, object]

    @property
    def words(self) -> str:
        """As they stand in a profile."""
        return " with ".join(f"{name} = {_toml(value)}" for name, value in self.settings.items())


def with_ways_out(error: CardMemoryError, job: Job, *, planned: PlannedRun, make_plan: MakePlan) -> CardMemoryError:
    """The error with what would help, forecast.

    Args:
        error: What ended the run.
        job: The run's job.
        planned: Its plan.
        make_plan: Plans a job, with what was learnt from this run.
    """
    lines = list(_ways_out(error, job, planned, make_plan))
    return CardMemoryError(
        error.sentence,
        hint="\n".join(filter(None, [error.hint, *lines])),
        detail=error.detail,
        device=error.device,
        wanted_bytes=error.wanted_bytes,
        held_bytes=error.held_bytes,
    )


def _ways_out(error: CardMemoryError, job: Job, planned: PlannedRun, make_plan: MakePlan) -> Iterator[str]:
    device = planned.plan.of_device(error.device)
    if device is not None and is_foreign(error, device):
        yield f"Another program took memory of {device.label} that was free at the start: close it, and start again."
        return
    again = _planned_or_none(make_plan, job)
    if again is not None and again.plan.words != planned.plan.words:
        yield f"Start the same run again: it is planned with what was seen, and trains as {again.plan.words}."
    found = [words for change in changes(job) if (words := _judged(change, error, job, planned, make_plan))]
    if found:
        yield "In the profile, any of these makes room:"
        yield from (f"- {words}" for words in found)
    elif again is None:
        yield "No single setting makes enough room: choose a smaller model, or number formats of eight bits."


def changes(job: Job) -> Iterator[Change]:
    """Settings that need less memory, the ones that change the result least first."""
    training, dataset = job.profile.training, job.profile.dataset
    if not training.gradient_checkpointing:
        yield Change(settings={"training.gradient_checkpointing": True})
    if training.batch_size > 1 and training.batch_size % 2 == 0:
        yield Change(
            settings={
                "training.batch_size": training.batch_size // 2,
                "training.gradient_accumulation": training.gradient_accumulation * 2,
            }
        )
    width, height = _smaller(dataset.width), _smaller(dataset.height)
    if (width, height) != (dataset.width, dataset.height):
        yield Change(settings={"dataset.width": width, "dataset.height": height})
    if job.profile.lora.rank > 1:
        yield Change(settings={"lora.rank": job.profile.lora.rank // 2})


def _judged(change: Change, error: CardMemoryError, job: Job, planned: PlannedRun, make_plan: MakePlan) -> str:
    """The change in words if it makes room for what was wanted, else an empty string."""
    try:
        profile = changed(job.profile, change.settings, origin="a smaller setting")
    except UserError:
        return ""
    smaller = _planned_or_none(make_plan, job.model_copy(update={"profile": profile}))
    before = planned.plan.of_device(error.device)
    after = smaller.plan.of_device(error.device) if smaller is not None else None
    if before is None or after is None or before.planned_bytes is None or after.planned_bytes is None:
        return ""
    saved_bytes = before.planned_bytes - after.planned_bytes
    if saved_bytes <= 0 or saved_bytes < (error.wanted_bytes or 0):
        return ""
    return f"{change.words} ({in_gb(saved_bytes)} less on {before.label})"


def _planned_or_none(make_plan: MakePlan, job: Job) -> PlannedRun | None:
    try:
        return make_plan(job)
    except UserError:
        return None


def _smaller(size_px: int) -> int:
    return max(_SMALLEST_PX, int(size_px * _SMALLER) // _SIZE_STEP_PX * _SIZE_STEP_PX)


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
