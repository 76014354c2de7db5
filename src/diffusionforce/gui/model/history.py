"""The runs there are: how each ended, what it took, and which went on from which."""

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from diffusionforce.errors import RunFolderError, UserError
from diffusionforce.gui.model import words
from diffusionforce.gui.model.dataset_title import folder_title
from diffusionforce.gui.model.plan_words import short_facts
from diffusionforce.gui.model.run_chain import begun_at, has_gone_on, run_of
from diffusionforce.gui.model.run_title import day_and_time, job_title, started
from diffusionforce.job import Job, read_job
from diffusionforce.runs import RunFolder, RunState, SavedState, list_runs, list_states, unreadable_runs
from diffusionforce.runs.labels import LABEL_NAME, NO_LABEL, RunLabel, read_label

_SAMPLE = re.compile(r"step_(\d+)_prompt_(\d+)")
PICTURES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif", ".mp4", ".webm", ".mov", ".avi", ".mkv"})
UNREADABLE = "Its run.json is broken, or a newer version wrote it. What it saved is still in its folder."


@dataclass(frozen=True, kw_only=True)
class PastRun:
    """One run folder, as it is now.

    Attributes:
        root: The folder.
        state: How far it came and how it ended; a run whose process is gone has crashed.
        picture: Its newest sample of the first prompt, None where there is none.
        states: The whole checkpoints that it saved, or the one with which it began where it saved none, from which
            there is something left to do, the farthest first.
        title: What it is called where the user gave it no name; empty leaves the name of its profile.
        dataset: Name of what it learned from; empty where that cannot be read any more.
        settings: The settings that people check, in a line; empty where they cannot be read.
        label: The name and the notes that the user gave it.
        continues: The run that it goes on from, None for one that began anew.
        begun_at: Step from which it went on, 0 for one that began anew.
        continued: When the run began that goes on from this one, as people say it; empty where none does.
        is_unreadable: Whether its state cannot be read; then the state here only says so.
        looked_at: Further folders on which it depends: the checkpoints, which may be those of another run.
        seen: What its files looked like when it was read, by which a change is noticed.
    """

    root: Path
    state: RunState
    picture: Path | None
    title: str = ""
    states: tuple[SavedState, ...] = ()
    dataset: str = ""
    settings: str = ""
    label: RunLabel = NO_LABEL
    continues: Path | None = None
    begun_at: int = 0
    is_unreadable: bool = False
    continued: str = ""
    looked_at: tuple[Path, ...] = field(default=(), compare=False)
    seen: tuple[tuple[int, int] | None, ...] = field(default=(), compare=False)

    @property
    def is_going(self) -> bool:
        """Whether it goes on, in this window or elsewhere."""
        return self.state.state == "running"

    @property
    def name(self) -> str:
        """What it is called."""
        return self.label.name or self.title or self.state.title

    @property
    def can_resume(self) -> bool:
        """Whether another run can go on where this one ended."""
        return bool(self.states) and not self.continued and self.state.state not in {"running", "done"}

    @property
    def seconds(self) -> float | None:
        """How long it took, None while it goes on or where that is not known."""
        return seconds_of(self.state)

    @property
    def when(self) -> str:
        """When it started, as people say it: by the name of its folder where we made it, as everywhere else."""
        moment = started(self.root)  # Its state knows only when its process was there, which may be a minute later.
        return when(self.state.started_at) if moment is None else day_and_time(moment)

    def facts(self) -> str:
        """Return what a line of the history says about it."""
        state = self.state
        if self.is_unreadable:
            return state.sentence
        steps = f"step {state.step:,} of {state.num_steps:,}"
        if state.state == "done":
            fall = state.held_out_loss.fall if state.held_out_loss is not None else None
            parts = self._steps_and_time()
            if fall is not None:
                parts.append(f"held-out {'−' if fall >= 0 else '+'}{words.percent(abs(fall))}")
            return " · ".join(parts)
        if self.is_going:
            return f"{steps} · started elsewhere"
        if self.continued:
            return " · ".join((steps, f"was continued {self.continued}"))
        return f"{steps} · {state.sentence}" if state.state in {"failed", "crashed"} and state.sentence else steps

    def _steps_and_time(self) -> list[str]:
        """Return what was trained and how long that took; of a run that went on, only its own steps took that long."""
        steps = words.count(self.state.step, "step")
        if not self.seconds:
            return [steps]
        length = words.duration(self.seconds)
        if not self.begun_at:
            return [f"{steps} in {length}"]
        return [steps, f"{words.count(self.state.step - self.begun_at, 'step')} of them here, in {length}"]


def seconds_of(state: RunState) -> float | None:
    """Return how long a run took, None while it goes on or where that is not known."""
    try:
        span = datetime.fromisoformat(state.ended_at) - datetime.fromisoformat(state.started_at)
    except ValueError:
        return None
    return span.total_seconds()


def _newest_of_first_prompt(sample: Path) -> tuple[int, int, str]:
    """Sort by step, and within a step the first prompt last: later ones often show what is *not* trained."""
    found = _SAMPLE.search(sample.stem)
    step, prompt = (int(found[1]), int(found[2])) if found else (-1, 0)
    return step, -prompt, sample.name


def read_history(root: Path, known: Sequence[PastRun] = ()) -> list[PastRun]:
    """Return the runs in a folder, the newest first.

    Args:
        root: The folder.
        known: The runs as they were read before; those that have ended and have not changed are not read again.
    """
    before = {run.root: run for run in known if not run.is_going}
    found: list[PastRun] = []
    for folder in list_runs(root):
        run = before.get(folder.root)
        if run is None or run.seen != _look(folder, run.looked_at):
            run = _read_run(folder)
        if run is not None:
            found.append(run)
    broken = [_unreadable_run(folder) for folder in unreadable_runs(root)]
    found += [run for run in broken if run is not None]
    if broken:
        found.sort(key=lambda run: (run.state.started_at, run.root.name), reverse=True)
    return _chained(found)


def _unreadable_run(folder: RunFolder) -> PastRun | None:
    """Return a run whose state cannot be read, dated by the file; None where that is gone."""
    try:
        written = datetime.fromtimestamp(folder.state_path.stat().st_mtime, UTC)
    except OSError:
        return None
    state = RunState(
        state="failed",
        profile_name="",
        title=folder.root.name,
        pid=0,
        process_started_s=0.0,
        started_at=written.isoformat(timespec="seconds"),
        num_steps=0,
        sentence=UNREADABLE,
    )
    return PastRun(
        root=folder.root, state=state, picture=_picture(folder), label=read_label(folder.root), is_unreadable=True
    )


def _picture(folder: RunFolder) -> Path | None:
    """Return the newest sample of the first prompt, None where there is none."""
    paths = folder.samples_dir.rglob("*") if folder.samples_dir.is_dir() else ()
    samples = [path for path in paths if path.suffix.lower() in PICTURES]
    return max(samples, key=_newest_of_first_prompt, default=None)


def _chained(runs: list[PastRun]) -> list[PastRun]:
    """Return runs, the newest first, that know which run went on from them."""
    went_on = [run for run in runs if has_gone_on(run.state.state, step=run.state.step)]
    later = {run.continues: run.when for run in reversed(went_on) if run.continues is not None}
    chained: list[PastRun] = []
    for run in runs:
        continued = later.get(run.root, "")
        chained.append(run if run.continued == continued else replace(run, continued=continued))
    return chained


def _look(folder: RunFolder, further: Sequence[Path]) -> tuple[tuple[int, int] | None, ...]:
    """Return time and size of what changes with a run: whatever is renamed into a folder changes the folder's time."""
    places = (folder.state_path, folder.job_path, folder.root / LABEL_NAME, folder.samples_dir, folder.checkpoints_dir)
    looks: list[tuple[int, int] | None] = []
    for place in (*places, *further):
        try:
            about = place.stat()
        except OSError:
            looks.append(None)
        else:
            looks.append((about.st_mtime_ns, about.st_size))
    return tuple(looks)


def _checkpoint_folders(folder: RunFolder, job: Job | None) -> tuple[Path, ...]:
    """Return where the checkpoints lie from which a run could go on, whether or not they are there and whole."""
    own = tuple(state.path for state in list_states(folder.checkpoints_dir))
    return own if job is None or job.resume is None else (*own, job.resume)


def _read_run(folder: RunFolder) -> PastRun | None:
    """Return a run, None where its state cannot be read."""
    job = None
    with contextlib.suppress(UserError):
        job = read_job(folder.job_path)
    looked_at = _checkpoint_folders(folder, job)
    seen = _look(folder, looked_at)  # First, so that nothing that changes meanwhile is missed.
    try:
        state = folder.reconciled_state()
    except UserError:
        return None
    return PastRun(
        root=folder.root,
        state=state,
        picture=_picture(folder),
        states=tuple(saved for saved in folder.states_onward() if saved.step < state.num_steps),
        title="" if job is None else job_title(job),
        dataset="" if job is None else folder_title(job.dataset_dir),
        settings="" if job is None else short_facts(job.profile),
        label=read_label(folder.root),
        continues=None if job is None or job.resume is None else run_of(job.resume),
        begun_at=begun_at(job),
        looked_at=looked_at,
        seen=seen,
    )


def _goes_on(folder: RunFolder) -> bool:
    try:
        return folder.reconciled_state().state == "running"
    except UserError:
        return False  # A state that cannot be read is a good reason to delete the run.


def delete_words(run: PastRun) -> str:
    """Return what would go with a run; it counts its files, so call it on a thread.

    Raises:
        RunFolderError: It still goes on.
    """
    folder = RunFolder(run.root)
    if _goes_on(folder):
        raise RunFolderError(f"{run.name} is still being trained.", hint="Stop it first.")
    # Not above: the window starts without what moves files to the trash.
    from diffusionforce.runs.deleting import contents_of  # noqa: PLC0415

    found = contents_of(run.root)
    num_samples = folder.num_samples()
    parts = [words.count(num_samples, "preview")] if num_samples else []
    parts += [words.count(found.num_loras, "LoRA file")] if found.num_loras else []
    parts += [words.count(found.num_states, "checkpoint") + " to go on from"] if found.num_states else []
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
    amount = f"{words.size(found.size_bytes)} in {words.count(found.num_files, 'file')}"
    among = f", among them {listed}" if listed else ""
    return f"{amount} go to the trash{among}. What was copied to ComfyUI stays."


def state_words(state: SavedState) -> str:
    """Return what a checkpoint is called: by its step."""
    return f"Continue from step {state.step:,}"


def when(iso: str) -> str:
    """Return a moment of a run's state as people say it."""
    try:
        return day_and_time(datetime.fromisoformat(iso).astimezone())
    except ValueError:
        return iso
