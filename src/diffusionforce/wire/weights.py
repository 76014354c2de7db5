"""What is said about the files of the real models and about LoRA files, one JSON object a line.

A child process looks at the files and answers; window and command line show. The last record is `models`, `options`,
`chosen`, `lora` or `failed`.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from diffusionforce.wire.engine import EngineTerms
from diffusionforce.wire.messages import LATER, Failed, Record


class ModelFile(Record):
    """One file that a model needs, and what of it is here."""

    role: str
    title: str
    name: str
    repository: str
    page: str
    licence: str
    gated: bool
    optional: bool
    size_bytes: int
    """Of the file if it is here, otherwise about what it will be."""
    state: Literal["here", "missing", "wrong"]
    path: str = ""
    precision: str = ""
    problem: str = ""
    """What is wrong with it, in a sentence."""
    hint: str = ""


class Model(Record):
    """One model, and whether it can be trained here."""

    family: str
    title: str
    profiles: tuple[str, ...]
    """Built-in profiles that train it."""
    makes: str
    trains_on: str
    validated: str
    files: tuple[ModelFile, ...]
    traps: tuple[str, ...]
    terms: tuple[EngineTerms, ...] = ()
    terms_accepted: bool = True
    comfy: str = ""


class NoModel(Record):
    """A model that cannot be trained here, and why."""

    name: str
    title: str
    reason: str
    instead: str


class Models(Record):
    """What there is of the models that were asked about."""

    kind: Literal["models"] = "models"
    models: tuple[Model, ...]
    unavailable: tuple[NoModel, ...] = ()
    folders: tuple[str, ...]
    """Where files are looked for."""


class DownloadProgress(Record):
    """How far a download is; the last record of a file has `done_bytes` equal to `total_bytes`."""

    kind: Literal["download"] = "download"
    file: str
    number: int
    num_files: int
    done_bytes: int
    total_bytes: int


class EngineOption(Record):
    """An option of the engine that a profile can set under `advanced`."""

    name: str
    type: str
    many: bool
    choices: tuple[str, ...]


class EngineOptions(Record):
    """The options that a profile can set for one model."""

    kind: Literal["options"] = "options"
    family: str
    options: tuple[EngineOption, ...]


class Chosen(Record):
    """A file or folder that will be used from now on."""

    kind: Literal["chosen"] = "chosen"
    what: str
    path: str


class LoraInfo(Record):
    """What a LoRA file is."""

    kind: Literal["lora"] = "lora"
    path: str
    size_bytes: int
    base_model: str
    """What its metadata name; empty if they name none."""
    families: tuple[str, ...]
    """Models whose layers it is for."""
    titles: tuple[str, ...]
    algorithm: str
    num_modules: int
    num_expected: int
    """Layers that get a LoRA in that model by default; 0 if the model is not known."""
    unknown_modules: tuple[str, ...]
    """Layers that the model does not have, the first few."""
    ranks: tuple[int, ...]
    alphas: tuple[float, ...]
    precision: str
    step: int | None
    comfy: Literal["loads", "loses layers", "does not load", "not known"]
    comfy_lost: int
    comfy_words: str
    metadata: dict[str, str]


WeightsRecord = Models | DownloadProgress | EngineOptions | Chosen | LoraInfo | Failed
_adapter: TypeAdapter[WeightsRecord] = TypeAdapter(Annotated[WeightsRecord, Field(discriminator="kind")], config=LATER)


def read_weights_record(line: bytes | str) -> WeightsRecord:
    """Read one line of the child.

    Raises:
        ValueError: It is none of its records.
    """
    return _adapter.validate_json(line)
