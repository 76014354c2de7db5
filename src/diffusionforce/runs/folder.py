"""One run folder: made once, its state replaced as a whole, and believed only while its process lives.

A process that is killed cannot say so. Whoever reads `running` therefore looks for the process, by number and
start time (numbers are used again), and writes down what was kept when it is gone.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
from pydantic import ValidationError

from diffusionforce.desktop.long_paths import too_long
from diffusionforce.errors import RunFolderError, UserError
from diffusionforce.job import PART_SUFFIX, Job, read_job, write_job, write_whole
from diffusionforce.runs.checkpoints import SavedState, whole_states
from diffusionforce.runs.home import runs_root
from diffusionforce.runs.log import last_words
from diffusionforce.runs.processes import end_process, is_process_alive, mark_of
from diffusionforce.runs.state import RunHeldOut, RunState, utc_now
from diffusionforce.runs.storage import shortened, storage_error
from diffusionforce.runs.telemetry import telemetry_records
from diffusionforce.wire import Command, HeldOut, Message, Step, encode, readable, to_json

SPARE_BYTES = 64 * 1024
"""Space that a run sets aside, so that it can still say how it ended when the disk is full."""

KILLED = "It was killed, ran out of memory, or lost its graphics driver; log.txt may say more."


class RunFolder:
    """Paths and state of one run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.samples_dir = root / "samples"
        self.checkpoints_dir = root / "checkpoints"
        self.telemetry_path = root / "telemetry.jsonl"
        self.log_path = root / "log.txt"
        self.state_path = root / "run.json"
        self.job_path = root / "job.toml"
        self.commands_path = root / "commands.jsonl"
        """What others than the trainer's parent ask of it; see `ask`."""
        self._spare_path = root / ".spare"

    @classmethod
    def check(cls, path: Path) -> None:
        """Refuse a place where no run folder can be made; nothing is written.

        Raises:
            RunFolderError: The place is taken, its parent is not there, it may not be written to, or its path
                cannot be used.
        """
        try:
            cls._check(path)
        except OSError as error:
            raise storage_error(error, Path(shortened(path))) from error

    @classmethod
    def _check(cls, path: Path) -> None:
        if readable(str(path)) != str(path):
            raise RunFolderError(
                f"{readable(str(path))} cannot be a run folder: its path is not UTF-8.", hint="Choose another folder."
            )
        if path.is_file():
            raise RunFolderError(f"{path} is a file, not a folder.", hint="Name a new folder.")
        if surplus := too_long(path):
            raise RunFolderError(
                f"{shortened(path)} is {surplus} characters too long for Windows, with the files of a run in it.",
                hint="Choose a folder with a shorter path, or switch long paths on in Windows, as the page Rig says.",
            )
        if path.exists() and not (path.is_dir() and _is_empty(path)):
            raise _taken(path)
        nearest = next(place for place in (path, *path.parents) if place.exists())
        if not nearest.is_dir():
            raise RunFolderError(f"{path} cannot be made: {nearest} is a file.", hint="Choose another folder.")
        if not path.parent.is_dir() and path.parent != runs_root():
            raise RunFolderError(f"{path} cannot be made: {path.parent} is not there.", hint="Make that folder first.")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise RunFolderError(f"{nearest} is not writable.", hint="Choose a folder that you may write to.")

    @classmethod
    def create(cls, path: Path, job: Job) -> "RunFolder":
        """Make the folder of a run that this process is about to train, in state `running`.

        Raises:
            RunFolderError: The place is taken, its parent is not there, or it may not be written to.
            DiskError: The disk is full. Whatever the reason, nothing is left behind.
        """
        cls.check(path)
        folder, existed = cls(path), path.is_dir()
        try:
            path.mkdir(exist_ok=True, parents=path.parent == runs_root())
            folder.samples_dir.mkdir()  # The claim: of two processes that come here at once, one fails.
        except FileExistsError:
            raise _taken(path) from None
        except OSError as error:
            if not existed:
                with contextlib.suppress(OSError):  # It may not even have been made.
                    path.rmdir()
            raise storage_error(error, path) from error
        try:
            folder.checkpoints_dir.mkdir()
            write_job(folder.job_path, job)
            folder._spare_path.write_bytes(bytes(SPARE_BYTES))
            folder.write_state(_first_state(job))
        except (OSError, UserError) as error:
            folder._remove_contents(keep_root=existed)
            raise error if isinstance(error, UserError) else storage_error(error, path) from error
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Return the run folder at a path.

        Raises:
            RunFolderError: There is no run at that path.
        """
        folder = cls(path)
        try:
            is_run = folder.state_path.is_file()
        except OSError as error:
            raise RunFolderError(
                f"{shortened(path)} cannot be read: {error.strerror}.", hint="Check the path."
            ) from error
        if not is_run:
            raise RunFolderError(f"{path} is not a run folder: it holds no run.json.", hint="Check the path.")
        return folder

    def read_state(self) -> RunState:
        """Return what stands in `run.json`.

        Raises:
            RunFolderError: The file cannot be read, or a newer version wrote it.
        """
        try:
            return RunState.model_validate_json(self.state_path.read_bytes())
        except OSError as error:
            raise RunFolderError(f"{self.state_path} cannot be read: {error.strerror}.") from error
        except ValidationError as error:
            raise RunFolderError(
                f"{self.state_path} holds no run state that this version can read.",
                hint="It may come from a newer DiffusionForce, or have been edited.",
                detail=str(error),
            ) from None

    def write_state(self, state: RunState) -> None:
        """Replace `run.json`, whole or not at all.

        Raises:
            RunFolderError: The folder may not be written to.
            DiskError: The disk is full.
        """
        try:
            write_whole(self.state_path, to_json(state, indent=2) + b"\n")
        except OSError as error:
            raise storage_error(error, self.root) from error

    def reconciled_state(self) -> RunState:
        """Return the state, after turning `running` into `crashed` if the process is gone.

        Raises:
            RunFolderError: `run.json` cannot be read.
        """
        state = self.read_state()
        if state.state != "running" or _is_alive(state):
            return state
        state = self.read_state()  # It may have ended between the two looks.
        if state.state != "running":
            return state
        crashed = self._crashed(state)
        with contextlib.suppress(OSError, UserError):  # A folder on a read-only disk can still be looked at.
            self.make_room()
            self.write_state(crashed)
        return crashed

    def ask(self, command: Command) -> None:
        """Ask something of the run's trainer, whoever started it; it looks twice a second.

        Raises:
            RunFolderError: The folder may not be written to.
            DiskError: The disk is full.
        """
        try:
            with self.commands_path.open("ab") as file:
                file.write(encode(command))
        except OSError as error:
            raise storage_error(error, self.root) from error

    def end_process(self, *, kills: bool) -> bool:
        """Have the run's process end, if it is the run's still; tells whether it was asked.

        Args:
            kills: Whether it has no say in it. Else it breaks off its step and ends in order.

        Raises:
            RunFolderError: `run.json` cannot be read, or the system does not let us.
        """
        state = self.read_state()
        if state.state != "running":
            return False
        if not kills and os.name == "nt":  # Where a program that is terminated has no say in it.
            self.ask(Command(command="break_off"))
            return _is_alive(state)
        return end_process(state.pid, started_s=state.process_started_s, mark=state.process_mark, kills=kills)

    def newest_checkpoint(self) -> str:
        """Return the newest LoRA file, relative to the run folder, or an empty string."""
        files = [path for path in self.checkpoints_dir.glob("*.safetensors") if path.is_file()]
        newest = max(files, key=lambda path: (path.stat().st_mtime_ns, path.name), default=None)
        return newest.relative_to(self.root).as_posix() if newest else ""

    def states(self) -> list[SavedState]:
        """Return the whole checkpoints that the run saved beside its LoRA files, the one that came farthest first."""
        return whole_states(self.checkpoints_dir)

    def states_onward(self) -> list[SavedState]:
        """Return the whole checkpoints from which the run can go on, the one that came farthest first.

        A run that saved none of its own can still go on from the one with which it began itself.
        """
        own = self.states()
        if own:
            return own
        try:
            begun_with = read_job(self.job_path).resume
        except UserError:
            return []
        if begun_with is None:
            return []
        return [state for state in whole_states(begun_with.parent) if state.path == begun_with]

    def num_samples(self) -> int:
        """Return how many sample files there are."""
        hidden_or_part = (path.name.startswith(".") or path.suffix == PART_SUFFIX for path in _files(self.samples_dir))
        return sum(not skip for skip in hidden_or_part)

    def make_room(self) -> None:
        """Remove what only a running run needs: its spare space, and files that a write left unfinished.

        Then even a full disk takes the last state.
        """
        for path in (self._spare_path, *self.root.rglob(f"*{PART_SUFFIX}")):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def _crashed(self, state: RunState) -> RunState:
        step, held_out = _last_words(telemetry_records(self.telemetry_path), state)
        lora, num_samples = self.newest_checkpoint(), self.num_samples()
        kept = [lora] if lora else []
        kept += [f"{num_samples} sample{'s' if num_samples > 1 else ''}"] if num_samples else []
        states = self.states_onward()
        if states and states[0].path.parent != self.checkpoints_dir:
            kept += [f"the checkpoint of step {states[0].step} that it began with"]
        go_on = [f"It can go on from step {states[0].step}."] if states else []
        return state.model_copy(
            update={
                "state": "crashed",
                "ended_at": utc_now(),
                "step": step,
                "held_out_loss": held_out,
                "lora": lora,
                "num_samples": num_samples,
                "sentence": f"The training process ended at step {step} of {state.num_steps} without saying why; "
                f"kept: {', '.join(kept) or 'no LoRA and no samples'}.",
                "hint": " ".join((KILLED, *go_on)),
                "detail": last_words(self.log_path),
            }
        )

    def _remove_contents(self, *, keep_root: bool) -> None:
        for path in (self.samples_dir, self.checkpoints_dir):
            shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):  # The disk refused before; why is what gets told.
            for path in (self.job_path, self.state_path, self._spare_path):
                path.unlink(missing_ok=True)
            if not keep_root:
                self.root.rmdir()


def read_telemetry(folder: RunFolder) -> list[Message]:
    """Return the records of a run, oldest first; a torn last line is left out."""
    return list(telemetry_records(folder.telemetry_path))


def _is_alive(state: RunState) -> bool:
    return is_process_alive(state.pid, started_s=state.process_started_s, mark=state.process_mark)


def _first_state(job: Job) -> RunState:
    process = psutil.Process()
    return RunState(
        state="running",
        profile_name=job.profile_name,
        title=job.profile.title,
        pid=process.pid,
        process_started_s=process.create_time(),
        process_mark=mark_of(process.pid),
        started_at=utc_now(),
        num_steps=job.profile.training.steps,
    )


def _last_words(records: Iterator[Message], state: RunState) -> tuple[int, RunHeldOut | None]:
    """Return the last step and the held-out losses: the telemetry knows more than a state that is written seldom."""
    step, held_out, known = state.step, RunHeldOut(), state.held_out_loss
    for record in records:
        if isinstance(record, Step):
            step = max(step, record.step)
        elif isinstance(record, HeldOut):
            held_out = held_out.measured(record.loss)
    # The telemetry begins at the first measurement, so nothing is counted twice. It may have ended before the state.
    return step, held_out if held_out.after is not None or known is None else known


def _taken(path: Path) -> RunFolderError:
    return RunFolderError(
        f"{path} already holds a run or other files.", hint="Choose a new folder; a run never overwrites another."
    )


def _is_empty(path: Path) -> bool:
    return next(path.iterdir(), None) is None


def _files(path: Path) -> list[Path]:
    return [child for child in path.iterdir() if child.is_file()] if path.is_dir() else []
