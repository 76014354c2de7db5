"""The training environment as the window tells it: what will be brought, how far it is, how it stands, what to do."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from diffusionforce.errors import UserError
from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import noted
from diffusionforce.wire.environment import (
    BUILD_STEPS,
    BuildStep,
    EnvironmentPlan,
    EnvironmentProgress,
    EnvironmentState,
    EnvironmentStatus,
)

Phase: TypeAlias = Literal["looking", "idle", "running", "stopping"]
Action: TypeAlias = Literal["create", "repair", "verify", "remove"]
StepState: TypeAlias = Literal["later", "now", "done", "failed", "stopped"]

CUDA_NAMES = {"cpu": noted("without CUDA"), "cu126": "CUDA 12.6", "cu130": "CUDA 13.0"}
_STEP_TITLES: dict[BuildStep, str] = {
    "venv": noted("Make the environment"),
    "torch": noted("Install PyTorch"),
    "libraries": noted("Install the libraries"),
    "check": noted("Load everything once"),
}
_STEP_NOTES: dict[BuildStep, str] = {
    "venv": noted("A Python of its own, apart from any other on this computer."),
    "torch": noted("It computes on the graphics cards, and is most of the download."),
    "libraries": noted("What the trainers need, each in the version that was tested."),
    "check": noted("So that a fault shows now, and not at the start of a run."),
}
_SPANS: dict[BuildStep, tuple[float, float]] = {
    "venv": (0.0, 0.05),
    "torch": (0.05, 0.7),
    "libraries": (0.7, 0.9),
    "check": (0.9, 1.0),
}
"""Where each step begins and ends in the whole, roughly as they take."""
_HEADLINES: dict[EnvironmentState, tuple[str, str, str]] = {
    "missing": (
        "info",
        noted("Training needs one more thing"),
        noted(
            "PyTorch and the libraries for training are large, and depend on your graphics cards. They are brought "
            "once; everything else in this window works without them."
        ),
    ),
    "unfinished": (
        "info",
        noted("The environment is not finished"),
        noted("What was done is kept. Go on where it was."),
    ),
    "outdated": (
        "warn",
        noted("This version needs a newer environment"),
        noted("What stayed the same is not downloaded again."),
    ),
    "moved": (
        "warn",
        noted("The application is in another place than before"),
        noted("The environment refers to the old place. Making it anew takes no download."),
    ),
    "damaged": (
        "err",
        noted("The environment is damaged"),
        noted("Repairing makes it anew, from what was downloaded before."),
    ),
    "ready": ("ok", noted("Ready to train"), ""),
}
_CHECKOUT = (
    "ok",
    noted("Nothing needs to be set up"),
    noted("This copy trains as it is. An environment for the installed application can be built here all the same."),
)
_STARTS: dict[EnvironmentState, tuple[Action, str]] = {
    "missing": ("create", noted("Set up now")),
    "unfinished": ("create", noted("Go on")),
    "outdated": ("create", noted("Update now")),
    "moved": ("repair", noted("Make it anew")),
    "damaged": ("repair", noted("Repair")),
    "ready": ("verify", noted("Check it")),
}


@dataclass(frozen=True, kw_only=True)
class EnvironmentView:
    """What is known of the environment.

    Attributes:
        phase: What is going on.
        is_ours: Whether training needs it; a copy that runs from its source trains without.
        action: What was asked for last; empty where nothing was.
        status: How it stands; None while it is looked at for the first time.
        plan: What would be built; None where that is not known, or not possible.
        plan_problem: Why nothing can be planned.
        problem: Why the last attempt failed.
        progress: The step that is being done, or was.
    """

    phase: Phase = "looking"
    is_ours: bool = True
    action: Action | Literal[""] = ""
    status: EnvironmentStatus | None = None
    plan: EnvironmentPlan | None = None
    plan_problem: UserError | None = None
    problem: UserError | None = None
    progress: EnvironmentProgress | None = None

    @property
    def state(self) -> EnvironmentState:
        """How the environment stands; `missing` while that is not known."""
        return self.status.state if self.status is not None else "missing"

    @property
    def is_busy(self) -> bool:
        """Whether something is being done."""
        return self.phase in {"running", "stopping"}

    @property
    def is_building(self) -> bool:
        """Whether it is being built, or was, and has not been finished: the steps say how far it came."""
        return self.action in {"create", "repair"} and (self.is_busy or self.state != "ready")

    @property
    def offers_another_build(self) -> bool:
        """Whether the build that is chosen, or that suits the cards, is another than the one that is there."""
        return self.plan is not None and self.status is not None and self.plan.backend != self.status.backend

    @property
    def is_spare(self) -> bool:
        """Whether it is not there, and nothing is the worse for that."""
        return not self.is_ours and self.state == "missing"

    @property
    def lacks_room(self) -> bool:
        """Whether the drive has too little room for what would be built."""
        return self.plan is not None and self.state != "ready" and self.plan.free_bytes < self.plan.needed_bytes

    def start(self) -> tuple[Action, str]:
        """Return what the one large button does, and what it says."""
        if self.state == "ready" and self.offers_another_build:
            return "create", noted("Change the build")
        if self.problem is not None and self.action in {"create", "repair"}:
            return "create", noted("Try again")
        return ("create", noted("Build it all the same")) if self.is_spare else _STARTS[self.state]


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What is so, and what it means, with a tone."""

    tone: str
    title: str
    text: str = ""


def headline(view: EnvironmentView) -> Headline:
    """Return what stands over everything else."""
    if view.phase == "stopping":
        return Headline(tone="info", title=noted("Stopping"), text=noted("What was done is kept."))
    if view.phase == "running" and view.action == "verify":
        return Headline(tone="info", title=noted("Checking the environment"), text=_loading(view.progress))
    if view.phase == "running":
        text = noted("You can use the other pages meanwhile, or close the window and go on later.")
        return Headline(tone="info", title=noted("Setting up the training environment"), text=text)
    if view.phase == "looking" and view.status is None:
        return Headline(tone="info", title=noted("Looking at the environment"))
    if view.problem is not None:
        return Headline(tone="err", title=view.problem.sentence, text=view.problem.hint)
    if view.is_spare:
        tone, title, text = _CHECKOUT
        return Headline(tone=tone, title=title, text=text)
    if view.plan_problem is not None and view.state != "ready":
        return Headline(tone="err", title=view.plan_problem.sentence, text=view.plan_problem.hint)
    if view.lacks_room and view.plan is not None:
        return _little_room(view.plan)
    tone, title, text = _HEADLINES[view.state]
    if view.state == "ready" and view.status is not None:
        text = ready_words(view.status)
        if view.offers_another_build and view.plan is not None:
            text = f"{text} The build {CUDA_NAMES[view.plan.backend]} could take its place."
    elif view.status is not None and view.state == "damaged":
        text = " ".join((*view.status.problems, text))
    return Headline(tone=tone, title=title, text=text)


def _little_room(plan: EnvironmentPlan) -> Headline:
    text = (
        f"It takes about {words.size(plan.needed_bytes)}, and {words.size(plan.free_bytes)} are free. Free some space, "
        "or move the data folder to another drive with DIFFUSIONFORCE_HOME."
    )
    return Headline(tone="warn", title=f"There is too little room on {plan.drive}", text=text)


def ready_words(status: EnvironmentStatus) -> str:
    """Return what a finished environment holds, in a sentence."""
    build = CUDA_NAMES.get(status.backend, status.backend)
    packages = words.count(status.num_packages, "package")
    return f"PyTorch {status.torch_version} ({build}) with {packages}. Everything was loaded once."


def _loading(progress: EnvironmentProgress | None) -> str:
    if progress is None or not progress.package:
        return noted("Looking for every file.")
    return f"Loading {progress.package}, {progress.done + 1} of {progress.total}."


@dataclass(frozen=True, kw_only=True)
class StepView:
    """One step of building.

    Attributes:
        title: What is done.
        note: What it is for, or how far it is.
        state: How it stands.
        share: How far it is, 0 to 1; None where that is not known.
        amount: How far it is, in numbers, short.
    """

    title: str
    note: str
    state: StepState
    share: float | None = None
    amount: str = ""


def steps(view: EnvironmentView) -> tuple[StepView, ...]:
    """Return the steps of building and how far each is."""
    now = BUILD_STEPS.index(view.progress.step) if view.progress is not None and view.is_building else -1
    return tuple(_step(view, i, step, now=now) for i, step in enumerate(BUILD_STEPS))


def _step(view: EnvironmentView, at: int, step: BuildStep, *, now: int) -> StepView:
    whole = StepView(title=_STEP_TITLES[step], note=_STEP_NOTES[step], state="later")
    if view.state == "ready" and not view.is_busy:
        return replace(whole, state="done")
    if at < now:
        return replace(whole, state="done")
    if at > now or view.progress is None:
        return whole
    if not view.is_busy:
        return replace(whole, state="failed" if view.problem is not None else "stopped")
    note, amount, share = _progress_words(view.progress)
    return replace(whole, state="now", note=note or whole.note, amount=amount, share=share)


def _progress_words(progress: EnvironmentProgress) -> tuple[str, str, float | None]:
    """Return what is being done in a step, how far in numbers, and as a share."""
    if progress.step == "check":
        share = progress.done / progress.total if progress.total else None
        amount = f"{progress.done} of {progress.total}" if progress.total else ""
        return (f"Loading {progress.package}" if progress.package else ""), amount, share
    if not progress.total_bytes:
        note = noted("Looking for versions") if progress.step != "venv" and not progress.total else ""
        return note, "", None
    share = progress.done_bytes / progress.total_bytes
    amount = words.amount_of(progress.done_bytes, progress.total_bytes)
    if not progress.package:
        return noted("Unpacking"), amount, share
    speed = f", {words.size(progress.bytes_per_s)} a second" if progress.bytes_per_s else ""
    return f"Downloading {progress.package}{speed}", amount, share


def share_built(view: EnvironmentView) -> float | None:
    """Return how much of the environment is there, 0 to 1, while it is being built; else None."""
    if view.phase != "running" or not view.is_building:
        return None
    if view.progress is None:
        return 0.0
    begin, end = _SPANS[view.progress.step]
    return begin + (end - begin) * (_progress_words(view.progress)[2] or 0.0)


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One number of the plan: what it is, value (or about that), unit, a line of context, and a tone for that."""

    name: str
    value: str
    unit: str = ""
    context: str = ""
    tone: str = ""
    is_about: bool = False


def facts(view: EnvironmentView) -> tuple[Fact, Fact, Fact]:
    """Return the numbers of the plan: what comes, the room it takes, the build."""
    names = (noted("To download"), noted("Takes on the disk"), "PyTorch")
    plan = view.plan
    if view.state == "ready" and view.status is not None and not view.offers_another_build:
        return _facts_of(view.status, plan)
    if plan is None:
        unknown = [Fact(name=name, value="–") for name in names]
        return unknown[0], unknown[1], unknown[2]
    value, unit = _parted(plan.download_bytes)
    source = noted("from a folder of wheels") if plan.wheels else noted("once; kept for repairs")
    come = Fact(name=names[0], value=value, unit=unit, context=source, is_about=not plan.wheels)
    needed, needed_unit = _parted(plan.needed_bytes)
    free = f"{words.size(plan.free_bytes)} free on {plan.drive}"
    room = Fact(
        name=names[1],
        value=needed,
        is_about=True,
        unit=needed_unit,
        context=free,
        tone="err" if view.lacks_room else "",
    )
    build = Fact(name=names[2], value=plan.torch_version, context=CUDA_NAMES.get(plan.backend, plan.backend))
    return come, room, build


def _facts_of(status: EnvironmentStatus, plan: EnvironmentPlan | None) -> tuple[Fact, Fact, Fact]:
    """Return the numbers of what is there."""
    build = CUDA_NAMES.get(status.backend, status.backend)
    free, unit = _parted(plan.free_bytes) if plan is not None else ("–", "")
    drive = plan.drive if plan is not None else ""
    return (
        Fact(name="PyTorch", value=status.torch_version, context=build),
        Fact(name=noted("Packages"), value=str(status.num_packages), context=noted("each as it was tested")),
        Fact(name=noted("Free space"), value=free, unit=unit, context=drive),
    )


def _parted(num_bytes: int) -> tuple[str, str]:
    value, _, unit = words.size(num_bytes).partition(" ")
    return (value, unit) if num_bytes else ("0", "GB")
