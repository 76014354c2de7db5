"""A forecast in one line, for the foot of a profile: does it fit, how full is each card, how long does it take."""

import contextlib
from dataclasses import dataclass

from diffusionforce.errors import UserError
from diffusionforce.gui.model import forecast_bars, forecast_verdict, preview_cost, words
from diffusionforce.gui.model.forecast_desk import ForecastStatus
from diffusionforce.gui.model.forecast_ways import step_seconds
from diffusionforce.gui.model.language import noted
from diffusionforce.job import Job, Profile, data_dir, dataset_folder
from diffusionforce.runs import runs_root
from diffusionforce.wire.forecast import Forecast

NO_PICTURES = "no pictures"
"""A folder that is not there: the forecast takes the sizes that the profile names."""


@dataclass(frozen=True, kw_only=True)
class Meter:
    """One card in the line: its label and colour, how full it will be (0 to 1), the same in figures and in words."""

    label: str
    index: int | None
    share: float
    text: str
    spoken: str


@dataclass(frozen=True, kw_only=True)
class StripView:
    """What the line shows.

    Attributes:
        word: The verdict, `Fits`; empty while nothing is asked.
        tone: Its tone.
        icon: Its icon.
        meters: A meter a card.
        sentence: What else is to be said: the time, or what is in the way.
        tip: Everything, for the tool tip.
        can_retry: Whether trying again could help.
    """

    word: str
    tone: str
    icon: str
    meters: tuple[Meter, ...] = ()
    sentence: str = ""
    tip: str = ""
    can_retry: bool = False


def job_of(name: str, profile: Profile) -> Job:
    """Return the job that a profile is forecast by: on its own pictures, or on pictures of the size that it names."""
    folder = data_dir() / NO_PICTURES
    if profile.dataset.folder:
        with contextlib.suppress(UserError):
            folder = dataset_folder(profile.dataset.folder)
    return Job(profile_name=name or "profile", profile=profile, dataset_dir=folder, run_dir=runs_root() / name)


def view_of(status: ForecastStatus, *, profile: Profile | None) -> StripView:
    """Return the line for what is known.

    Args:
        status: What is known of the profile as it is edited.
        profile: The profile as it is edited; None while a value in it is wrong, so that nothing can be forecast.
    """
    if profile is None:
        said = "The forecast follows once every value is right."
        return StripView(word=noted("Waiting"), tone="", icon="clock", sentence=said)
    if status.problem is not None:
        said = f"{status.problem.sentence} {status.problem.hint}".strip()
        return StripView(word=noted("Not known"), tone="warn", icon="warn", sentence=said, tip=said, can_retry=True)
    forecast = status.forecast
    if status.is_checking:
        meters = _meters(forecast) if forecast is not None else ()
        return StripView(
            word=noted("Checking"), tone="info", icon="clock", meters=meters, sentence="working out the memory"
        )
    if forecast is None:
        return StripView(word="", tone="", icon="clock")
    return _told(forecast, profile)


def _told(forecast: Forecast, profile: Profile) -> StripView:
    tone, summary = forecast_verdict.summary(forecast)
    if forecast.refusal:
        said = " ".join((*forecast.refusal, *forecast.ways_out[:1]))
        tip = "\n".join((*forecast.refusal, *forecast.ways_out))
        return StripView(
            word=noted("Does not fit"), tone="err", icon="err", meters=_meters(forecast), sentence=said, tip=tip
        )
    word, icon = (noted("Tight"), "warn") if tone == "warn" else (noted("Fits"), "ok")
    tip = "\n".join((summary, *forecast.notes))
    return StripView(
        word=word,
        tone="warn" if tone == "warn" else "ok",
        icon=icon,
        meters=_meters(forecast),
        sentence=_time(forecast, profile) or summary,
        tip=tip,
    )


def _time(forecast: Forecast, profile: Profile) -> str:
    way = forecast.recommended
    if way is None or not way.step_s:
        return ""
    total = words.duration(way.step_s * profile.training.steps + preview_cost.all_s(profile, forecast))
    return f"{way.kind} · {step_seconds(way.step_s)} a step · {total} in all"


def _meters(forecast: Forecast) -> tuple[Meter, ...]:
    """Return how full each card is at its fullest moment over all phases."""
    bars = {phase: forecast_bars.card_bars(forecast, phase) for phase in forecast_bars.phases_of(forecast)}
    found: list[Meter] = []
    for index, card in enumerate(forecast.rig):
        most = max((phase_bars[index] for phase_bars in bars.values()), key=lambda bar: bar.needed_bytes, default=None)
        if most is None:
            continue
        amount = words.amount_of(most.needed_bytes, card.total_bytes).replace(" / ", "/")
        is_cpu = card.device == "cpu"
        found.append(
            Meter(
                label="RAM" if is_cpu else most.label,
                index=None if is_cpu else index,
                share=most.needed_bytes / max(1, card.total_bytes),
                text=amount,
                spoken=most.spoken,
            )
        )
    return tuple(found)
