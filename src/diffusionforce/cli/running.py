"""`diffusionforce run`: a job made from the arguments, trained by a child process, followed to its end."""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from diffusionforce.cli import EXIT_INTERRUPTED
from diffusionforce.cli.arguments import as_options, user_path, with_devices, with_settings, with_steps
from diffusionforce.cli.child import StopRequests, TrainerChild
from diffusionforce.cli.output import Screen, write_bytes
from diffusionforce.cli.progress import RunView
from diffusionforce.cli.resuming import repeated_job, resumed_job
from diffusionforce.cli.subject import fitted
from diffusionforce.cli.words import closing_lines, named_run
from diffusionforce.errors import ProfileError, UserError
from diffusionforce.job import (
    Job,
    Profile,
    dataset_folder,
    find_profile,
    read_profile,
    with_absolute_weights,
    write_job,
)
from diffusionforce.job.files import DEMO_PREFIX
from diffusionforce.runs import RunFolder, RunState, claimed_run_dir, new_run_dir
from diffusionforce.wire import PASSING_JOB_NAME, End, Failed, Hello, Stopped, encode, require_protocol

EXIT_OK, EXIT_FAILED, EXIT_BUG = 0, 1, 2


def run(options: argparse.Namespace) -> int:
    """Train, and return the exit code.

    Raises:
        UserError: The arguments or the profile are refused.
    """
    told: list[str] = []
    job = _job(options, tell=told.append)
    RunFolder.check(job.run_dir)
    if not options.json:
        screen = Screen()
        screen.write("".join(f"{line}\n" for line in told))
        screen.flush()
    follow = _pass_through if options.json else _watch
    place = claimed_run_dir(job.profile_name) if options.out is None else contextlib.nullcontext(job.run_dir)
    stops = StopRequests()
    with stops.counted(), place as run_dir, tempfile.TemporaryDirectory(prefix="diffusionforce-") as folder:
        when_alone = options.when_alone.replace("-", "_")
        job = job.model_copy(update={"run_dir": run_dir, "when_alone": when_alone})
        job_file = Path(folder, PASSING_JOB_NAME)
        write_job(job_file, job)
        return follow(job, job_file, stops)


def _job(options: argparse.Namespace, *, tell: Callable[[str], None]) -> Job:
    if options.resume is not None and options.again is not None:
        raise ProfileError("--resume and --again exclude each other.", hint="--again begins at the first step.")
    if options.from_step is not None and options.resume is None:
        raise ProfileError("--from is for --resume.", hint="Name the run: --resume RUN --from STEP.")
    if options.resume is not None:
        return resumed_job(options, tell=tell)
    return repeated_job(options) if options.again is not None else job_of(options, tell=tell)


def job_of(options: argparse.Namespace, *, tell: Callable[[str], None] | None = None) -> Job:
    """Return the job that the arguments ask for; relative paths start at the current folder.

    Args:
        options: The arguments.
        tell: Told what was found out about the pictures, one line each.

    Raises:
        ProfileError: There is no such profile, or a value is refused.
    """
    if options.profile is None:
        raise ProfileError("PROFILE is missing.", hint="Name one, see: diffusionforce profiles; or --resume RUN.")
    path = find_profile(options.profile)
    profile = with_absolute_weights(read_profile(path), base=path.parent)
    profile = with_settings(with_devices(with_steps(profile, options.steps), options.devices), options.settings)
    dataset_dir = _dataset_dir(options, profile, profile_dir=path.parent)
    trigger = options.trigger if options.trigger is not None else ""
    if options.trigger is not None and not trigger.strip():
        raise ProfileError("--trigger is empty.", hint="Name a word, or leave the option out.")
    profile, line = fitted(profile, dataset_dir, profile_dir=path.parent, trigger=trigger)
    if line and tell is not None:
        tell(line)
    return Job(
        profile_name=path.stem,
        profile=profile,
        dataset_dir=dataset_dir,
        held_out_dir=_held_out_dir(profile, dataset_dir, profile_dir=path.parent),
        run_dir=new_run_dir(path.stem) if options.out is None else user_path(options.out, option="--out"),
        way=options.way or "",
    )


def _dataset_dir(options: argparse.Namespace, profile: Profile, *, profile_dir: Path) -> Path:
    """Return the folder to train on."""
    if options.dataset is not None:
        named: str = options.dataset
        return dataset_folder(named if named.startswith(DEMO_PREFIX) else str(user_path(named, option="--dataset")))
    if not profile.dataset.folder:
        raise ProfileError(
            f"The profile {profile.title!r} names no dataset.",
            hint="Give a folder of captioned pictures with --dataset DIR.",
        )
    return dataset_folder(profile.dataset.folder, base=profile_dir)


def _held_out_dir(profile: Profile, dataset_dir: Path, *, profile_dir: Path) -> Path | None:
    """Return the folder to measure with; a profile's held-out pictures fit its own dataset only."""
    own = profile.dataset
    if not own.held_out_folder or dataset_folder(own.folder, base=profile_dir) != dataset_dir:
        return None
    return dataset_folder(own.held_out_folder, base=profile_dir)


def _pass_through(job: Job, job_file: Path, stops: StopRequests) -> int:
    """Print the trainer's telemetry; only if it dies without a last record, add one."""
    with TrainerChild(job_file, stops=stops, is_copied=True) as child:
        has_ended = False
        for message in child.messages():
            has_ended |= isinstance(message, End)
        code = child.wait()
    if not has_ended:
        write_bytes(encode(_missing_end(job, code, stops)))
    return _exit_code(code, has_ended=has_ended, stops=stops)


def _watch(job: Job, job_file: Path, stops: StopRequests) -> int:
    """Draw what the trainer says, and end with where things lie."""
    console = Console(file=Screen().as_file())
    with TrainerChild(job_file, stops=stops) as child:
        with RunView(job, console=console) as view:
            end = _follow(child, view, stops)
        code = child.wait()
    has_ended = end is not None
    end = end or _missing_end(job, code, stops, last_words=child.last_words())
    state = _final_state(job)
    if state is not None:
        for line in closing_lines(state, job):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    elif isinstance(end, Stopped):
        console.print("Stopped before the training began; nothing was written.")
    if isinstance(end, Failed):
        # Once there is a run folder, its log has the detail.
        detail = end.detail if state is None and (not has_ended or code == EXIT_BUG) else ""
        lines = (detail, end.sentence, end.hint, *_changed_commands(end, job, has_run=state is not None))
        sys.stderr.write("".join(f"{line}\n" for line in lines if line))
    return _exit_code(code, has_ended=has_ended, stops=stops)


def _changed_commands(failed: Failed, job: Job, *, has_run: bool) -> list[str]:
    """How to start the job with each of the changes that would help."""
    if not failed.changes:
        return []
    run = named_run(job.run_dir)
    lines = ["Ready to be taken:" if has_run else "To be added to the command:"]
    for change in failed.changes:
        options = as_options(change.settings)
        command = f"diffusionforce run --again {run} {options}".rstrip() if has_run else options
        lines.append(f"  {command}   ({change.words.partition(' (')[0]})")
    return lines


def _follow(child: TrainerChild, view: RunView, stops: StopRequests) -> End | None:
    end, num_stops_told = None, 0
    for message in child.messages():
        if stops.count > num_stops_told:
            num_stops_told = stops.count
            view.tell_stopping(num_stops_told)
        if isinstance(message, Hello):
            _require_protocol(message, child)
        if isinstance(message, End):
            end = message
        elif message is not None:
            view.show(message)
    return end


def _require_protocol(hello: Hello, child: TrainerChild) -> None:
    try:
        require_protocol(hello)
    except UserError:
        child.kill()
        raise


def _exit_code(code: int, *, has_ended: bool, stops: StopRequests) -> int:
    """Return our exit code for the trainer's, which tells of its end only if it came to one by itself."""
    if has_ended and code >= 0:
        return code
    return EXIT_INTERRUPTED if stops.has_killed else EXIT_FAILED


def _missing_end(job: Job, code: int, stops: StopRequests, *, last_words: str = "") -> Failed | Stopped:
    """Return the last record for a trainer that died without one."""
    state = _final_state(job)
    if state is None and stops.count:
        return Stopped(step=0)
    cause = f"signal {-code}" if code < 0 else f"exit code {code}"
    if state is None:
        return Failed(
            sentence=f"The trainer process crashed before it could begin ({cause}).",
            hint="Run `diffusionforce doctor` to check the installation.",
            detail=last_words,
        )
    if stops.has_killed:
        return Failed(sentence=f"The trainer was ended at once, as asked. {state.sentence}", step=state.step)
    return Failed(sentence=f"The run crashed ({cause}). {state.sentence}", hint=state.hint, step=state.step)


def _final_state(job: Job) -> RunState | None:
    """Return how the run stands now that its process is gone, None if it did not get as far as a run folder."""
    try:
        return RunFolder.open(job.run_dir).reconciled_state()
    except UserError:
        return None
