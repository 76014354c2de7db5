"""What an engine would run for a job, described so that it can be forecast.

Memory is forecast by running the engine's own code on tensors without contents (`pipeline.tracer`), and a trace takes
seconds. So each thing to trace comes as a pair: plain values that name everything the trace depends on, by which an
earlier trace is found again, and a function that is called only if there is none.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from typing import TYPE_CHECKING, Literal

from diffusionforce.ugpum.estimate import Kind
from diffusionforce.ugpum.planner import KINDS, MAX_CHUNKS_EACH

if TYPE_CHECKING:
    from diffusionforce.pipeline.tracer.numbers import CallTrace
    from diffusionforce.pipeline.tracer.trace import Subject

Inputs = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class TracedModel:
    """The model as it is trained, or as it makes samples."""

    inputs: Inputs
    """Everything that the trace depends on, as values that JSON can hold; see `code_inputs`."""
    make: Callable[[], "Subject"]
    """What to trace."""


@dataclass(frozen=True, kw_only=True)
class TracedCall:
    """A module that runs by itself: a text encoder, a VAE."""

    name: str
    """What it is called in a plan, which gives all calls of one name the same device: `captions`."""
    words: str
    """What it does, for example `text encoder on captions`."""
    where: Literal["card", "cpu"]
    """On a card that holds it and on the processor if none does, or on the processor anyway."""
    inputs: Inputs
    """As for `TracedModel`."""
    trace: Callable[[], "CallTrace"]
    """Traces it."""
    in_tiles: bool = False
    """Whether it works on a tile of the picture at a time; one of them is traced."""
    otherwise: "TracedCall | None" = None
    """The same with less memory, where no card has enough for this."""


@dataclass(frozen=True, kw_only=True)
class TrainingVariant:
    """The model in one number format, and the step's batch in one division."""

    weights: str
    """Number format of the frozen weights, for people: `bf16`."""
    num_microbatches: int
    """Micro-batches of a step."""
    microbatch_size: int
    """Pictures of the largest micro-batch. All variants of one number format differ in nothing but the division."""
    training: TracedModel
    """One micro-batch of the largest bucket, forward, backward and optimiser."""
    kinds: tuple[Kind, ...] | None = None
    """Ways that the engine goes with this division of the batch; None is all of its ways."""
    sampling: TracedModel | None = None
    """One evaluation of the model for a sample, guidance included; None where no samples are made."""


@dataclass(frozen=True, kw_only=True)
class JobSubjects:
    """Everything that an engine would run for a job."""

    variants: tuple[TrainingVariant, ...]
    """What the model allows; of equally fast ones the first is taken."""
    caching: tuple[TracedCall, ...] = ()
    """What prepares the data before training, one after another."""
    decoding: tuple[TracedCall, ...] = ()
    """What turns the model's result into a picture, while the trained model stays where it is."""
    caching_words: str = ""
    """What is prepared, for example `12 pictures, 12 captions`."""
    training_words: str = ""
    """For example `1024 x 1024, 4 at a time`."""
    sampling_words: str = ""
    """For example `1024 x 1024, 9 frames, with guidance`."""
    sampling_passes: int = 1
    """How often the model is evaluated for one denoising step of a sample, beside what one trace already does."""
    kinds: tuple[Kind, ...] = KINDS
    """Ways to train that the engine can go."""
    preferred: tuple[Kind, ...] = ()
    """Ways that it takes where they fit, fastest or not; empty has no preference."""
    max_chunks_each: int = MAX_CHUNKS_EACH
    """The most chunks of a card."""
    even_chunks_each: int = 0
    """Where not 0, a split shares the blocks out evenly over all cards, in that many chunks each."""
    graphs: bool = False
    """Whether blocks run as captured graphs, which work in memory of their own."""
    ram_bytes: int = 0
    """What the process holds in RAM whatever the plan: interpreter, libraries, prepared data."""
    notes: tuple[str, ...] = ()
    """What the description takes for granted, in sentences."""


def code_inputs(*packages: str) -> dict[str, object]:
    """What any trace depends on beside its own inputs: the code that is traced, the tracer's, and PyTorch's.

    Args:
        packages: Names of the packages with the traced code; what lies in them counts, not in packages below.
    """
    try:
        torch_version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        torch_version = ""
    traced = ("diffusionforce.pipeline.tracer", *packages)
    return {"torch": torch_version, "code": {package: _fingerprint(package) for package in traced}}


def divisions(batch_size: int, *, num_batches: int) -> Iterable[tuple[int, int]]:
    """Every way to cut a step's batches into equal micro-batches, fewest first.

    Args:
        batch_size: Pictures of a batch.
        num_batches: Batches that are summed up before a step.

    Yields:
        Micro-batches of a step, and pictures in each.
    """
    for num in range(1, batch_size + 1):
        if batch_size % num == 0:
            yield num * num_batches, batch_size // num


@cache
def _fingerprint(package: str) -> str:
    """The contents of a package's own modules, in few characters."""
    digest = hashlib.sha256()
    for file in sorted(resources.files(package).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".py"):
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
