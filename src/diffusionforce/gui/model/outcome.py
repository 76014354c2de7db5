"""How a run ended: a value that knows its own sentence."""

import signal
import sys
from dataclasses import dataclass
from typing import Literal, TypeAlias

from diffusionforce.gui.model import words
from diffusionforce.runs import RunState
from diffusionforce.wire import Done, End, Failed, JobChange, Stopped
from diffusionforce.wire.interpreter import repair_hint

Kind: TypeAlias = Literal["done", "stopped", "failed", "crashed", "not_started"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The end of a run, as the window tells it.

    Attributes:
        kind: Which end it was.
        sentence: What happened.
        hint: What it means, or what to do.
        detail: Technical text, shown on request.
        step: Last finished step, None when not known.
        changes: Settings with which the job could be started again.
    """

    kind: Kind
    sentence: str
    hint: str = ""
    detail: str = ""
    step: int | None = None
    changes: tuple[JobChange, ...] = ()

    @property
    def tone(self) -> str:
        """Tone of its banner."""
        return {"done": "ok", "stopped": "info"}.get(self.kind, "err")

    @property
    def word(self) -> str:
        """Its word in a chip."""
        return {
            "done": "Done",
            "stopped": "Stopped",
            "failed": "Failed",
            "crashed": "Crashed",
            "not_started": "Not started",
        }[self.kind]

    @property
    def title(self) -> str:
        """Its headline."""
        at = f" at step {self.step:,}" if self.step else ""
        return {
            "done": "Training finished",
            "stopped": f"Training stopped{at}",
            "failed": f"Training failed{at}",
            "crashed": f"The trainer crashed{at}",
            "not_started": "The trainer could not start",
        }[self.kind]


def of_message(end: End, *, begun_at: int = 0, chain_s: float = 0.0) -> Outcome:
    """Return the outcome that the trainer itself told.

    Args:
        end: Its last message, whose seconds are those of this run alone.
        begun_at: Step from which the run went on, 0 for one that began anew.
        chain_s: Seconds of training of this run and those that it went on from; 0 where that is not known.
    """
    if isinstance(end, Done):
        fall = _fall(end.held_out_before, end.held_out_after)
        steps, length = words.count(end.step, "step"), words.duration(end.seconds)
        took = f"{steps} in {length}, previews and pauses included."
        if begun_at:
            own = words.count(end.step - begun_at, "step")
            took = f"This run made {own} in {length}, previews and pauses included."
            in_all = f"All {steps} took {words.duration(chain_s)} of training." if chain_s else ""
            took = f"{in_all} {took}".strip()
        return Outcome(kind="done", sentence=f"{took} {fall}".strip(), step=end.step)
    if isinstance(end, Stopped):
        kept = "What was learned up to there is saved." if end.lora else "There was nothing to save yet."
        return Outcome(kind="stopped", sentence=kept, step=end.step)
    assert isinstance(end, Failed)
    return Outcome(
        kind="failed", sentence=end.sentence, hint=end.hint, detail=end.detail, step=end.step, changes=end.changes
    )


def of_state(state: RunState) -> Outcome | None:
    """Return the outcome that stands in a run folder, None while the run goes on."""
    if state.state == "running":
        return None
    step = state.step
    if state.state == "done":
        held = state.held_out_loss
        fall = _fall(held.before, held.after) if held else ""
        sentence = state.sentence or f"{words.count(step, 'step')}. {fall}".strip()
        return Outcome(kind="done", sentence=sentence, hint=state.hint, step=step)
    if state.state == "stopped":
        kept = "What was learned up to there is saved." if state.lora else "There was nothing to save yet."
        return Outcome(kind="stopped", sentence=state.sentence or kept, hint=state.hint, step=step)
    return Outcome(kind=state.state, sentence=state.sentence, hint=state.hint, detail=state.detail, step=step)


def of_exit(exit_code: int, *, killed: bool, step: int, last_words: str) -> Outcome:
    """Return the outcome of a trainer that ended without saying how.

    Args:
        exit_code: Exit code, or number of the signal where `killed`.
        killed: Whether the system ended it.
        step: Last step that was seen.
        last_words: End of its log.
    """
    code = f"0x{exit_code & 0xFFFFFFFF:08X}" if sys.platform == "win32" else str(exit_code)
    how = f"by {_signal_name(exit_code)}" if killed and sys.platform != "win32" else f"with code {code}"
    return Outcome(
        kind="crashed",
        sentence=f"The training process ended {how}, without saying why.",
        hint="Files that were saved before are still there. The end of the log may say more.",
        detail=last_words,
        step=step or None,
    )


def not_started(reason: str, *, command: str) -> Outcome:
    """Return the outcome of a trainer that the system could not start."""
    return Outcome(
        kind="not_started",
        sentence=f"The system could not start the trainer process: {reason}.",
        hint=repair_hint(),
        detail=command,
    )


def _fall(before: float | None, after: float | None) -> str:
    if before is None or after is None or before <= 0:
        return ""
    share = 1 - after / before
    verb = "fell" if share >= 0 else "rose"
    numbers = f"from {words.loss(before)} to {words.loss(after)}"
    return f"The held-out loss {verb} by {words.percent(abs(share))}, {numbers}."


def _signal_name(number: int) -> str:
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
