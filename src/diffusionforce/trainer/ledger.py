"""The state of the run that is going on, kept up to date from what the engine reports."""

import contextlib
import sys
import threading
import time

from diffusionforce.errors import UserError
from diffusionforce.runs import RunComparison, RunDevice, RunFolder, RunHeldOut, RunState, utc_now
from diffusionforce.wire import Checkpoint, Compared, Done, End, Failed, HeldOut, Message, Sample, Step, Stopped

WRITE_EVERY_S = 2.0
"""A step may take milliseconds and a safe write of the state as long, so steps alone are written this seldom."""


class Ledger:
    """Follows the records of a run and keeps `run.json` true. May be told from any thread."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._state = folder.read_state()
        self._lock = threading.Lock()
        self._written_at_s = time.monotonic()

    @property
    def state(self) -> RunState:
        """The state as of the last record."""
        return self._state

    def note(self, message: Message) -> None:
        """Take in a record. A disk that refuses the state for now does not disturb the training."""
        with self._lock:
            self._state, is_news = _after(self._state, message)
            if is_news or time.monotonic() - self._written_at_s > WRITE_EVERY_S:
                self._write()

    def close(self, end: End) -> None:
        """Write down how the run ended; unfinished files make room for it. Never fails: there is more to be told."""
        with self._lock:
            self._state = _ended(self._state, end)
            try:
                self.folder.make_room()
            except OSError as error:
                _log(f"Unfinished files could not be removed: {error}")
            self._write()

    def _write(self) -> None:
        try:
            self.folder.write_state(self._state)
        except UserError as error:
            _log(f"The state of the run could not be written: {error}")
        self._written_at_s = time.monotonic()


def _log(line: str) -> None:
    with contextlib.suppress(OSError):  # The log may lie on the same disk.
        sys.stderr.write(f"{line}\n")


def _after(state: RunState, message: Message) -> tuple[RunState, bool]:
    """Return the state after a record, and whether it should reach the disk at once."""
    match message:
        case Step():
            return state.model_copy(update={"step": message.step}), False
        case HeldOut():
            held_out = (state.held_out_loss or RunHeldOut()).measured(message.loss)
            return state.model_copy(update={"held_out_loss": held_out}), True
        case Sample():
            return state.model_copy(update={"num_samples": state.num_samples + 1}), True
        case Checkpoint():
            return state.model_copy(update={"lora": message.path}), True
        case Compared():
            return state.model_copy(update={"comparison": _comparison(message)}), True
        case _:
            return state, False


def _comparison(compared: Compared) -> RunComparison:
    return RunComparison(
        devices=tuple(RunDevice(**device.model_dump()) for device in compared.devices),
        planned_s=compared.planned_s,
        seen_s=compared.seen_s,
        causes=compared.causes,
    )


def _ended(state: RunState, end: End) -> RunState:
    update: dict[str, object] = {"state": end.kind, "ended_at": utc_now()}
    match end:
        case Done():
            update |= {"step": end.step, "lora": end.lora}
            if end.held_out_before is not None:
                update["held_out_loss"] = RunHeldOut(before=end.held_out_before, after=end.held_out_after)
        case Stopped():
            sentence = f"Stopped at step {end.step} of {state.num_steps}."
            update |= {"step": end.step, "lora": end.lora or state.lora, "sentence": sentence}
        case Failed():
            update |= {"sentence": end.sentence, "hint": end.hint, "detail": end.detail}
    return state.model_copy(update=update)
