"""One run in the window, whether its trainer is our child or somebody else's: a model, and signals to paint by."""

import contextlib
import tempfile
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from diffusionforce.errors import ProfileError, RunFolderError, UserError
from diffusionforce.gui import background
from diffusionforce.gui.child import TrainerChild
from diffusionforce.gui.follower import RunFollower
from diffusionforce.gui.lock_watch import LockWatch
from diffusionforce.gui.model import outcome, run_chain
from diffusionforce.gui.model.outcome import Outcome
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.model.run_title import long_title, run_title
from diffusionforce.job import Job, read_job, write_job
from diffusionforce.runs import RunFolder, claimed_run_dir, runs_root
from diffusionforce.runs.log import last_words
from diffusionforce.wire import PASSING_JOB_NAME, Command, Hello, Message, Stalled, StreamDecoder, encode

REPAINT_MS = 100
STOP_LEAST_MS, STOP_STEPS = 120_000, 4
"""How long a stop may take until ending by force is offered: at the least, and in steps."""
HELD_UP = "The trainer does not answer: one call of a library keeps everything else in it waiting."
HELD_UP_HINT = (
    "Which one is written in log.txt. It may still go on by itself; if it does not, stop the run: what was saved stays."
)
GOES_ON = "The trainer answers again."
KILL_MS = 10_000
"""How long a trainer that is to break off may take to do so."""


class RunSession(QObject):
    """A run and everything heard of it.

    Attributes:
        model: What is known.
        root: The run folder.
        is_own: Whether the trainer is a child of this window. Others take commands too, through their folder.
        was_going: Whether the run went on when it was started or opened, so that its end is news.
    """

    changed = Signal()
    ended = Signal()

    def __init__(self, model: RunModel, root: Path, *, is_own: bool, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.model, self.root, self.is_own = model, root, is_own
        self.was_going = is_own
        self._child: TrainerChild | None = None
        self._follower: RunFollower | None = None
        self._heard: Message | None = None
        # What must stay while the trainer starts: the file with its job, and its claim on a run folder.
        self._kept = contextlib.ExitStack()
        # At most ten repaints a second, however fast the steps are.
        self._repaint = QTimer(self)
        self._repaint.setSingleShot(True)
        self._repaint.setInterval(REPAINT_MS)
        self._repaint.timeout.connect(self.changed)
        self._locks = LockWatch(lambda: RunFolder(self.root).log_path, self)
        self._locks.found.connect(self._on_held_up)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(self._on_stop_overdue)

    @classmethod
    def start(
        cls,
        job: Job,
        *,
        parent: QObject | None = None,
        command: list[str] | None = None,
    ) -> "RunSession":
        """Start a trainer on a job.

        Args:
            job: What to train. A run folder among the others is made here, named anew if somebody was faster.
            parent: Owner of the session.
            command: Another program than the trainer, for tests.

        Raises:
            RunFolderError: The data folder may not be written to.
            DiskError: The disk is full.
        """
        with contextlib.ExitStack() as kept:
            if job.run_dir.parent == runs_root() and not job.run_dir.exists():
                run_dir = kept.enter_context(claimed_run_dir(job.profile_name))
                job = job.model_copy(update={"run_dir": run_dir})
            folder = tempfile.TemporaryDirectory(prefix="diffusionforce-job-", ignore_cleanup_errors=True)
            job_file = Path(kept.enter_context(folder)) / PASSING_JOB_NAME
            write_job(job_file, job)
            session = cls(_model_of(job), job.run_dir, is_own=True, parent=parent)
            session._kept = kept.pop_all()
        child = TrainerChild(session)
        child.message_received.connect(session._on_message)
        session._locks.start()
        child.log_received.connect(session._on_log)
        child.ended.connect(session._on_ended)
        session._child = child
        session._read_earlier()
        child.start(job_file, command=command)
        return session

    @classmethod
    def open(cls, path: Path, *, parent: QObject | None = None) -> "RunSession":
        """Open the folder of a run, going on or over.

        Raises:
            RunFolderError: There is no run at that path, or it cannot be read.
        """
        folder = RunFolder.open(path)
        was_going = folder.reconciled_state().state == "running"
        try:
            job = read_job(folder.job_path)
        except ProfileError:
            job = None
        session = cls(_model_of(job), path, is_own=False, parent=parent)
        session.model.live = False
        session.was_going = was_going
        follower = RunFollower(folder, session)
        follower.message_received.connect(session._on_message)
        follower.log_received.connect(session._on_log)
        follower.caught_up.connect(session._on_caught_up)
        follower.ended.connect(session._on_ended)
        session._follower = follower
        session._read_earlier()
        follower.start()
        return session

    def _read_earlier(self) -> None:
        """Read what there was before the first step of a run that goes on from another."""
        job = self.model.job
        if job is not None and job.resume is not None:
            background.run(self, lambda: run_chain.earlier_runs(job), done=self._take_earlier, failed=lambda _: None)

    def _take_earlier(self, runs: list[run_chain.EarlierRun]) -> None:
        self.model.take_earlier(runs)
        self._touch()

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self.model.outcome is not None and (self._child is None or not self._child.is_running)

    @property
    def title(self) -> str:
        """Name of the run."""
        return run_title(self.root, self.model.job)

    @property
    def long_title(self) -> str:
        """Name of the run that tells it from others of the same profile."""
        return long_title(self.root, self.model.job)

    @property
    def child(self) -> TrainerChild | None:
        """The trainer, when it is ours."""
        return self._child

    def send(self, command: Command) -> None:
        """Send a command to the trainer: through its input where it is ours, else through the run folder."""
        if command.command == "stop":
            self.model.stop_asked = True
        elif command.command == "save":
            self.model.save_asked = True
        elif command.command == "sample":
            self.model.preview_asked = True
        elif command.command == "prompts":
            self.model.prompts = command.prompts or ()
        elif command.command in {"pause", "resume"}:
            self.model.pause_asked = command.command == "pause"
        self._touch()
        if self._child is not None:
            self._child.send(command)
        elif not self.is_over:
            folder = RunFolder(self.root)
            background.run(self, lambda: folder.ask(command), done=lambda _: None, failed=self._on_unasked)

    def _on_unasked(self, error: UserError) -> None:
        self.model.stop_asked = self.model.pause_asked = self.model.save_asked = self.model.preview_asked = False
        self.model.write_log(f"WARNING The trainer could not be asked. {error.sentence}")
        self._touch()

    def stop(self) -> None:
        """Ask the trainer to save and stop; if it takes too long, the model says so."""
        self.send(Command(command="stop"))
        self._patience.start(self.stop_ms)

    @property
    def stop_ms(self) -> int:
        """How long a stop may take in milliseconds, by what a step takes."""
        return max(STOP_LEAST_MS, round(STOP_STEPS * 1000 * (self.model.step_s or 0.0)))

    def end_by_force(self) -> None:
        """Have the trainer break off, and kill it if it does not."""
        self._patience.stop()
        self._end(kills=False)
        QTimer.singleShot(KILL_MS, self, lambda: self._end(kills=True))

    def _end(self, *, kills: bool) -> None:
        if self.is_over:
            return
        if self._child is not None:
            (self._child.kill if kills else self._child.terminate)()
            return
        folder = RunFolder(self.root)
        background.run(self, lambda: folder.end_process(kills=kills), done=lambda _: None, failed=self._on_not_ended)

    def _on_not_ended(self, error: UserError) -> None:
        self.model.write_log(f"WARNING The trainer could not be ended. {error.sentence}")
        self._touch()

    def _on_stop_overdue(self) -> None:
        if not self.is_over:
            self.model.stop_overdue = True
            self._touch()

    def release(self) -> None:
        """Let our trainer live on without the window."""
        if self._child is not None:
            self._child.release()

    def close(self) -> None:
        """Stop listening."""
        self._repaint.stop()
        self._patience.stop()
        self._locks.stop()
        if self._follower is not None:
            self._follower.stop()
        self._clean_up()

    def _on_message(self, message: Message) -> None:
        self._heard = message
        if isinstance(message, Hello) and message.run_dir:
            self.root = Path(message.run_dir) if self.is_own else self.root
        if self._locks.note_life():
            self.model.feed(Stalled(stalled=False, sentence=GOES_ON, step=self.model.step))
        self.model.feed(message)
        self._touch()

    def _on_held_up(self) -> None:
        if not self.is_over:
            self.model.feed(Stalled(stalled=True, sentence=HELD_UP, hint=HELD_UP_HINT, step=self.model.step))
            self._touch()

    def _on_log(self, line: str) -> None:
        if line.strip():
            self.model.write_log(line)
            self._touch()

    def _on_caught_up(self) -> None:
        self.model.live = True
        self._touch()

    def _on_ended(self, result: Outcome) -> None:
        self._locks.stop()
        if result.kind == "crashed":
            result = self._with_what_was_kept(result)
        self.model.end(result)
        self._clean_up()
        self.changed.emit()
        self.ended.emit()

    def _with_what_was_kept(self, result: Outcome) -> Outcome:
        """Write down in the run folder that the run crashed, and tell what is there."""
        try:
            kept = outcome.of_state(RunFolder.open(self.root).reconciled_state())
        except RunFolderError:
            return result
        if kept is not None and kept.kind != "crashed" and self._heard is not None:
            self._hear_rest(encode(self._heard))
            return kept
        if kept is None or kept.kind != "crashed":
            return result
        # The log file has what the pipe did not carry any more.
        detail = last_words(self.root / "log.txt") or result.detail or kept.detail
        return Outcome(kind="crashed", sentence=kept.sentence, hint=kept.hint, detail=detail, step=kept.step)

    def _hear_rest(self, last: bytes) -> None:
        """Take in what the trainer wrote down and its pipe did not carry: one that stalls loses its end.

        Args:
            last: The last record that was heard.
        """
        with contextlib.suppress(OSError):
            written = RunFolder(self.root).telemetry_path.read_bytes()
            _, _, rest = written.rpartition(last) if last in written else (b"", b"", b"")
            for message in StreamDecoder().feed(rest):
                self.model.feed(message)

    def _touch(self) -> None:
        if not self._repaint.isActive():
            self._repaint.start()

    def _clean_up(self) -> None:
        self._kept.close()


def _model_of(job: Job | None) -> RunModel:
    """Return the model of a run of which nothing was heard yet."""
    return RunModel(job, begun_at=run_chain.begun_at(job))
