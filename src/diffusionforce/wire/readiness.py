"""Whether a job for the real models could start here, and what is in the way, asked of a child process.

The window may not load engines. It starts the module `diffusionforce.engines.musubi.readiness_command` with a job file
and reads one JSON object: `readiness`, or `failed`.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from diffusionforce.wire.messages import LATER, Failed, Record

Lack = Literal["", "engine", "card", "libraries", "terms", "files", "settings", "state"]


class Readiness(Record):
    """The first thing that is in the way of a job, in the order in which it would be put right."""

    kind: Literal["readiness"] = "readiness"
    lack: Lack = ""
    """What is missing or wrong; empty where the job could start."""
    sentence: str = ""
    hint: str = ""
    command: str = ""
    """What to type to put it right, where a command does that."""
    model: str = ""
    """What `models` commands call the model: the profile, or its family where the profile is a file elsewhere."""


_adapter: TypeAdapter[Readiness | Failed] = TypeAdapter(
    Annotated[Readiness | Failed, Field(discriminator="kind")], config=LATER
)


def read_readiness(line: bytes | str) -> Readiness | Failed:
    """Read the answer of the child.

    Raises:
        ValueError: It is none.
    """
    return _adapter.validate_json(line)
