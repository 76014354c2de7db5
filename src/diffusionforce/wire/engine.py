"""What is said about the engine for the real models: whether it is here, how far its installation is, its terms.

The child process that looks and installs answers with one JSON object a line, which the window shows and the command
line prints. The last is `engine`, or `failed`.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from diffusionforce.wire.messages import LATER, Failed, Record


class EngineTerms(Record):
    """Code of the engine under terms of its own."""

    folder: str
    licence: str
    origin: str
    url: str
    words: str
    """What a user has to know before using the models, in a sentence or two."""
    models: tuple[str, ...]
    """Names of the models that it is about."""


class EngineProgress(Record):
    """How far an installation is."""

    kind: Literal["engine_progress"] = "engine_progress"
    stage: Literal["download", "files"]
    done: int
    """Bytes of a download, otherwise files."""
    total: int
    """0 if it is not known."""


class EngineStatus(Record):
    """The engine that is wanted, and what of it is here."""

    kind: Literal["engine"] = "engine"
    name: str
    version: str
    commit: str
    upstream: str
    licence: str
    folder: str
    state: Literal["intact", "damaged", "missing"]
    outcome: Literal["", "was there", "repaired", "installed"] = ""
    """After an installation: what it came to."""
    num_files: int
    size_bytes: int
    modified: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Only of a damaged engine."""
    extra: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """After an installation: files of the source that are not the engine's and were not installed."""
    terms: tuple[EngineTerms, ...] = ()


EngineRecord = EngineProgress | EngineStatus | Failed
_adapter: TypeAdapter[EngineRecord] = TypeAdapter(Annotated[EngineRecord, Field(discriminator="kind")], config=LATER)


def read_engine_record(line: bytes | str) -> EngineRecord:
    """Read one line of the child.

    Raises:
        ValueError: It is none of its records.
    """
    return _adapter.validate_json(line)
