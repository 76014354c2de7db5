"""What is in the way of a plan, as banners: what it is, what it means, and what a button could do about it."""

from dataclasses import dataclass

from diffusionforce.errors import UserError
from diffusionforce.gui.model.first_run import DEMO
from diffusionforce.gui.model.plan import Plan
from diffusionforce.gui.model.readiness import ReadinessView
from diffusionforce.wire import JobChange
from diffusionforce.wire.forecast import Forecast

MOST_CHANGES = 2
"""Of other settings that would fit, each with a button."""
WHAT_TRAINS = "The pocket demo trains on the processor, with your own pictures if you like."


@dataclass(frozen=True, kw_only=True)
class PlanNotice:
    """One banner.

    Attributes:
        tone: Its tone.
        title: What is in the way.
        text: What it means, or how far what is done about it has come.
        bring: What the button says that brings what is lacking; empty where there is none.
        command: A command to copy that does.
        profile: A profile that can be trained as things are; empty where none is offered.
        changes: Other settings that would do, each with a button.
        leads_to: The place of the window where it is put right; empty where there is none.
    """

    tone: str
    title: str
    text: str
    bring: str = ""
    command: str = ""
    profile: str = ""
    changes: tuple[JobChange, ...] = ()
    leads_to: str = ""


def notices(plan: Plan) -> list[PlanNotice]:
    """Return the banners of a plan, from top to bottom."""
    problem, refusal, forecast = plan.dataset_problem, plan.refusal(), plan.memory.current
    found: list[PlanNotice] = []
    if plan.needs_environment:
        title = "The training environment is not ready"
        text = "Training needs PyTorch and some libraries. What is missing is brought once."
        found.append(PlanNotice(tone="info", title=title, text=text, leads_to="environment"))
    if refusal is not None and refusal is plan.readiness.problem:
        found.append(lack_notice(plan.readiness, refusal, has_no_card=plan.has_no_card))
    elif refusal is not None:
        found.append(PlanNotice(tone="err", title=refusal.sentence, text=refusal.hint))
    elif problem is not None:
        found.append(PlanNotice(tone="err", title=problem.sentence, text=problem.hint))
    if forecast is not None and forecast.refusal:
        title, text = memory_refusal(forecast)
        found.append(PlanNotice(tone="err", title=title, text=text, changes=forecast.changes[:MOST_CHANGES]))
    return found


def lack_notice(view: ReadinessView, problem: UserError, *, has_no_card: bool, tone: str = "warn") -> PlanNotice:
    """Return the banner that says what a real model lacks.

    Without a card nothing that can be brought makes the model train, so what does train here comes first.
    """
    title, text = problem.sentence, problem.hint
    if has_no_card and view.lack != "card":
        title, text = "No NVIDIA card was found: this model needs one", " ".join((WHAT_TRAINS, title, text)).strip()
    return PlanNotice(
        tone=tone,
        title=title,
        text=view.doing or text,
        bring=view.button,
        command="" if view.doing else view.copyable,
        profile=DEMO if has_no_card or view.lack == "card" else "",
    )


def memory_refusal(forecast: Forecast) -> tuple[str, str]:
    """Return title and text that say why a training does not fit, and what would help."""
    title, *more = forecast.refusal
    if more:
        title, more = "Training would run out of memory", list(forecast.refusal)
    help_lines = [f"•  {way}" for way in forecast.ways_out]
    if help_lines:
        help_lines.insert(0, "What would help:" if len(help_lines) > 1 else "This would help:")
    return title, "\n".join([" ".join(more), *help_lines] if more else help_lines)
