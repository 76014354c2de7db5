"""What previews cost: seconds for each, and for all of a run, by the forecast."""

from diffusionforce.gui.model import words
from diffusionforce.job import Profile
from diffusionforce.wire.forecast import Forecast


def each_s(profile: Profile, forecast: Forecast | None) -> float | None:
    """Return the predicted seconds of one preview; None where nothing is known of its speed, or none fits."""
    phases = forecast.phases if forecast is not None else ()
    need = next((phase for phase in phases if phase.phase == "sampling" and phase.fits), None)
    return need.step_s * profile.samples.num_steps if need is not None and need.step_s is not None else None


def all_s(profile: Profile, forecast: Forecast | None) -> float:
    """Return the predicted seconds of all previews of a run; 0 where that is not known, or there are none."""
    return (each_s(profile, forecast) or 0.0) * profile.num_samples


def sentence(profile: Profile, forecast: Forecast | None) -> str:
    """Return both in a sentence; empty where nothing is known, or it is too little to speak of."""
    seconds = each_s(profile, forecast)
    if seconds is None or not profile.num_samples or seconds * profile.num_samples < 1:
        return ""
    each = words.duration(seconds) if seconds >= 1 else "less than 1 s"
    return f"About {each} for each, {words.duration(seconds * profile.num_samples)} in all."
