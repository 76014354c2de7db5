"""The first steps of somebody new: what the rig is good for, the demo and how far it is, what it showed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from diffusionforce.errors import UserError
from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import noted
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.job import Job, Profile, dataset_folder, find_profile, read_profile
from diffusionforce.rig import NOT_HERE, RigReport
from diffusionforce.runs import list_runs, new_run_dir, runs_root

DEMO = "pocket-demo"
StageState: TypeAlias = Literal["done", "now", "later", "stopped", "failed"]
TONES = {"problem": "err", "warning": "warn", "note": "info", "good": "ok"}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the first steps: its title and a note of a few words."""

    title: str
    note: str


STEPS = (
    Step(title="Check the rig", note="what works here"),
    Step(title="Demo run", note="a few minutes"),
    Step(title="Choose a model", note="what you want to train"),
    Step(title="Your first dataset", note="optional"),
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing that was found out: its tone, what it is, what it means."""

    tone: str
    title: str
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage of the demo."""

    words: str
    state: StageState


def is_first_start() -> bool:
    """Tell whether nobody has trained anything here."""
    return not list_runs(runs_root())


def rig_lines(report: RigReport) -> list[Line]:
    """Return what was found out about the rig and the environment, what needs doing first."""
    lines = [_cards_line(report)]
    # That there is no card is the first line already.
    lines += [
        Line(tone=TONES[finding.severity], title=finding.sentence, text=finding.hint)
        for finding in report.findings
        if report.cards or "No NVIDIA card" not in finding.sentence
        if finding.sentence != NOT_HERE  # It is set up on the same page.
    ]
    free = report.machine.disk_free_bytes
    lines.append(
        Line(tone="ok", title=f"{words.size(free)} free on the disk", text="The demo needs less than 0.1 GB of it.")
    )
    order = ("err", "warn", "ok", "info")
    return sorted(lines, key=lambda line: order.index(line.tone))


def _cards_line(report: RigReport) -> Line:
    if not report.cards:
        text = "The demo runs on the processor. For the real models, install an NVIDIA card and its driver."
        return Line(tone="info", title="No NVIDIA card was found", text=text)
    names = " and ".join(card.name.removeprefix("NVIDIA ").removeprefix("GeForce ") for card in report.cards)
    total = words.round_size(sum(card.total_bytes for card in report.cards))
    if len(report.cards) == 1:
        return Line(tone="ok", title=f"{names}: {total}", text="Larger models page blocks through RAM.")
    text = "A model that fits neither card alone is split over them."
    return Line(tone="ok", title=f"{names}: {total} together", text=text)


def rig_verdict(report: RigReport) -> tuple[str, str]:
    """Return tone and words of the verdict about a rig."""
    problems = [finding for finding in report.findings if finding.severity == "problem"]
    if problems and all(finding.sentence == NOT_HERE for finding in problems):
        return "info", noted("One thing to set up")
    if problems:
        return "err", noted("Needs attention")
    if len(report.cards) > 1:
        return "ok", noted("Good for splitting")
    return ("ok", noted("Ready")) if report.cards else ("info", noted("Ready for the demo"))


def demo_job() -> Job:
    """Return the job of the demo.

    Raises:
        ProfileError: Its profile or its pictures are not there.
    """
    profile: Profile = read_profile(find_profile(DEMO))
    held_out = profile.dataset.held_out_folder
    return Job(
        profile_name=DEMO,
        profile=profile,
        dataset_dir=dataset_folder(profile.dataset.folder),
        held_out_dir=dataset_folder(held_out) if held_out else None,
        run_dir=new_run_dir(DEMO),
    )


def demo_pictures() -> list[tuple[Path, str]]:
    """Return the pictures that the demo learns from, each with its caption; none where they are not there."""
    try:
        folder = demo_job().dataset_dir
    except UserError:
        return []
    return [(path, path.with_suffix(".txt").read_text(encoding="utf-8").strip()) for path in _captioned(folder)]


def _captioned(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.png")) if path.with_suffix(".txt").is_file()]


def stages(model: RunModel) -> tuple[Stage, ...]:
    """Return the stages of the demo and how far each is."""
    at, is_over = _stage_now(model), model.outcome is not None
    is_good = model.outcome is not None and model.outcome.kind == "done"
    end: StageState = "stopped" if model.outcome is not None and model.outcome.kind == "stopped" else "failed"
    learn = f"Learn, step {model.step:,} of {model.num_steps:,}" if at == 2 and model.num_steps else noted("Learn")
    names = (noted("Load the model"), noted("Prepare pictures"), learn, noted("Draw the result"))
    found: list[Stage] = []
    for i, name in enumerate(names):
        state: StageState = "done" if i < at or is_good else "later" if i > at else end if is_over else "now"
        found.append(Stage(words=name, state=state))
    return tuple(found)


def _stage_now(model: RunModel) -> int:
    if model.step and model.step >= model.num_steps:
        return 3
    if model.last_step is not None:
        return 2
    # What was heard last, so that what is done stays done in a run that is stopped before its first step.
    heard = model.prepared_last
    if heard is None or heard.stage == "model":
        return 0
    return 1 if heard.stage in {"text", "pictures"} else 2


def left_words(model: RunModel) -> str:
    """Return how long the demo will take, or how it ended."""
    if model.outcome is not None:
        return model.outcome.word
    return f"about {model.time_left}" if model.time_left and model.step else ""


def result_words(model: RunModel) -> str:
    """Return what the demo showed, in a sentence."""
    fall = model.losses.held_out_fall
    took = f"It took {words.duration(model.training_s)} of training." if model.training_s else ""
    if fall is None or fall <= 0:
        return took
    known = f"On pictures that it never saw, its error fell by {words.percent(fall)}."
    return f"{known} {took}".strip()


def problem_of(error: UserError) -> Line:
    """Return a problem as a line."""
    return Line(tone="err", title=error.sentence, text=error.hint)
