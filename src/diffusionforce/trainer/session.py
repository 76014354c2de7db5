"""One training, from the job file to the last record.

Whatever happens, the session has one of three ends (done, stopped, failed), and it is told three times: in
`run.json`, in the run's telemetry file, and to whoever reads our standard output.
"""

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

import diffusionforce
from diffusionforce.desktop.awake import Awake
from diffusionforce.engines.contract import Engine
from diffusionforce.errors import CardMemoryError
from diffusionforce.job import Job, Profile, read_job
from diffusionforce.rig import in_gb
from diffusionforce.runs import RunFolder, differing_settings, storage_error
from diffusionforce.trainer import preflight
from diffusionforce.trainer.comparing import Comparison
from diffusionforce.trainer.endings import EXIT_BUG, EXIT_OK, failure
from diffusionforce.trainer.ledger import Ledger
from diffusionforce.trainer.parent import Parent
from diffusionforce.trainer.planning import MakePlan, PlannedRun
from diffusionforce.trainer.reporter import Reporter
from diffusionforce.trainer.requests import Requests, listen_to_file
from diffusionforce.trainer.rescue import with_ways_out
from diffusionforce.trainer.room import Room
from diffusionforce.trainer.scarcity import ScarceRam
from diffusionforce.trainer.stall import StallWatch
from diffusionforce.trainer.streams import Log
from diffusionforce.ugpum.learned import Lessons
from diffusionforce.wire import PASSING_JOB_NAME, Command, Done, End, Failed, Hello, Message, Paused, Stopped, Warn

LoadEngine = Callable[[Profile], Engine]


class Session:
    """Trains one job.

    Args:
        reporter: Takes the records.
        requests: What the outside asks for.
        parent: Who started us.
        load_engine: Returns the engine for a profile.
        make_plan: Plans a job; None where there is nothing to plan.
    """

    def __init__(
        self,
        *,
        reporter: Reporter,
        requests: Requests,
        parent: Parent,
        load_engine: LoadEngine,
        make_plan: MakePlan,
    ) -> None:
        self._reporter = reporter
        self._requests = requests
        self._parent = parent
        self._load_engine = load_engine
        self._make_plan = make_plan
        self._comparison: Comparison | None = None
        self._place = Path()
        self._ledger: Ledger | None = None
        self._log: Log | None = None
        self._room: Room | None = None
        self._stall: StallWatch | None = None
        self._awake = Awake()
        self._has_greeted = False

    def run(self, job_file: Path) -> int:
        """Train, report how it ended, and return the exit code of the process."""
        self._place = job_file.parent
        end, code = self._train_to_an_end(job_file)
        self._requests.close()
        if self._stall is not None:
            self._stall.close()
        if isinstance(end, Failed):
            _write_to_log(end, with_detail=code == EXIT_BUG)
        if self._ledger is not None:
            self._ledger.close(end)
        self._reporter.report(end)
        self._reporter.close()
        if self._log is not None:
            self._log.close()
        return code

    def warn(self, warning: Warn) -> None:
        """Send a warning; before `hello`, which comes first, it goes to the log only."""
        if self._has_greeted:
            self._reporter.report(warning)
        else:
            with contextlib.suppress(OSError):  # Whoever reads the log may be gone.
                sys.stderr.write(f"{warning.sentence}\n")

    def _train_to_an_end(self, job_file: Path) -> tuple[End, int]:
        try:
            return self._train(_taken_over(job_file)), EXIT_OK
        except KeyboardInterrupt:
            return self._interrupted(), EXIT_OK
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the trainer's one door: every end is reported.
            return failure(error, place=self._place, step=self._ledger.state.step if self._ledger else None)

    def _train(self, job: Job) -> End:
        self._place = job.run_dir
        datasets = preflight.check(job)
        engine = self._load_engine(job.profile)
        engine.check(job)
        planned = self._make_plan(job)
        if self._requests.stop_asked:  # A pause waits for the engine: before `hello` nobody could be told of it.
            return Stopped(step=0)
        folder = self._open_folder(job)
        self._report(_hello(job))
        self._has_greeted = True
        self._watch(job)
        listen_to_file(folder.commands_path, requests=self._requests, warn=self.warn)
        differing = differing_settings(job)
        if differing:
            self._report(Warn(sentence=differing, hint="Everything else goes on as it was."))
        for finding in preflight.findings_of(datasets):
            self._report(Warn(sentence=finding.sentence, hint=finding.hint))
        train = functools.partial(
            engine.train, job, datasets=datasets, output=folder, report=self._report, controls=self._requests
        )
        with self._awake:
            end = train() if planned is None else self._train_by_plan(job, planned, train)
        return end.model_copy(update={"lora": _inside(folder, end.lora)})

    def _train_by_plan(self, job: Job, planned: PlannedRun, train: Callable[..., Done | Stopped]) -> Done | Stopped:
        comparison = Comparison(job, planned, Lessons.kept())
        self._comparison = comparison
        self._report(planned.record)
        _write_plan_to_log(planned)
        try:
            end = train(plan=planned.plan)
        except CardMemoryError as error:
            with _tolerating_disks():
                comparison.learn_shortage(error)
            raise with_ways_out(error, job, planned=planned, make_plan=self._make_plan) from None
        if (compared := comparison.result()) is not None:
            self._report(compared)
            with _tolerating_disks():
                comparison.learn()
        return end

    def _watch(self, job: Job) -> None:
        """Watch that the run moves on, has room for what it writes, and is not alone."""
        self._stall = stall = StallWatch(job.profile, tell=self._report)
        self._room = Room(job)
        self._requests.on_pause = self._tell_pause
        scarce = ScarceRam(warn=self._report, save=lambda: self._requests.add(Command(command="save")))

        def on_look() -> None:
            stall.note_life()
            scarce.look()

        self._requests.on_look = on_look
        self._requests.on_taken = stall.note_request
        self._requests.find_lack = self._room.lack
        stall.start()
        self._parent.watch(job, requests=self._requests, warn=self._report)

    def _open_folder(self, job: Job) -> RunFolder:
        folder = RunFolder.create(job.run_dir, job)
        self._ledger = Ledger(folder)
        try:
            self._log = Log(folder.log_path)
            self._reporter.open_file(folder.telemetry_path)
        except OSError as error:
            raise storage_error(error, folder.root) from error
        return folder

    def _report(self, message: Message) -> None:
        assert self._ledger is not None
        self._ledger.note(message)
        self._reporter.report(message)
        if self._stall is not None and self._room is not None:
            self._room.note(message)
            self._stall.note(message)
        compared = self._comparison.note(message) if self._comparison is not None else None
        if compared is not None:
            self._report(compared)

    def _tell_pause(self, paused: bool) -> None:
        assert self._ledger is not None and self._stall is not None
        self._stall.note_pause(paused)
        self._awake.pause(paused)
        sentence, hint = ("", "") if (lack := self._requests.lack) is None else (lack.sentence, lack.hint)
        self._report(Paused(paused=paused, step=self._ledger.state.step, sentence=sentence, hint=hint))

    def _interrupted(self) -> Stopped:
        if self._ledger is None:
            return Stopped(step=0)
        return Stopped(step=self._ledger.state.step, lora=self._ledger.folder.newest_checkpoint())


def _taken_over(job_file: Path) -> Job:
    """Return the job in a file; a file made only to hand it over is removed, since our parent may be gone."""
    try:
        return read_job(job_file)
    finally:
        if job_file.name == PASSING_JOB_NAME:
            with contextlib.suppress(OSError):
                job_file.unlink()
                job_file.parent.rmdir()


@contextlib.contextmanager
def _tolerating_disks() -> Iterator[None]:
    """While something is remembered for the next run: a disk that refuses does not spoil this one."""
    try:
        yield
    except OSError as error:
        with contextlib.suppress(OSError):  # The log may lie on the same disk.
            sys.stderr.write(f"What was learnt from this run could not be kept: {error}\n")


def _write_plan_to_log(planned: PlannedRun) -> None:
    lines = [f"Trained as {planned.plan.words}, mode {planned.plan.mode}."]
    for device in planned.plan.devices:
        planned_bytes, budget_bytes = device.planned_bytes or 0, device.budget_bytes or 0
        lines.append(f"{device.label}: {in_gb(planned_bytes)} planned, at most {in_gb(budget_bytes)}.")
    with contextlib.suppress(OSError):  # The log may lie on a full disk.
        sys.stderr.write("".join(f"{line}\n" for line in lines))


def _write_to_log(end: Failed, *, with_detail: bool) -> None:
    lines = [end.sentence, end.hint, end.detail if with_detail else ""]
    with contextlib.suppress(OSError):  # The log may lie on a full disk.
        sys.stderr.write("".join(f"{line.rstrip()}\n" for line in lines if line))


def _hello(job: Job) -> Hello:
    return Hello(
        product=diffusionforce.__version__,
        pid=os.getpid(),
        engine=job.profile.model.engine,
        profile_name=job.profile_name,
        run_dir=str(job.run_dir),
        num_steps=job.profile.training.steps,
    )


def _inside(folder: RunFolder, lora: str) -> str:
    """Return the path of a LoRA file relative to the run folder, with forward slashes."""
    path = PurePath(lora)
    return (path.relative_to(folder.root) if path.is_absolute() else path).as_posix() if lora else ""
