"""One job, forecast: subjects traced, ways planned and judged, and the answer put into words."""

import importlib
import importlib.util
import time
from collections.abc import Sequence
from typing import NamedTuple, cast

from diffusionforce.engines.contract import Describe
from diffusionforce.engines.subjects import JobSubjects
from diffusionforce.errors import Change, DeviceError, UserError
from diffusionforce.job import Job
from diffusionforce.rig import in_gb
from diffusionforce.trainer.engines import load_engine
from diffusionforce.trainer.forecasting.answer import cuts_of, phases_of, way_of
from diffusionforce.trainer.forecasting.judging import Judge
from diffusionforce.trainer.forecasting.rigs import Rig, rig_here
from diffusionforce.trainer.forecasting.side_calls import about, placed, refusal
from diffusionforce.trainer.forecasting.smaller import all_together, enough, for_samples, for_training
from diffusionforce.trainer.forecasting.speeds import Times, timed_variants
from diffusionforce.trainer.forecasting.traces import Traces
from diffusionforce.ugpum.estimate import Variant
from diffusionforce.ugpum.learned import Lesson, Lessons
from diffusionforce.ugpum.planner import Candidate, Plan, Wish, plan
from diffusionforce.ugpum.replayed import replayed
from diffusionforce.wire import JobChange
from diffusionforce.wire.forecast import Forecast, PhaseNeed


class JobForecast(NamedTuple):
    """What is to be told, and what is to be done."""

    forecast: Forecast
    """For window and command line."""
    plan: Plan
    """For whoever runs the job: placement, paging, blocks that step aside."""


def forecast_job(
    job: Job,
    *,
    rig: Rig | None = None,
    wish: Wish | None = None,
    traces: Traces | None = None,
    finds_changes: bool = True,
) -> JobForecast:
    """Forecast a job.

    Args:
        job: What would be trained, on what.
        rig: The cards; by default those of this machine that the profile names.
        wish: What the user insists on; by default what the engine prefers.
        traces: Gives the footprints; by default out of the data folder.
        finds_changes: Where it does not fit, forecast other settings too, and offer those that do.

    Raises:
        UserError: The job cannot run whatever its memory: an engine, weights, pictures or cards are not there.
    """
    start_s = time.perf_counter()
    rig, traces = rig or rig_here(job.profile.devices.use, memory=job.profile.memory), traces or Traces()
    found = _forecast(job, rig=rig, wish=wish, traces=traces)
    forecast = found.forecast
    # No settings make a way exist that there is not.
    if finds_changes and (not forecast.refusal or not job.way or _is_found(job.way, found.plan)):
        forecast = _with_changes(forecast, job, rig=rig, wish=wish, traces=traces)
    return JobForecast(forecast.model_copy(update={"took_s": time.perf_counter() - start_s}), found.plan)


def _forecast(job: Job, *, rig: Rig, wish: Wish | None, traces: Traces) -> JobForecast:
    subjects = describe(job, num_cards=len(rig.cards) if rig.on_cards else 0)
    lesson = Lessons.kept().find(job.profile_name, job.profile, rig=rig.names) if rig.names else None
    return forecast_subjects(subjects, job, rig=rig, wish=wish, traces=traces, lesson=lesson)


def _with_changes(forecast: Forecast, job: Job, *, rig: Rig, wish: Wish | None, traces: Traces) -> Forecast:
    """The forecast with other settings that fit, where these do not or leave samples out."""

    def other(changed: Job) -> Forecast | None:
        try:
            return _forecast(changed, rig=rig, wish=wish, traces=traces).forecast
        except UserError:
            return None

    def training(changed: Job) -> str:
        way = getattr(other(changed), "recommended", None)
        return f"fits as {way.words}" if way is not None else ""

    def samples(changed: Job) -> str:
        found = other(changed)
        return "fit" if found is not None and all(phase.fits for phase in found.phases) else ""

    if not forecast.refusal:
        if all(phase.fits for phase in forecast.phases):
            return forecast
        changes = enough(for_samples(job), job, outcome=samples)
        return forecast.model_copy(update={"changes": _as_records(changes)})
    attempts = list(for_training(job))
    changes = enough(attempts, job, outcome=training)
    if not changes and (together := all_together(attempts)) is not None:
        changes = enough([together], job, outcome=training)
    ways_out = (*forecast.ways_out, *(change.words for change in changes))
    return forecast.model_copy(update={"ways_out": ways_out, "changes": _as_records(changes)})


def _as_records(changes: Sequence[Change]) -> tuple[JobChange, ...]:
    return tuple(JobChange(words=one.words, settings=dict(one.settings)) for one in changes)


def forecast_subjects(
    subjects: JobSubjects,
    job: Job,
    *,
    rig: Rig,
    traces: Traces,
    wish: Wish | None = None,
    lesson: Lesson | None = None,
) -> JobForecast:
    """Forecast what an engine has described.

    Args:
        subjects: What the engine would run.
        job: The job that it was described for, which only gives the names.
        rig: What to run on.
        traces: Gives the footprints.
        wish: What the user insists on; by default what the engine prefers.
        lesson: What earlier runs taught.
    """
    trained = traces.training(subjects.variants)
    sampled = [
        traces.model(variant.sampling, backward=False) if variant.sampling is not None else None
        for variant in subjects.variants
    ]
    rig = rig.with_process(subjects.ram_bytes)
    _require_ram(subjects, rig)
    if lesson is not None:
        rig = rig.with_extra(lesson.extra_bytes)
    caching = [(call, traces.call(call)) for call in subjects.caching]
    variants, times = timed_variants(subjects, trained, sampled, rig, lesson=lesson)
    made = plan(
        variants,
        rig.planning_cards(
            max(variant.num_microbatches for variant in variants), graphs_bytes=_graphs_bytes(subjects, variants)
        ),
        ram_bytes=rig.ram_usable_bytes,
        wish=_asked_way(job, wish or _wish(subjects, rig)),
        judge=Judge(rig=rig, graphs=subjects.graphs),
        kinds=subjects.kinds if rig.on_cards else ("one card",),
        max_chunks_each=subjects.max_chunks_each,
        even_chunks_each=subjects.even_chunks_each,
    )
    shown = made.closest
    with_times = times != "unknown"
    prepared = placed(caching, rig, preferred=shown.placing.cards)
    cannot_be_prepared, ways_out = refusal(prepared, rig)
    recommended = made.recommended if not cannot_be_prepared else None
    phases = phases_of(shown, subjects, rig, caching=prepared, footprint_of=traces.call, with_times=with_times)
    return JobForecast(
        Forecast(
            profile_name=job.profile_name,
            title=job.profile.title,
            engine=job.profile.model.engine,
            num_blocks=len(trained[0].blocks),
            trainable_bytes=_trainable_bytes(shown),
            rig=rig.shown,
            is_here=rig.is_here,
            ram_total_bytes=rig.ram_total_bytes,
            ram_usable_bytes=rig.ram_usable_bytes,
            times=times,
            phases=phases,
            ways=tuple(way_of(one, rig, recommended=recommended, with_times=with_times) for one in made.candidates),
            shown_way=made.candidates.index(shown),
            cuts=cuts_of(made, with_times=with_times),
            refusal=(*made.refusal, *cannot_be_prepared),
            ways_out=(*made.ways_out, *ways_out),
            notes=(
                *rig.notes,
                *subjects.notes,
                *_about_times(times, lesson),
                *about(prepared, rig),
                *_about_phases(phases, rig),
                *_about_ram(subjects, rig),
            ),
        ),
        made,
    )


def describe(job: Job, *, num_cards: int) -> JobSubjects:
    """What the engine of a job would run.

    Args:
        job: The job.
        num_cards: Graphics cards that it would run on; 0 where the processor does everything.

    Raises:
        UserError: The job cannot run.
    """
    name = f"diffusionforce.engines.{job.profile.model.engine}.subjects"
    if importlib.util.find_spec(name) is None:
        # An engine that cannot say what it would run cannot run it either, and says why.
        load_engine(job.profile).check(job)
    return cast(Describe, importlib.import_module(name).subjects)(job, num_cards=num_cards)


def _asked_way(job: Job, wish: Wish) -> Wish:
    """A way that the job names goes before everything else."""
    return Wish(way=job.way) if job.way else wish


def _is_found(way: str, made: Plan) -> bool:
    wish = Wish(way=way)
    return any(wish.allows(one, number=number) for number, one in enumerate(made.candidates, 1))


def _wish(subjects: JobSubjects, rig: Rig) -> Wish:
    if len(rig.cards) < 2:
        return Wish()
    return Wish(preferred=frozenset(subjects.preferred), because="this engine splits its model where it can")


def _graphs_bytes(subjects: JobSubjects, variants: Sequence[Variant]) -> int:
    """The most that captured graphs take of a card."""
    if not subjects.graphs:
        return 0
    captured = [replayed(variant.footprint) for variant in variants]
    return max(one.buffers_bytes + one.pool_bytes for one in captured)


def _trainable_bytes(candidate: Candidate) -> int:
    footprint = candidate.variant.footprint
    return sum(block.part.trained_bytes for block in footprint.blocks) + footprint.outer.part.trained_bytes


def _about_times(times: Times, lesson: Lesson | None) -> list[str]:
    if lesson is not None:
        runs = "an earlier run" if lesson.num_runs == 1 else f"{lesson.num_runs} earlier runs"
        return [f"Memory and times are corrected by what {runs} of this kind took on these cards."]
    if times == "catalogue":
        return ["Times are computed from the cards' data sheets; your own cards may differ by a fifth."]
    return []


def _require_ram(subjects: JobSubjects, rig: Rig) -> None:
    """Refuse a rig that is thought of with less RAM than any training takes; what is free here may change."""
    if rig.on_cards and not rig.is_here and rig.ram_free_bytes <= 0:
        raise DeviceError(
            f"The training process alone needs {in_gb(subjects.ram_bytes)} of RAM, and a rig with "
            f"{in_gb(rig.ram_total_bytes)} has less than that beside its system.",
            hint="Plan for more RAM.",
        )


def _about_ram(subjects: JobSubjects, rig: Rig) -> list[str]:
    if not rig.on_cards or rig.ram_free_bytes > 0:
        return []
    return [f"The training process alone needs {in_gb(subjects.ram_bytes)} of RAM, and less than that is free."]


def _about_phases(phases: tuple[PhaseNeed, ...], rig: Rig) -> list[str]:
    """What is odd about the phases beside training, which the plan sees to."""
    notes: list[str] = []
    for phase in (one for one in phases if one.phase == "sampling"):
        if not phase.fits:
            notes.append("Samples do not fit beside the training and would be left out.")
        for stage in phase.stages:
            if stage.missing_bytes:
                notes.append(f"The {stage.words} needs {in_gb(stage.missing_bytes)} more.")
            elif stage.in_tiles:
                notes.append("Samples are decoded in tiles, because no card has room to decode a whole one.")
    if not rig.on_cards:
        most_bytes = max(need.peak_bytes for phase in phases for need in phase.cards)
        notes.append(f"On the processor this needs {in_gb(most_bytes)} of RAM.")
    return notes
