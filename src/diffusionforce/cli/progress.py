"""A run drawn in the terminal: a live line for what changes, a printed line for what stays.

Where the output is no terminal there is nothing to redraw, and a line is printed for every twentieth of the steps.
"""

from collections import deque
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from diffusionforce.cli.words import block_ranges, compared, duration, memory
from diffusionforce.job import Job
from diffusionforce.wire import (
    Checkpoint,
    Compared,
    DeviceReading,
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
    Warn,
)

NUM_AVERAGED = 20
NUM_PLAIN_LINES = 20
STOPPING = (
    "Stopping after this step; Ctrl-C again to break it off",
    "Breaking the step off; Ctrl-C again to end the trainer at once",
    "Ending the trainer",
)
_STAGES = {
    "model": "Loading the model",
    "text": "Encoding the text",
    "pictures": "Preparing the pictures",
    "samples": "Making samples",
    "held_out": "Measuring the held-out loss",
}


class RunView:
    """Shows one run; a context manager, because the live lines must be taken off the screen at the end."""

    def __init__(self, job: Job, *, console: Console) -> None:
        self._job = job
        self._console = console
        self._losses: deque[float] = deque(maxlen=NUM_AVERAGED)
        self._held_out = ""
        self._status = "Starting the trainer"
        self._is_stopping = False
        self._last_step: Step | None = None
        columns = (
            TextColumn("{task.description}"),
            BarColumn(None),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        )
        self._progress = Progress(*columns, console=console)
        self._task = self._progress.add_task("Steps", total=job.profile.training.steps)
        self._live = Live(get_renderable=self._draw, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> "RunView":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, message: Message) -> None:
        """Show one message of the trainer."""
        match message:
            case Hello():
                self._print(f"{self._job.profile.title}: {self._job.dataset_dir}, into {self._job.run_dir}")
                self._set_status("Preparing")
            case Preparing():
                self._set_status(f"{_STAGES[message.stage]} {message.done}/{message.total}")
            case Planned():
                self._show_plan(message)
            case Placed():
                self._show_placement(message)
            case Step():
                self._show_step(message)
            case Compared():
                self._print(f"Forecast against measured: {compared(message)}.")
                for line in filter(None, (*message.causes, message.hint)):
                    self._print(line, style="yellow")
            case HeldOut():
                self._held_out = f"{message.loss:.4f}"
                self._print(f"Held-out loss at step {message.step}: {message.loss:.4f}")
            case Sample():
                number = f"{message.prompt_index + 1}/{message.num_prompts}"
                self._print(f"Sample {number} at step {message.step}: {message.path} ({message.prompt})")
            case Checkpoint():
                self._print(f"LoRA of step {message.step}: {message.path} ({memory(message.size_bytes)})")
            case Warn():
                self._print(f"Warning: {message.sentence} {message.hint}".rstrip(), style="yellow")
            case Stalled():
                self._print(f"{message.sentence} {message.hint}".rstrip(), style="yellow")
            case Paused():
                self._show_pause(message)
            case _:
                pass

    def tell_stopping(self, num_requests: int) -> None:
        """Say what the trainer does about requests to stop; nothing else is its state from then on."""
        self._is_stopping = True
        self._status = STOPPING[min(num_requests, len(STOPPING)) - 1]
        self._print(f"{self._status}.")

    def _set_status(self, words: str) -> None:
        if not self._is_stopping:
            self._status = words

    def _show_pause(self, pause: Paused) -> None:
        """Say that the run waits, and why, and that it goes on: a window may have asked for it."""
        if not pause.paused:
            self._set_status("Training")
            self._print(f"Going on after step {pause.step}.")
            return
        self._set_status("Paused")
        why = f"{pause.sentence} {pause.hint}".strip() or "it was asked to wait, and goes on when it is asked to."
        self._print(f"Paused after step {pause.step}: {why}", style="yellow")

    def _show_plan(self, plan: Planned) -> None:
        self._print(f"Trained as {plan.words}, mode {plan.mode}.")
        for device in plan.devices:
            needed = f"{memory(device.planned_bytes)} planned, " if device.planned_bytes is not None else ""
            limit = f"at most {memory(device.budget_bytes)}" if device.budget_bytes is not None else "no limit"
            aside = f"; {device.num_aside} blocks step aside for samples" if device.num_aside else ""
            self._print(f"{device.label}: {needed}{limit}{aside}")

    def _show_placement(self, placed: Placed) -> None:
        for device in placed.devices:
            blocks = f"blocks {block_ranges(device.blocks)} of {placed.num_blocks}"
            self._print(f"{device.device} ({device.name}): {blocks}, {memory(device.weights_bytes)} of weights")

    def _show_step(self, step: Step) -> None:
        self._losses.append(step.loss)
        self._last_step = step
        self._set_status("Training")
        self._progress.update(self._task, completed=step.step, total=step.num_steps)
        every_steps = max(1, step.num_steps // NUM_PLAIN_LINES)
        if not self._console.is_terminal and (step.step % every_steps == 0 or step.step == step.num_steps):
            self._print(f"Step {step.step}/{step.num_steps}: {self._facts(step)}")

    def _facts(self, step: Step) -> str:
        facts = [f"loss {sum(self._losses) / len(self._losses):.4f}"]
        facts += [f"held-out {self._held_out}"] if self._held_out else []
        facts += [f"{duration(step.seconds)} a step", f"{duration(step.eta_s)} left"]
        return ", ".join(facts)

    def _draw(self) -> RenderableType:
        lines: list[RenderableType] = [self._progress, Text(self._status, style="dim")]
        if self._last_step is not None:
            lines.append(Text(self._facts(self._last_step)))
            lines += [Text(_device_line(device)) for device in self._last_step.devices]
        return Group(*lines)

    def _print(self, line: str, *, style: str | None = None) -> None:
        self._console.print(Text(line, style=style or ""), soft_wrap=True)


def _device_line(device: DeviceReading) -> str:
    facts: list[str] = []
    if device.memory_bytes is not None:
        total = f" of {memory(device.memory_total_bytes)}" if device.memory_total_bytes else ""
        peak = f" (peak {memory(device.peak_bytes)})" if device.peak_bytes else ""
        facts.append(f"{memory(device.memory_bytes)}{total}{peak}")
    facts += [f"{device.busy:.0%} busy".replace("%", " %")] if device.busy is not None else []
    facts += [f"{device.temperature_c:.0f} °C"] if device.temperature_c is not None else []
    return f"{device.device}: {', '.join(facts) or 'no readings'}"
