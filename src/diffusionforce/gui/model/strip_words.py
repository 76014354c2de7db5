"""What the strip at the foot of the window says of the run of the window, or of the plan where there is none."""

from dataclasses import dataclass

from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.plan_checks import Standing
from diffusionforce.gui.model.run_model import RunModel


@dataclass(frozen=True, kw_only=True)
class StripLine:
    """An icon with its tone, a name, and what goes on there."""

    icon: str
    tone: str
    name: str
    state: str


def of_plan(standing: Standing | None, *, ended: RunModel | None = None) -> StripLine:
    """Return the line while nothing is trained.

    Args:
        standing: Whether the plan could start; None while nobody has looked at one.
        ended: The run that has ended, which comes before the plan.
    """
    if ended is not None and ended.outcome is not None:
        outcome = ended.outcome
        icon = {"ok": "ok", "info": "info"}.get(outcome.tone, "err")
        state = tr("last run: {word}").format(word=tr(outcome.word).lower())
        return StripLine(icon=icon, tone=outcome.tone, name="Idle", state=state)
    if standing is None:
        return StripLine(icon="ok", tone="text3", name="Idle", state="")
    icon, tone = {"ready": ("ok", "ok"), "checking": ("clock", "text3"), "blocked": ("warn", "warn")}[standing.state]
    return StripLine(icon=icon, tone=tone, name="Idle", state=_lowered(tr(standing.title)))


def of_run(title: str, model: RunModel, *, compact: bool) -> StripLine:
    """Return the line of a run that goes on.

    Args:
        title: Its title.
        model: What is known of it.
        compact: Whether there is room for few words only.
    """
    waits = model.is_paused
    icon, tone = ("pause", "warn") if waits else ("play", "ok")
    left = model.time_left
    if compact:
        return StripLine(icon=icon, tone=tone, name="Paused" if waits else "Training", state=left)
    doing = f"step {model.step:,} of {model.num_steps:,}"
    if model.phase != "training":
        doing = _lowered(tr(model.phase_words))
    return StripLine(icon=icon, tone=tone, name=title, state=f"{doing} · {left}" if left else doing)


def window_title(title: str, model: RunModel) -> str:
    """Return the title of the window, which the taskbar shows: how far a run is that goes on, and which."""
    if model.outcome is not None or not model.step:
        return "DiffusionForce"
    waits = f" {tr('Paused').lower()}" if model.is_paused else ""
    return f"{words.percent(model.share)}{waits} · {title} · DiffusionForce"


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
