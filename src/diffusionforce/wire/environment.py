"""What is said about the environment for training: what will be brought, how far it is, how it stands.

`diffusionforce env … --json` prints one JSON object a line, which the window reads. The last is `environment`, or
`failed`.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from diffusionforce.wire.messages import LATER, Failed, Record

BuildStep = Literal["venv", "torch", "libraries", "check"]
BUILD_STEPS: tuple[BuildStep, ...] = ("venv", "torch", "libraries", "check")
"""In their order."""
EnvironmentState = Literal["ready", "missing", "unfinished", "outdated", "moved", "damaged"]
"""`outdated`: made from other locks. `moved`: made for an application that was elsewhere. Only `ready` is used."""


class EnvironmentPlan(Record):
    """What is going to be built."""

    kind: Literal["environment_plan"] = "environment_plan"
    folder: str
    backend: str
    """`cpu`, or a level of CUDA like `cu130`."""
    reason: str
    """Why this one, in a sentence."""
    torch_version: str
    python_version: str
    wheels: str = ""
    """The folder that everything comes from; empty where it is downloaded."""
    download_bytes: int
    """About; 0 with `wheels`."""
    needed_bytes: int
    """About."""
    free_bytes: int
    drive: str


class EnvironmentProgress(Record):
    """How far a step is."""

    kind: Literal["environment_progress"] = "environment_progress"
    step: BuildStep
    package: str = ""
    """What is being downloaded, or looked at."""
    done_bytes: int = 0
    """Of the downloads of this step that have been announced, and so of `total_bytes`."""
    total_bytes: int = 0
    bytes_per_s: int = 0
    done: int = 0
    """Packages that were downloaded, or libraries that were loaded."""
    total: int = 0


class EnvironmentLine(Record):
    """A line of the log: a command, or what it said."""

    kind: Literal["environment_line"] = "environment_line"
    text: str


class EnvironmentStatus(Record):
    """How the environment stands."""

    kind: Literal["environment"] = "environment"
    state: EnvironmentState
    outcome: Literal["", "built", "was there", "repaired", "removed", "not there", "stopped"] = ""
    folder: str
    backend: str = ""
    torch_version: str = ""
    num_packages: int = 0
    problems: tuple[str, ...] = ()
    """What is not as it should be, a sentence each."""
    log: str = ""
    """File with all that was said; empty where nothing was done."""


EnvironmentRecord = EnvironmentPlan | EnvironmentProgress | EnvironmentLine | EnvironmentStatus | Failed
_adapter: TypeAdapter[EnvironmentRecord] = TypeAdapter(
    Annotated[EnvironmentRecord, Field(discriminator="kind")], config=LATER
)


def read_environment_record(line: bytes | str) -> EnvironmentRecord:
    """Read one line of the child.

    Raises:
        ValueError: It is none of its records.
    """
    return _adapter.validate_json(line)
