"""Starting a run again: what is offered when it has ended, and the job for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from diffusionforce.gui.model import run_chain
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.model.run_title import day_and_time, started
from diffusionforce.job import Job, changed, read_job
from diffusionforce.runs import RunFolder, new_run_dir

MOST_OFFERS = 2
REBALANCE = "Start again as measured"


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One way to start a run again.

    Attributes:
        label: For a button.
        tip: What comes of it, empty where the label says it.
        settings: New values by the dotted names of settings; empty leaves all as they are.
    """

    label: str
    tip: str = ""
    settings: Mapping[str, bool | int | float | str] = field(default_factory=dict[str, bool | int | float | str])


@dataclass(frozen=True, kw_only=True)
class Continuation:
    """The checkpoint from which a run that ended early can go on.

    Attributes:
        state: Its folder.
        step: Last finished step in it.
    """

    state: Path
    step: int

    @property
    def label(self) -> str:
        """For a button."""
        return f"Continue from step {self.step:,}"


@dataclass(frozen=True, kw_only=True)
class Successor:
    """The run that went on from one that ended early.

    Attributes:
        root: Its folder.
        when: When it began, as people say it; its name where that is not known.
    """

    root: Path
    when: str

    @property
    def words(self) -> str:
        """For a banner."""
        return f"It was continued in another run: {self.when}."


def successor(model: RunModel, root: Path) -> Successor | None:
    """Return the run that went on from one that ended early; None where none did.

    Args:
        model: The run, which has ended.
        root: Its folder.
    """
    if not _ended_early(model):
        return None
    later = run_chain.continued_by(root)
    if later is None:
        return None
    moment = started(later)
    return Successor(root=later, when=day_and_time(moment) if moment is not None else later.name)


def continuation(model: RunModel, root: Path) -> Continuation | None:
    """Return from where a run that ended early can go on; None where it is done, or there is no whole checkpoint.

    Args:
        model: The run, which has ended.
        root: Its folder.
    """
    if not _ended_early(model):
        return None
    states = (state for state in RunFolder(root).states_onward() if state.step < model.num_steps)
    farthest = next(states, None)
    return None if farthest is None else Continuation(state=farthest.path, step=farthest.step)


def _ended_early(model: RunModel) -> bool:
    return model.outcome is not None and model.outcome.kind in {"stopped", "failed", "crashed"}


def offers(model: RunModel) -> tuple[Offer, ...]:
    """Return how a run that has ended may be started again: with what would help, or with what it taught."""
    result = model.outcome
    if result is None:
        return ()
    if result.changes:
        return tuple(
            Offer(label=f"Start again: {one.words.partition(' (')[0]}", tip=one.words, settings=one.settings)
            for one in result.changes[:MOST_OFFERS]
        )
    return (Offer(label=REBALANCE, tip="Blocks are shared out anew, with what was seen."),) if teaches(model) else ()


def teaches(model: RunModel) -> bool:
    """Whether a run went so far from its forecast that the next one of its kind will be planned in another way."""
    return model.compared is not None and bool(model.compared.causes)


def job_again(root: Path, settings: Mapping[str, bool | int | float | str]) -> Job:
    """Return the job of a run, to be done again in a folder of its own.

    Args:
        root: Folder of the run.
        settings: New values by the dotted names of settings.

    Raises:
        UserError: The job cannot be read, or a value is refused.
    """
    job = read_job(RunFolder(root).job_path)
    profile = changed(job.profile, settings, origin="What would help") if settings else job.profile
    return job.model_copy(update={"profile": profile, "run_dir": new_run_dir(job.profile_name)})


def job_onward(root: Path, state: Path) -> Job:
    """Return the job of a run, to go on in a folder of its own from a checkpoint.

    Args:
        root: Folder of the run.
        state: Folder of the checkpoint.

    Raises:
        UserError: The job cannot be read.
    """
    return job_again(root, {}).model_copy(update={"resume": state})
