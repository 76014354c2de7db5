"""Whether a plan could start: a checklist, and the one word on it that every part of the window repeats."""

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from diffusionforce.errors import UserError
from diffusionforce.gui.model import forecast_bars, forecast_verdict, words
from diffusionforce.gui.model.plan import Plan
from diffusionforce.runs import RunFolder

if TYPE_CHECKING:
    from diffusionforce.datasets import Dataset

NO_CARD = "No NVIDIA card was found"
MIN_FREE_BYTES = 200 * 1024 * 1024

State: TypeAlias = Literal["ready", "checking", "blocked"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of the checklist. `tone` is `ok`, `info`, `warn` or `err`; only `err` keeps the run from starting."""

    tone: str
    text: str
    hint: str = ""

    @property
    def sentence(self) -> str:
        """The line with what it means, in sentences."""
        return f"{self.text}. {self.hint}".strip()


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Whether a plan could start.

    Attributes:
        state: `ready`, `checking` while that is not known yet, or `blocked`.
        title: That in words, for a headline.
        reason: Why it cannot start, empty where it can.
    """

    state: State
    title: str
    reason: str = ""


def standing(plan: Plan) -> Standing:
    """Return whether a plan could start. What is still being looked at counts as not ready, but not as a fault."""
    blockers = [check for check in checks(plan) if check.tone == "err"]
    if blockers:
        number = len(blockers)
        title = f"Not ready: {number} things to fix" if number > 1 else "Not ready: 1 thing to fix"
        return Standing(state="blocked", title=title, reason=blockers[0].sentence)
    reason = ""
    if plan.needs_engine and plan.readiness.is_checking:
        reason = "Engine and files of the model are still being looked for."
    elif plan.is_checking:
        reason = "The dataset is still being checked."
    return Standing(
        state="checking" if reason else "ready", title="Checking" if reason else "Ready to start", reason=reason
    )


def checks(plan: Plan) -> list[Check]:
    """Return the checklist, in the order of the page."""
    return [
        *_environment_checks(plan),
        *_card_checks(plan),
        _engine_check(plan),
        *_file_checks(plan),
        *_memory_checks(plan),
        *_dataset_checks(plan),
        *_output_checks(plan),
    ]


def _environment_checks(plan: Plan) -> list[Check]:
    if not plan.needs_environment:
        return []
    hint = "It holds PyTorch, and is set up once."
    return [Check(tone="err", text="The environment is not ready", hint=hint)]


def _card_checks(plan: Plan) -> list[Check]:
    """Say first what no button can help, before somebody brings the engine for nothing."""
    return [Check(tone="err", text=NO_CARD, hint="This model needs one.")] if plan.lacks_card else []


def _file_checks(plan: Plan) -> list[Check]:
    if not plan.needs_engine or plan.readiness.lack != "engine":
        return []
    return [Check(tone="info", text="Files of the model are looked for once the engine is here")]


def _engine_check(plan: Plan) -> Check:
    if plan.profile is None and plan.profile_problem is None:
        return Check(tone="err", text="No profile is chosen", hint="Choose one above.")
    refusal = plan.refusal()
    if refusal is not None:
        short = "The profile cannot be used" if plan.profile_problem is not None else plan.readiness.title
        return Check(tone="err", text=short, hint=_told(refusal))
    if not plan.needs_engine:
        return Check(tone="ok", text="The model comes with the app")
    if plan.readiness.is_checking:
        return Check(tone="info", text="Looking for engine and files")
    return Check(tone="ok", text="Engine and files are here")


def _memory_checks(plan: Plan) -> list[Check]:
    memory = plan.memory
    if memory.problem is not None:
        return [Check(tone="warn", text="The memory is not forecast", hint=_told(memory.problem))]
    if memory.is_checking:
        return [Check(tone="info", text="Working out the memory")]
    forecast = memory.current
    if forecast is None:
        return []
    if forecast.refusal:
        hint = " ".join((*forecast.refusal, *forecast.ways_out[:1]))
        return [Check(tone="err", text="The memory does not suffice", hint=hint)]
    tone, sentence = forecast_verdict.summary(forecast)
    way = forecast.recommended
    on_processor = way is None or forecast_bars.is_on_processor(forecast)
    on = "in memory" if on_processor or way is None else f"on {words.count(len(way.cards), 'card')}"
    return [Check(tone="warn" if tone == "warn" else "ok", text=f"Fits {on}", hint=sentence)]


def _dataset_checks(plan: Plan) -> list[Check]:
    if not plan.dataset_name:
        return [Check(tone="err", text="No dataset is chosen", hint="Choose a folder of captioned pictures above.")]
    if plan.dataset_problem is not None:
        return [Check(tone="err", text="The dataset cannot be used", hint=_told(plan.dataset_problem))]
    if plan.dataset is None:
        return [Check(tone="info", text="Checking the pictures")]
    found = [Check(tone="ok", text=f"{words.count(len(plan.dataset.items), 'picture')} decoded and captioned")]
    left_out = sum(finding.left_out for finding in plan.dataset.findings)
    if left_out:
        found.append(Check(tone="warn", text=f"{words.count(left_out, 'file')} left out, see the dataset"))
    return [*found, *_trigger_checks(plan, plan.dataset)]


def _trigger_checks(plan: Plan, dataset: "Dataset") -> list[Check]:
    # Whoever read the dataset has loaded this package, which the start of the window does without.
    from diffusionforce.datasets import num_captions_without  # noqa: PLC0415

    trigger, captions = plan.trigger, [item.caption for item in dataset.items]
    number = num_captions_without(trigger, captions)
    if not number:
        return []
    of = words.count(len(captions), "caption")
    text = f"{number} of {of} {'does' if number == 1 else 'do'} not contain {trigger}"
    hint = f"Previews ask for {trigger}. Captions that name it teach it."
    return [Check(tone="warn", text=text, hint=hint)]


def _output_checks(plan: Plan) -> list[Check]:
    try:
        RunFolder.check(plan.output_dir)
    except UserError as error:
        return [Check(tone="err", text=error.sentence.rstrip("."), hint=error.hint)]
    nearest = next(path for path in (plan.output_dir, *plan.output_dir.parents) if path.exists())
    free = shutil.disk_usage(nearest).free
    if free < MIN_FREE_BYTES:
        text = f"Only {words.size(free)} are free on the disk of the output folder"
        return [Check(tone="err", text=text, hint="Free some space, or choose another folder.")]
    return [Check(tone="ok", text=f"{words.size(free)} free for files")]


def _told(problem: UserError) -> str:
    return f"{problem.sentence} {problem.hint}".strip()
