"""Runs that go on from one another: what there was before a run's first step, and which run goes on from it.

A run that is resumed has a folder of its own, which begins at the step of the checkpoint. To people it is one
training, so its curve and its previews begin where the first run of the chain began.
"""

from dataclasses import dataclass, field
from pathlib import Path

from diffusionforce.errors import UserError
from diffusionforce.job import Job, read_job
from diffusionforce.runs import RunFolder, read_telemetry
from diffusionforce.runs.checkpoints import step_of
from diffusionforce.wire import HeldOut, Sample, Step


@dataclass(kw_only=True)
class EarlierRun:
    """What an earlier run of a chain did until the next one went on from it.

    Attributes:
        root: Its folder.
        losses: Pairs of step and loss, ascending.
        held_out: Pairs of step and loss on the held-out pictures, ascending.
        samples: Its samples; their paths are relative to its folder.
        steps_s: What its steps took together, in seconds.
    """

    root: Path
    losses: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    held_out: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    samples: list[Sample] = field(default_factory=list[Sample])
    steps_s: float = 0.0


def run_of(state: Path) -> Path:
    """Return the folder of the run that saved a checkpoint."""
    return state.parent.parent


def begun_at(job: Job | None) -> int:
    """Return the step of the checkpoint from which a job goes on, 0 for one that begins anew."""
    return 0 if job is None or job.resume is None else max(0, step_of(job.resume))


def earlier_runs(job: Job) -> list[EarlierRun]:
    """Return what there was before the first step of a job, the first run of its chain first; call it on a thread.

    A run that is not there any more ends the chain.
    """
    found: list[EarlierRun] = []
    seen: set[Path] = set()
    while job.resume is not None and run_of(job.resume) not in seen:
        root, until = run_of(job.resume), begun_at(job)
        seen.add(root)
        folder = RunFolder(root)
        try:
            job = read_job(folder.job_path)
        except UserError:
            break
        found.append(_read(folder, until=until, since=begun_at(job)))
    return found[::-1]


def _read(folder: RunFolder, *, until: int, since: int) -> EarlierRun:
    """Read a run up to a step; what it said of the step at which it began itself was the run before it."""
    part = EarlierRun(root=folder.root)
    for message in read_telemetry(folder):
        match message:
            case Step() if message.step <= until:
                part.losses.append((message.step, message.loss))
                part.steps_s += message.seconds
            case HeldOut() if message.step <= until and (message.step > since or not since):
                part.held_out.append((message.step, message.loss))
            case Sample() if message.step <= until:
                part.samples.append(message)
            case _:
                pass
    return part


def continued_by(root: Path) -> Path | None:
    """Return the newest run beside a run that went on from it and made a step; None where there is none."""
    try:
        others = sorted((path for path in root.parent.iterdir() if path != root), reverse=True)
    except OSError:
        return None
    return next((path for path in others if _goes_on_from(RunFolder(path), root)), None)


def _goes_on_from(folder: RunFolder, root: Path) -> bool:
    try:
        if root.name.encode() not in folder.job_path.read_bytes():
            return False  # Reading it whole takes a hundred times as long, and there may be hundreds of runs.
        job, state = read_job(folder.job_path), folder.read_state()
    except (OSError, UserError):
        return False
    return job.resume is not None and run_of(job.resume) == root and has_gone_on(state.state, step=state.step)


def has_gone_on(state: str, *, step: int) -> bool:
    """Whether a run that continues another has come to anything; one that failed at once has not."""
    return step > 0 or state in {"running", "done"}
