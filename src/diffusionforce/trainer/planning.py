"""From a forecast to the plan that a run is trained by, or to the words in which it is refused."""

from dataclasses import dataclass
from typing import Protocol

from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.errors import Change, DeviceError, NotForecastError
from diffusionforce.job import Job
from diffusionforce.trainer.forecasting import forecast_job
from diffusionforce.trainer.forecasting.rigs import rig_here
from diffusionforce.wire import Planned, PlannedDevice
from diffusionforce.wire.forecast import Forecast, Way


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A run on graphics cards, forecast and planned."""

    plan: RunPlan
    """For the engine."""
    forecast: Forecast
    """What the plan was chosen from."""
    rig: tuple[str, ...]
    """Names of the rig's cards, in the order of the forecast."""
    modelled_s: float
    """Seconds of a step on the forecast's own scale, which means something by comparison only where the plan gives no
    seconds."""

    def index_of(self, device: str) -> int:
        """The number of a device in the rig."""
        return next(index for index, card in enumerate(self.forecast.rig) if card.device == device)

    @property
    def record(self) -> Planned:
        """For whoever watches the run."""
        return Planned(
            words=self.plan.words,
            mode=self.plan.mode,
            devices=tuple(
                PlannedDevice(
                    device=one.device,
                    label=one.label,
                    total_bytes=one.total_bytes,
                    budget_bytes=one.budget_bytes,
                    planned_bytes=one.planned_bytes,
                    planned_sampling_bytes=one.planned_sampling_bytes,
                    num_aside=one.num_aside,
                )
                for one in self.plan.devices
            ),
            step_s=self.plan.step_s,
        )


class MakePlan(Protocol):
    """Plans jobs; see `plan_run`."""

    def __call__(self, job: Job, /, *, finds_changes: bool = True) -> PlannedRun | None:
        """Plan a job."""
        ...


def plan_run(job: Job, /, *, finds_changes: bool = True) -> PlannedRun | None:
    """Plan a job.

    Args:
        job: What is to be trained, on what.
        finds_changes: Where it does not fit, forecast other settings too, and offer those that do.

    Returns:
        The plan; None where the processor does everything, which has no budget and needs no plan, or where the model
        cannot be forecast, so that there is nothing to plan by.

    Raises:
        DeviceError: The job does not fit, with what is missing and what would help.
        UserError: It cannot run whatever its memory.
    """
    rig = rig_here(job.profile.devices.use, memory=job.profile.memory)
    if not rig.on_cards:
        return _without_plan(job, "the processor trains in one way only")
    try:
        forecast, plan = forecast_job(job, rig=rig, finds_changes=finds_changes)
    except NotForecastError:
        return _without_plan(job, "this model cannot be forecast yet, so there are no ways to choose from")
    way = forecast.recommended
    if way is None or plan.recommended is None:
        raise refusal(forecast)
    return PlannedRun(
        plan=run_plan(forecast, way), forecast=forecast, rig=rig.names, modelled_s=plan.recommended.step_s
    )


def _without_plan(job: Job, reason: str) -> None:
    """Nothing to plan; a way that was asked for is not passed over in silence."""
    if job.way:
        raise DeviceError(f'There is no way "{job.way}" to train here: {reason}.', hint="Leave the way out.")


def refusal(forecast: Forecast) -> DeviceError:
    """The error for a job that fits in no way: a sentence a card, and the ways out."""
    ways = "\n".join(f"- {way}" for way in forecast.ways_out)
    hint = f"What would help:\n{ways}" if ways else "Choose smaller pictures, or another profile."
    closest = forecast.ways[forecast.shown_way] if forecast.ways else None
    return DeviceError(
        " ".join(forecast.refusal) or "This does not fit.",
        hint=hint,
        detail=f"The closest way: {closest.words}. {closest.reason}" if closest is not None else "",
        changes=[Change(words=one.words, settings=one.settings) for one in forecast.changes],
    )


def run_plan(forecast: Forecast, way: Way) -> RunPlan:
    """What the engine is to do to go one of a forecast's ways.

    Args:
        forecast: The forecast, whose phases are those of the way.
        way: The way.
    """
    phases = {phase.phase: phase for phase in forecast.phases}
    stages = [stage for phase in forecast.phases for stage in phase.stages]
    sampling = phases.get("sampling")
    index_of = {card.device: index for index, card in enumerate(forecast.rig)}
    devices: list[DevicePlan] = []
    for card in way.cards:
        index = index_of[card.device]
        shown = forecast.rig[index]
        slots = {"num_slots": card.num_slots} if card.num_slots else {}
        devices.append(
            DevicePlan(
                device=card.device,
                label=shown.label,
                total_bytes=shown.total_bytes,
                budget_bytes=shown.budget_bytes,
                planned_bytes=card.needed_bytes,
                planned_sampling_bytes=sampling.cards[index].peak_bytes if sampling and sampling.fits else None,
                num_aside=sampling.num_aside[index] if sampling and sampling.num_aside else 0,
                **slots,
            )
        )
    return RunPlan(
        devices=tuple(devices),
        chunk_sizes=way.chunk_sizes,
        stage_of_chunk=way.card_of_chunk,
        paged=frozenset(way.paged_blocks),
        num_microbatches=way.num_microbatches,
        weights=way.weights,
        words=way.words,
        mode=way.mode,
        bucket=phases["training"].words if "training" in phases else "",
        step_s=way.step_s,
        device_of_call={stage.name: stage.device for stage in stages},
        calls_in_tiles=frozenset(stage.name for stage in stages if stage.in_tiles),
    )
