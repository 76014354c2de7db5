"""What stands in `run.json`: how far a run came and how it ended."""

from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


def utc_now() -> str:
    """Return the present time as ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class RunHeldOut(BaseModel):
    """Loss on the held-out pictures at step 0 and at the last measurement; None where it was not measured."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    before: float | None = None
    after: float | None = None

    @property
    def fall(self) -> float | None:
        """The share by which the loss fell, 0.38 for 38 %; negative when it rose, None when it is not known."""
        if self.before is None or self.after is None or self.before <= 0:
            return None
        return 1 - self.after / self.before

    def measured(self, loss: float) -> "RunHeldOut":
        """Return this with one more measurement; the first is `before`, the newest `after`."""
        return RunHeldOut(before=loss) if self.before is None else RunHeldOut(before=self.before, after=loss)


class RunDevice(BaseModel):
    """One device at the fullest moment of the run's steps: what was forecast, and what it held."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    device: str
    label: str
    planned_bytes: int
    seen_bytes: int


class RunComparison(BaseModel):
    """The forecast of a run against what its steps took."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    devices: tuple[RunDevice, ...] = ()
    planned_s: float | None = None
    seen_s: float
    causes: tuple[str, ...] = ()


class RunState(BaseModel):
    """State of one run. Unknown fields, written by a newer version, are ignored.

    Attributes:
        state: `running` is only a claim: `RunFolder.reconciled_state` checks it against the living processes.
        pid: Process that trains, or trained.
        process_started_s: When that process started, in seconds since 1970. Process numbers are used again, so
            the number alone says nothing.
        process_mark: What tells that process from others though the clock is set, see `runs.processes`; may be empty.
        step: Last finished optimiser step.
        comparison: The forecast against what was measured; None where nothing was forecast or measured.
        lora: Newest LoRA file, relative to the run folder, with forward slashes; empty when there is none.
        sentence: How the run ended, in words; empty while it runs and when it simply finished.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    schema_version: Literal[1] = 1
    state: Literal["running", "done", "stopped", "failed", "crashed"]
    profile_name: str
    title: str
    pid: int = Field(ge=0)
    process_started_s: float
    process_mark: str = ""
    started_at: str
    ended_at: str = ""
    step: int = 0
    num_steps: int
    held_out_loss: RunHeldOut | None = None
    comparison: RunComparison | None = None
    lora: str = ""
    num_samples: int = 0
    sentence: str = ""
    hint: str = ""
    detail: str = ""
