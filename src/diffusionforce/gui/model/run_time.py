"""How long a run may take, told before its first step, and only where there is something to tell it by.

That is the forecast where it knows the speed of the cards, else the last runs of the profile on this computer, else,
for the pocket demo as it comes, what it took on a computer that is named along with the figure.
"""

import statistics
from pathlib import Path

from diffusionforce.errors import UserError
from diffusionforce.gui.model import preview_cost, words
from diffusionforce.gui.model.history import seconds_of
from diffusionforce.gui.model.plan import Plan
from diffusionforce.job import Profile, read_job
from diffusionforce.runs import list_runs

NUM_BEFORE = 3
"""Of the last runs, which are the most like the next."""
POCKET_STEP_S, POCKET_PREVIEW_S, POCKET_START_S = 0.6, 7.0, 20.0
"""A step, a preview and the start of the pocket demo, as measured on two cores of a server's processor."""
_POCKET_SIZES = (256, 256, 2, 1, 256, 256, 25)


def pace_before(root: Path, profile_name: str) -> float | None:
    """Return the seconds that a step took with all that came along with it, by the last runs of a profile.

    Those that ended early or went on from others are passed over. Call it on a thread; None where there is no such run.
    """
    paces: list[float] = []
    for folder in list_runs(root):
        try:
            state = folder.read_state()
            if state.state != "done" or state.profile_name != profile_name or read_job(folder.job_path).resume:
                continue
        except UserError:
            continue
        seconds = seconds_of(state)
        paces += [seconds / state.step] if seconds and state.step else []
        if len(paces) == NUM_BEFORE:
            break
    return statistics.median(paces) if paces else None


def told(plan: Plan) -> str:
    """Return how long the next run may take, and by what that is told; empty where no profile is chosen."""
    profile = plan.fitted_profile
    if profile is None:
        return ""
    forecast, steps = plan.memory.current, profile.training.steps
    ways = forecast.ways if forecast is not None else ()
    way = next((way for way in ways if way.words == plan.way), forecast.recommended if forecast is not None else None)
    if way is not None and way.step_s is not None:
        return _about(steps * way.step_s + preview_cost.all_s(profile, forecast))
    if plan.pace_before_s is not None:
        return f"{_about(steps * plan.pace_before_s)}, as before"
    if plan.has_no_card and profile.model.engine == "pocket" and _sizes(profile) == _POCKET_SIZES:
        seconds = POCKET_START_S + steps * POCKET_STEP_S + profile.num_samples * POCKET_PREVIEW_S
        return f"{_about(seconds)} on two cores"
    return "measured once it runs"


def _sizes(profile: Profile) -> tuple[int, ...]:
    """Return the settings that say how long steps and previews take."""
    training, dataset, samples = profile.training, profile.dataset, profile.samples
    batch = (training.batch_size, training.gradient_accumulation)
    return (dataset.width, dataset.height, *batch, samples.width, samples.height, samples.num_steps)


def _about(seconds: float) -> str:
    """Return a time in words, no finer than it is known."""
    return f"about {words.duration(60 * round(seconds / 60) if seconds >= 90 else max(10, 10 * round(seconds / 10)))}"
