"""What the trainer tells its reader: one typed message for each thing that can happen in a run.

The trainer is a child process. It writes one JSON object a line; each has a `kind`. The first is `hello` with
the protocol version, the last is `done`, `stopped` or `failed`; a job that is refused before a run folder was
made is answered with `failed` alone. A reader ignores kinds that it does not know, so
messages can be added without a new version; the version changes when a known kind changes its meaning.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from diffusionforce.errors import ProtocolError
from diffusionforce.wire.text import to_json

PROTOCOL_VERSION = 1

LATER = ConfigDict(defer_build=True)
"""For an adapter that many load and few use, like the window at its start: built when first used, not when loaded."""


MAX_STEPS, MAX_PROMPTS = 10_000_000, 1024
"""More than any run has: readers make lists of them, which a damaged number must not make endless."""
Steps = Annotated[int, Field(ge=0, le=MAX_STEPS)]
Prompts = Annotated[int, Field(ge=0, le=MAX_PROMPTS)]


class Record(BaseModel):
    """Base of all messages; unknown fields from a newer trainer are ignored."""

    # JSON has no NaN; as a string every JSON reader takes the line, and ours reads it back as the number.
    # Checking is built when first needed, which is most of what loading the models would take: see `LATER`.
    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="strings", defer_build=True)


class Hello(Record):
    """The first record: who speaks, and in which version."""

    kind: Literal["hello"] = "hello"
    protocol: int = PROTOCOL_VERSION
    product: str
    pid: int
    engine: str
    profile_name: str
    run_dir: str
    num_steps: Steps


class Preparing(Record):
    """Work before the first step, or around it: `done` of `total` items of `stage`."""

    kind: Literal["preparing"] = "preparing"
    stage: Literal["model", "text", "pictures", "samples", "held_out"]
    done: int
    total: int
    step: Steps = 0


class DevicePlacement(Record):
    """What one device holds, read from the tensors after loading."""

    device: str
    name: str
    blocks: tuple[int, ...]
    weights_bytes: int
    memory_total_bytes: int | None = None


class Placed(Record):
    """The blocks are on their devices, and the tensors were seen there."""

    kind: Literal["placement"] = "placement"
    devices: tuple[DevicePlacement, ...]
    num_blocks: int
    schedule: str


class PlannedDevice(Record):
    """What one device may hold, and is forecast to hold at its fullest moment. Sizes in bytes."""

    device: str
    label: str
    total_bytes: int
    budget_bytes: int | None = None
    """Enforced; None where nobody limits it."""
    planned_bytes: int | None = None
    """The fullest moment of a training step."""
    planned_sampling_bytes: int | None = None
    """The fullest moment while samples are made; None where none are, or they do not fit."""
    num_aside: int = 0
    """Blocks that step aside to RAM while samples are made."""


class Planned(Record):
    """The way in which the run trains, and the budgets that are enforced."""

    kind: Literal["plan"] = "plan"
    words: str
    mode: Literal["A", "B", "C"]
    devices: tuple[PlannedDevice, ...]
    step_s: float | None = None
    """Predicted seconds of a step; None where nothing is known of the cards' speed."""


class ComparedDevice(Record):
    """One device at the fullest moment of a step: forecast and seen."""

    device: str
    label: str
    planned_bytes: int
    seen_bytes: int


class Compared(Record):
    """The forecast against what the first steps took; what was learnt makes the next forecast of its kind better."""

    kind: Literal["compared"] = "compared"
    step: Steps
    devices: tuple[ComparedDevice, ...]
    planned_s: float | None = None
    seen_s: float
    causes: tuple[str, ...] = ()
    """For differences of more than a tenth: what they come from, a sentence each."""
    hint: str = ""
    """What to do about them; empty if nothing needs doing."""


class Span(Record):
    """One piece of work on one device in the timeline of a step, in seconds from the step's start."""

    op: Literal["F", "B"]
    chunk: int
    microbatch: int
    start_s: float
    end_s: float


class DeviceReading(Record):
    """One device during one step. Memory is what this process holds; None where the device cannot say.

    `busy` is the share of the step in which the device computed, 0 to 1. `load`, `temperature_c` and `power_w`
    are the driver's readings.
    """

    device: str
    memory_bytes: int | None = None
    peak_bytes: int | None = None
    memory_total_bytes: int | None = None
    busy: float | None = None
    load: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    timeline: tuple[Span, ...] = ()


class Step(Record):
    """One optimiser step."""

    kind: Literal["step"] = "step"
    step: Steps
    num_steps: Steps
    loss: float
    learning_rate: float
    grad_norm: float | None = None
    seconds: float
    eta_s: float
    devices: tuple[DeviceReading, ...] = ()


class HeldOut(Record):
    """Loss on the held-out pictures, with fixed noise and timesteps."""

    kind: Literal["held_out"] = "held_out"
    step: Steps
    loss: float


class Sample(Record):
    """One sample (preview) was written to `path`, relative to the run folder."""

    kind: Literal["sample"] = "sample"
    step: Steps
    prompt_index: Prompts
    num_prompts: Prompts
    prompt: str
    seed: int
    path: str
    seconds: float


class Checkpoint(Record):
    """A LoRA file was written to `path`, relative to the run folder."""

    kind: Literal["checkpoint"] = "checkpoint"
    step: Steps
    path: str
    size_bytes: int


class Warn(Record):
    """Something the user should know that does not stop the run."""

    kind: Literal["warning"] = "warning"
    sentence: str
    hint: str = ""
    step: int | None = None


class Paused(Record):
    """The run waits because it was asked to or lacks something, or goes on again (`paused` is False)."""

    kind: Literal["paused"] = "paused"
    paused: bool
    step: Steps = 0
    sentence: str = ""
    """Why it waits; empty where somebody asked for it."""
    hint: str = ""


class Stalled(Record):
    """The run has made no progress for longer than its work takes, or goes on again (`stalled` is False)."""

    kind: Literal["stalled"] = "stalled"
    stalled: bool
    sentence: str
    hint: str = ""
    step: Steps = 0


class Done(Record):
    """The run reached its last step."""

    kind: Literal["done"] = "done"
    step: Steps
    lora: str
    seconds: float
    held_out_before: float | None = None
    held_out_after: float | None = None


class Stopped(Record):
    """The run ended because it was asked to; `lora` is what was saved, empty when there was nothing yet."""

    kind: Literal["stopped"] = "stopped"
    step: Steps
    lora: str = ""


class JobChange(Record):
    """Settings with which a job would do what it cannot do as it is; each was computed before it is offered."""

    words: str
    """What changes, and what comes of it, for people."""
    settings: dict[str, bool | int | float | str]
    """New values by the dotted names of settings, for example `{"lora.rank": 8}`."""


class Failed(Record):
    """The run ended on a problem."""

    kind: Literal["failed"] = "failed"
    sentence: str
    hint: str = ""
    detail: str = ""
    step: int | None = None
    changes: tuple[JobChange, ...] = ()
    """With which the job could be started again, the ones that change least first."""


Message: TypeAlias = (
    Hello
    | Preparing
    | Planned
    | Placed
    | Step
    | Compared
    | HeldOut
    | Sample
    | Checkpoint
    | Warn
    | Paused
    | Stalled
    | Done
    | Stopped
    | Failed
)
End: TypeAlias = Done | Stopped | Failed


class Command(Record):
    """What may be asked of a running trainer, one JSON object a line.

    The lines go to its standard input, or, from who did not start it, to the file `commands.jsonl` of the run folder.
    `pause` holds the run between two steps until `resume` or `stop`; `prompts` changes what samples are made of from
    the next ones on; `detach` lets the run go on without the program that started it, whatever its job says;
    `break_off` ends it in the middle of a step, as a signal does where a system has signals.
    """

    command: Literal["stop", "save", "sample", "pause", "resume", "prompts", "detach", "break_off"]
    prompts: tuple[str, ...] | None = None


_MESSAGES: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="kind")], config=LATER)
KINDS = frozenset(kind.model_fields["kind"].default for kind in Message.__args__)


def encode(record: Message | Command) -> bytes:
    """Return the record as one line of UTF-8 JSON, newline included. No text in it can make this fail."""
    return to_json(record, exclude_none=True) + b"\n"


def require_protocol(hello: Hello) -> None:
    """Refuse a trainer that speaks another version of the protocol.

    Raises:
        ProtocolError: The versions differ.
    """
    if hello.protocol != PROTOCOL_VERSION:
        raise ProtocolError(
            f"The trainer speaks protocol {hello.protocol}, this program speaks {PROTOCOL_VERSION}.",
            hint="Two versions of DiffusionForce are mixed: install it again, into a fresh environment.",
        )


def decode(line: bytes | str) -> Message:
    """Return the message in one line.

    Raises:
        ValueError: The line is no message of a known kind (pydantic's `ValidationError` is one).
    """
    return _MESSAGES.validate_json(line)
