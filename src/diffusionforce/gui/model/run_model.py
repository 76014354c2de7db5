"""Everything that the window shows about one run, built from the messages of the trainer.

The model is fed in the order of the stream and asked whenever the window paints; it never calls anybody.
"""

import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from diffusionforce.gui.model import outcome, words
from diffusionforce.gui.model.devices import DeviceList
from diffusionforce.gui.model.drawing import Drawing
from diffusionforce.gui.model.losses import LossCurve
from diffusionforce.gui.model.outcome import Outcome
from diffusionforce.gui.model.run_chain import EarlierRun
from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.job import Job
from diffusionforce.wire import (
    PROTOCOL_VERSION,
    Checkpoint,
    Compared,
    Done,
    End,
    Failed,
    HeldOut,
    Hello,
    Message,
    Paused,
    Placed,
    Planned,
    Preparing,
    Sample,
    Stalled,
    Step,
    Stopped,
    Warn,
)
from diffusionforce.wire.stages import STAGE_WORDS

Phase: TypeAlias = Literal[
    "starting", "preparing", "training", "sampling", "measuring", "finishing", "paused", "stopping", "ended"
]
LOG_LINES = 2000
RECENT_STEPS = 20
_PHASES: dict[str, Phase] = {"samples": "sampling", "held_out": "measuring"}


@dataclass(frozen=True, kw_only=True)
class SavedLora:
    """One LoRA file. `seen_s` is when the message arrived, None for a run that is read afterwards."""

    step: int
    path: str
    size_bytes: int
    seen_s: float | None


class RunModel:
    """One run as far as it has been heard of.

    Args:
        job: The job, which knows prompts and intervals before the first message does; None when it is not known.
        begun_at: Step of the checkpoint from which the run goes on, 0 for one that begins anew.
        clock: Returns seconds; replaced in tests.
    """

    def __init__(self, job: Job | None = None, *, begun_at: int = 0, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.begun_at = begun_at
        self.job = job
        self.live = True
        self.hello: Hello | None = None
        self.preparing: Preparing | None = None
        self.prepared_last: Preparing | None = None
        """What was prepared last, also when it is over."""
        self.last_step: Step | None = None
        self.devices = DeviceList()
        self.planned: Planned | None = None
        self.compared: Compared | None = None
        self.losses = LossCurve()
        self.samples = SampleTable()
        self.drawing = Drawing()
        self.saved: list[SavedLora] = []
        self.warnings: list[Warn] = []
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        self.log_count = 0
        self.outcome: Outcome | None = None
        self._end: End | None = None
        self.stop_asked = False
        self.stop_overdue = False
        """Whether the run was asked to stop so long ago that ending it by force is offered."""
        self.save_asked = self.preview_asked = False
        """Whether a file, or previews, were asked for and have not come yet."""
        self.pause_asked = False
        self.is_paused = False
        self.pause: Paused | None = None
        """Why the run waits, where nobody asked it to."""
        self.stall: Stalled | None = None
        """That the run makes no progress, while it makes none."""
        self.steps_s = 0.0
        """What the steps of this run took together."""
        self.earlier_s = 0.0
        """The same of the runs that it goes on from."""
        self._recent_s: deque[float] = deque(maxlen=RECENT_STEPS)
        self._num_passes = 0
        self._foresees_previews = False
        self.prompts = job.profile.samples.prompts if job is not None else ()
        """Of the samples to come."""
        if job is not None:
            before = [0] if job.profile.samples.before_training and not begun_at else []
            self.samples.expect(
                job.profile.samples.prompts,
                trigger=job.profile.dataset.trigger,
                due=(*before, *(step for step in self.sample_steps if step > begun_at)),
            )

    def feed(self, message: Message) -> None:
        """Take one message."""
        match message:
            case Hello():
                self.hello = message
                if message.protocol != PROTOCOL_VERSION:
                    self.write_log(f"The trainer speaks version {message.protocol}, this window {PROTOCOL_VERSION}.")
            case Preparing():
                self._prepare(message)
            case Planned():
                self.planned = message
                self.write_log(f"Planned: {message.words}")
            case Compared():
                self.compared = message
            case Placed():
                self.devices.place(message)
                self.write_log(f"Placed: {self.devices.sentence()}")
            case Step():
                self._take_step(message)
            case HeldOut():
                self.losses.add_held_out(message.step, message.loss)
                self.preparing = None
                self.write_log(f"step {message.step}  held-out loss {words.loss(message.loss)}")
                self._expect_samples(message.step)
            case Sample():
                self.samples.add(message)
                self._take_sample(message)
            case Checkpoint():
                self._take_checkpoint(message)
            case Warn():
                self.warnings.append(message)
                self.write_log(f"WARNING {message.sentence} {message.hint}".strip())
            case Paused():
                self.is_paused, self.pause_asked = message.paused, False
                self.pause = message if message.sentence else None
                self.write_log(f"Paused {message.sentence}".strip() if message.paused else "Going on")
            case Stalled():
                self.stall = message if message.stalled else None
                self.write_log(f"WARNING {message.sentence} {message.hint}".strip())
            case Done() | Stopped() | Failed():
                self._take_end(message)

    def _take_end(self, message: End) -> None:
        if self.outcome is None:
            self._end = message
            self.end(self._outcome_of(message))

    def _outcome_of(self, message: End) -> Outcome:
        return outcome.of_message(
            message, begun_at=self.begun_at, chain_s=self.training_s if self.earlier_s > 0 else 0.0
        )

    def end(self, result: Outcome) -> None:
        """Note how the run ended. The first word counts."""
        if self.outcome is None:
            self.outcome = result
            self.preparing = self.pause = self.stall = None
            self.samples.finish()
            self.drawing.end()
            self.write_log(f"{result.title}. {result.sentence}")

    def take_earlier(self, runs: Sequence[EarlierRun]) -> None:
        """Take what there was before the first step of this run, the first run of its chain first."""
        losses = [pair for run in runs for pair in run.losses]
        held_out = [pair for run in runs for pair in run.held_out]
        self.losses.add_before(losses, held_out)
        for run in runs:
            self.samples.add_before(run.samples, run.root)
            self.drawing.took_before(sample.seconds for sample in run.samples)
        self.earlier_s = sum(run.steps_s for run in runs)
        if self._end is not None:  # It ended before this was read, and told its own time alone.
            self.outcome = self._outcome_of(self._end)

    @property
    def trouble(self) -> Paused | Stalled | None:
        """What keeps the run from going on and is nobody's wish; None if nothing does."""
        return self.pause or self.stall

    @property
    def takes_prompts(self) -> bool:
        """Whether the prompts of this run can be changed on the way: the engine has to have what draws previews."""
        if self.job is None:
            return False
        return self.job.profile.model.engine == "pocket" or bool(self.job.profile.samples.prompts)

    def write_log(self, line: str) -> None:
        """Append a line to the log that the window shows; with the time, where it is heard as it happens."""
        stamp = time.strftime("%H:%M:%S  ", time.localtime(self._clock())) if self.live else ""
        self.log.append(f"{stamp}{line}")
        self.log_count += 1

    @property
    def step(self) -> int:
        """Last finished step, in a run that goes on from a checkpoint also of the run before."""
        return self.last_step.step if self.last_step else self.begun_at

    @property
    def num_steps(self) -> int:
        """Steps that the run is to make."""
        if self.last_step:
            return self.last_step.num_steps
        if self.hello:
            return self.hello.num_steps
        return self.job.profile.training.steps if self.job else 0

    @property
    def training_s(self) -> float:
        """Seconds that training took, without pauses and previews, with that of the runs that this one goes on from."""
        return self.earlier_s + self.steps_s

    @property
    def share(self) -> float:
        """How far the training is, 0 to 1."""
        return self.step / self.num_steps if self.num_steps else 0.0

    @property
    def phase(self) -> Phase:
        """What the run is doing."""
        if self.outcome is not None:
            return "ended"
        if self.stop_asked:
            return "stopping"
        if self.is_paused:
            return "paused"
        if self.preparing is not None:
            return _PHASES.get(self.preparing.stage, "preparing")
        return "starting" if self.last_step is None else "finishing" if self.step >= self.num_steps else "training"

    @property
    def phase_words(self) -> str:
        """What the run is doing, in words for a chip."""
        if self.outcome is not None:
            return self.outcome.word
        if self.stop_asked:
            return "Stopping after this step"
        if self.is_paused or self.pause_asked:
            return "Paused" if self.is_paused else "Pausing after this step"
        if self.preparing is not None:
            return f"{STAGE_WORDS[self.preparing.stage]} {_of(self.preparing)}".strip()
        return self.phase.capitalize()

    @property
    def eta_s(self) -> float | None:
        """Seconds that are left; None before the first step.

        It is the trainer's estimate of the last step, less the previews that were drawn since. A trainer that has not
        drawn any yet does not count those to come: they are added by what they took in the runs before.
        """
        if self.last_step is None:
            return None
        left_s = self.last_step.eta_s
        if not self._foresees_previews:
            left_s += (self.drawing.usual_s or 0.0) * len(self.prompts) * self._num_passes_left
        if self._is_due(self.last_step.step):
            left_s -= self.drawing.since_step_s(now_s=self._clock())
        return max(0.0, left_s)

    @property
    def _num_passes_left(self) -> int:
        """How often previews are due from the last step on, those after it included."""
        return sum(due >= self.step for due in self.sample_steps)

    @property
    def time_left(self) -> str:
        """What is left, in words: no time of day while nothing goes on, and nothing once the run is being stopped."""
        if self.eta_s is None or self.outcome is not None or self.stop_asked:
            return ""
        if self.step >= self.num_steps and self.samples.pending_step is not None and self.drawing.usual_s is None:
            return "previews left to draw"
        return f"{words.duration(self.eta_s)} {'of work left' if self.is_paused else 'left'}"

    @property
    def step_s(self) -> float | None:
        """Seconds of a usual step, by the median of the last ones."""
        return statistics.median(self._recent_s) if self._recent_s else None

    @property
    def num_pictures_seen(self) -> int:
        """Pictures that the optimiser has seen."""
        if self.job is None:
            return 0
        training = self.job.profile.training
        return self.step * training.batch_size * training.gradient_accumulation

    @property
    def sample_steps(self) -> list[int]:
        """Steps at which previews are due, by the job."""
        return _due(self.job.profile.samples.every_steps if self.job else 0, self.num_steps)

    @property
    def next_sample_step(self) -> int | None:
        """The next step with previews, None when none comes."""
        every, last = self.job.profile.samples.every_steps if self.job else 0, self.num_steps
        if self.step >= last:
            return None
        return min(last, (self.step // every + 1) * every) if every else last

    def seconds_since_save(self) -> float | None:
        """Seconds since the last LoRA file, None when there is none or it was not seen being written."""
        seen = self.saved[-1].seen_s if self.saved else None
        return None if seen is None else max(0.0, self._clock() - seen)

    def _prepare(self, message: Preparing) -> None:
        finished, self.prepared_last = message.done >= message.total, message
        self.preparing = None if finished and self.last_step else message
        if message.stage == "samples" and not finished:
            self.samples.start_column(message.step)
            self.drawing.begin(message.step, message.done, now_s=self._now_s)

    def _expect_samples(self, step: int) -> None:
        """Show that previews are being drawn as soon as they are due: the engine tells of each when it is done."""
        if self.job is None or not self.prompts or self.outcome is not None:
            return
        is_due = self._is_due(step) if step else self.job.profile.samples.before_training
        if is_due and step not in self.samples.done_steps:
            self.preparing = Preparing(stage="samples", done=0, total=len(self.prompts), step=step)
            self.samples.start_column(step)
            self.drawing.begin(step, 0, now_s=self._now_s)

    def _is_due(self, step: int) -> bool:
        """Whether previews are due after a step of the training."""
        every = self.job.profile.samples.every_steps if self.job is not None else 0
        return step == self.num_steps or (every > 0 and step % every == 0)

    def _take_sample(self, message: Sample) -> None:
        self.preview_asked = False
        self.drawing.drawn(message.seconds)
        if self.samples.pending_step is None:
            self._num_passes += 1
            self.drawing.end()
        else:
            self.drawing.begin(message.step, message.prompt_index + 1, now_s=self._now_s)

    @property
    def _now_s(self) -> float | None:
        """The time, where the run is heard as it happens."""
        return self._clock() if self.live else None

    @property
    def drawing_words(self) -> str:
        """How long the preview that is being drawn has taken so far, and of how much."""
        return self.drawing.told(now_s=self._clock())

    def _take_step(self, message: Step) -> None:
        self.preparing = None
        self.drawing.step()
        self.last_step = message
        self._foresees_previews = self._num_passes > 0
        self.losses.add(message.step, message.loss)
        self.devices.read(message.devices)
        self.samples.pass_by(message.step)
        self._expect_samples(message.step)
        self._recent_s.append(message.seconds)
        self.steps_s += message.seconds
        self.write_log(f"step {message.step}  loss {message.loss:.4f}  {message.seconds:.2f} s")

    def _take_checkpoint(self, message: Checkpoint) -> None:
        seen = self._now_s
        self.saved = [lora for lora in self.saved if lora.path != message.path]
        self.save_asked = False
        self.saved.append(SavedLora(step=message.step, path=message.path, size_bytes=message.size_bytes, seen_s=seen))
        self.write_log(f"step {message.step}  saved {message.path} ({words.size(message.size_bytes)})")


def _of(preparing: Preparing) -> str:
    return f"{min(preparing.done + 1, preparing.total)} of {preparing.total}" if preparing.total > 1 else ""


def _due(every: int, num_steps: int) -> list[int]:
    """Return the steps at which something is due that happens every so many steps and at the end."""
    steps = list(range(every, num_steps, every)) if every else []
    return [*steps, num_steps] if num_steps else steps
