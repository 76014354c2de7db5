"""What the engine would run for a job, described for a forecast; torch is loaded only if something is traced."""

import importlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from diffusionforce.datasets import read_folder
from diffusionforce.datasets.intakes import intake_of
from diffusionforce.engines.musubi.access import open_engine
from diffusionforce.engines.musubi.advanced import checked_advanced
from diffusionforce.engines.musubi.arguments import require_checkpointing
from diffusionforce.engines.musubi.families import Family, find_family
from diffusionforce.engines.musubi.pin import read_pin
from diffusionforce.engines.musubi.side_models import caching_calls, decoding_calls, num_sections
from diffusionforce.engines.musubi.staging import Source, largest, sources_of
from diffusionforce.engines.musubi.verification import verify
from diffusionforce.engines.subjects import JobSubjects, TracedModel, TrainingVariant, code_inputs, divisions
from diffusionforce.errors import EngineError, NotForecastError
from diffusionforce.job import Job, Profile
from diffusionforce.ugpum.estimate import Kind
from diffusionforce.ugpum.planner import KINDS

if TYPE_CHECKING:
    from diffusionforce.engines.musubi.traced.parts import Use
    from diffusionforce.pipeline.tracer.trace import Subject

TRACED = {
    "wan2.1-t2v-14b": "wan",
    "wan2.1-t2v-1.3b": "wan",
    "wan2.1-i2v-14b": "wan",
    "wan2.2-t2v-a14b": "wan",
    "wan2.2-i2v-a14b": "wan",
    "flux2-dev": "flux2",
    "flux2-klein-9b": "flux2",
    "flux2-klein-base-9b": "flux2",
    "flux2-klein-4b": "flux2",
    "flux2-klein-base-4b": "flux2",
    "flux1-kontext": "flux_kontext",
    "qwen-image": "qwen_image",
    "qwen-image-edit": "qwen_image",
    "qwen-image-edit-2509": "qwen_image",
    "qwen-image-edit-2511": "qwen_image",
    "krea2": "krea2",
    "ideogram4": "ideogram4",
    "kandinsky5-pro-t2v": "kandinsky5",
    "kandinsky5-pro-i2v": "kandinsky5",
    "kandinsky5-lite-t2v": "kandinsky5",
    "z-image": "z_image",
    "hunyuan-video": "hunyuan_video",
    "hunyuan-video-1.5": "hunyuan_video_1_5",
    "hunyuan-video-1.5-i2v": "hunyuan_video_1_5",
    "framepack": "framepack",
}
"""The module of `engines.musubi.traced` that knows a family."""
_VIDEO = {"wan", "hunyuan_video", "hunyuan_video_1_5", "framepack", "kandinsky5"}
_IN_SECTIONS = "framepack"
"""Makes and learns videos in sections of one length, whatever theirs is."""
_WITH_EXPERTS = {"wan2.2-t2v-a14b", "wan2.2-i2v-a14b"}
"""Models of two transformers, of which the one that does not work waits in RAM."""
_GUIDANCE_IS_INPUT = {"flux2-dev", "flux2-klein-9b", "flux2-klein-4b", "flux1-kontext", "hunyuan-video", "framepack"}
"""Models that take guidance as a number; others are evaluated with the prompt and without it."""
_ONE_AT_A_TIME = "kandinsky5"
"""Runs once for every picture of a batch, so that a micro-batch is one picture."""
_PLACED: tuple[Kind, ...] = ("one card + swap", "split", "split + swap")
"""Ways in which blocks are placed and run by us."""
_PROCESS_BYTES = 3 << 30
"""The interpreter with PyTorch and the engine's libraries loaded, as seen on Linux."""

Weights = Literal["bf16", "fp8"]


def subjects(job: Job, *, num_cards: int) -> JobSubjects:
    """Describe a job of this engine.

    Args:
        job: What would be trained, on what.
        num_cards: Graphics cards that it would run on.

    Raises:
        ProfileError: The family is not known, or an advanced option is refused.
        EngineError: The engine is not installed or was changed, or there is no card.
        NotForecastError: The family cannot be forecast.
        UserError: The pictures cannot be used.
    """
    profile = job.profile
    family = profile.model.family
    model = find_family(family)
    checked_advanced(profile, family=model)
    require_checkpointing(profile, family=model)
    if family not in TRACED:
        raise NotForecastError(
            f"What {model.title} needs cannot be forecast yet.",
            hint=f"It can be trained all the same, its blocks spread evenly. Known: {', '.join(TRACED)}.",
        )
    verify()
    if num_cards == 0:
        raise EngineError(
            f"{model.title} cannot be trained without a graphics card.",
            hint="On the processor, train the profile pocket-demo.",
        )
    if family in _WITH_EXPERTS and num_cards == 1:
        raise EngineError(
            f"{model.title} is trained on two cards or more: on one the engine holds both of its models there.",
            hint="Train one of the two models by itself, on the noise levels that are its own.",
        )
    if TRACED[family] == _ONE_AT_A_TIME and num_cards == 1 and profile.training.batch_size > 1:
        raise NotForecastError(
            f"What {model.title} needs on one card cannot be forecast for batches of {profile.training.batch_size}: it "
            "runs one picture after the other, and keeps what it needs of each until the end.",
            hint="Set training.batch_size to 1 and training.gradient_accumulation to what it was: the steps are the "
            "same, with the memory of one picture.",
        )
    samples, sources = profile.samples, _sources(job)
    trained = largest(sources, usual_size=(profile.dataset.width, profile.dataset.height))
    if model.trains_on == "videos":
        trained = (*trained[:2], max(trained[2], samples.num_frames))
    sampled = (samples.width, samples.height, samples.num_frames if TRACED[family] in _VIDEO else 1)
    return JobSubjects(
        variants=tuple(_variants(profile, trained=trained, sampled=sampled)),
        caching=caching_calls(profile, size=trained),
        decoding=decoding_calls(profile, size=sampled) if samples.prompts else (),
        caching_words=_all_of(sources),
        training_words=f"{_size_words(trained)}, {profile.training.batch_size} at a time",
        sampling_words=_size_words(sampled),
        sampling_passes=_passes(profile),
        kinds=("split",) if family in _WITH_EXPERTS else KINDS,
        graphs=profile.training.cuda_graphs,
        ram_bytes=_PROCESS_BYTES + _waiting_bytes(model),
        notes=(*_about_controls(sources, family=model), *_about_advanced(profile)),
    )


def _passes(profile: Profile) -> int:
    """Evaluations of the model for one denoising step of a sample."""
    family, samples = profile.model.family, profile.samples
    if family == _IN_SECTIONS:
        return num_sections(samples.num_frames)
    return 1 if family in _GUIDANCE_IS_INPUT or samples.guidance == 1 else 2


def _about_advanced(profile: Profile) -> list[str]:
    names = ", ".join(profile.advanced)
    return (
        [f"What {names} under [advanced] changes about memory and time is not part of the forecast."] if names else []
    )


def _waiting_bytes(model: Family) -> int:
    """What of a model waits in RAM, in 16 bits: a forecast for RAM does not know the number format."""
    if model.name not in _WITH_EXPERTS:
        return 0
    return sum(round(blocks.count * blocks.million_parameters * 1e6) * 2 for blocks in model.blocks)


def _sources(job: Job) -> list[Source]:
    """What is trained on; a forecast may be made before there are pictures."""
    if not job.dataset_dir.is_dir():
        return []
    intake, size = intake_of(job.profile), (job.profile.dataset.width, job.profile.dataset.height)
    return sources_of(read_folder(job.dataset_dir, decode=False, intake=intake), usual_size=size, intake=intake)


def _all_of(sources: list[Source]) -> str:
    """Say how much there is to prepare."""
    num_clips = sum(len(source.items) for source in sources if source.frames)
    num_pictures = sum(len(source.items) for source in sources if not source.frames)
    counts = ((num_pictures, "pictures"), (num_clips, "clips"))
    found = " and ".join(f"{num} {words}" for num, words in counts if num)
    return f"{found or 'pictures'} with captions, one at a time"


def _size_words(size: tuple[int, int, int]) -> str:
    width, height, num_frames = size
    return f"{width} x {height}{f', {num_frames} frames' if num_frames > 1 else ''}"


def _about_controls(sources: list[Source], *, family: Family) -> list[str]:
    has_some = any(source.kind == "pictures with control pictures" for source in sources)
    if not has_some or family.trains_on == "pictures with control pictures":
        return []
    return ["What control pictures add to a picture is not part of the forecast."]


def _variants(
    profile: Profile, *, trained: tuple[int, int, int], sampled: tuple[int, int, int]
) -> Iterator[TrainingVariant]:
    """16-bit weights first, then 8-bit ones; each with every division of the batch."""
    family, batch_size = find_family(profile.model.family), profile.training.batch_size
    for weights in _formats(family):
        for num, size in divisions(batch_size, num_batches=profile.training.gradient_accumulation):
            kinds = _kinds(family, size=size, batch_size=batch_size)
            if kinds == ():
                continue
            yield TrainingVariant(
                weights=weights,
                num_microbatches=num,
                microbatch_size=size,
                kinds=kinds,
                training=_traced(profile, trained, "training", weights=weights, batch_size=size),
                sampling=_traced(profile, sampled, "sampling", weights=weights) if profile.samples.prompts else None,
            )


def _formats(family: Family) -> tuple[Weights, ...]:
    """Weights in 8 bits without scales would be another file."""
    found: dict[str, tuple[Weights, ...]] = {"scaled": ("bf16", "fp8"), "already": ("fp8",)}
    return found.get(family.eight_bit, ("bf16",))


def _kinds(family: Family, *, size: int, batch_size: int) -> tuple[Kind, ...] | None:
    """The ways for which a batch may be divided so; None: all of them.

    The engine itself, which a card that holds all of the model is left to, runs a batch as one.
    """
    if TRACED[family.name] == _ONE_AT_A_TIME and size > 1:
        return ()
    return None if size == batch_size else _PLACED


def _traced(
    profile: Profile,
    size: tuple[int, int, int],
    phase: Literal["training", "sampling"],
    *,
    weights: Weights,
    batch_size: int = 1,
) -> TracedModel:
    values: dict[str, Any] = {
        **dict(zip(("width", "height", "num_frames"), size, strict=True)),
        "batch_size": batch_size,
        "weights": weights,
        "rank": profile.lora.rank,
        "alpha": profile.lora.alpha,
        "dropout": profile.lora.dropout,
        "recompute": profile.training.gradient_checkpointing,
    }
    family = profile.model.family
    code = code_inputs("diffusionforce.engines.musubi", "diffusionforce.engines.musubi.traced")
    inputs = {**code, "engine": read_pin().commit, "phase": phase, "family": family, **values}
    return TracedModel(inputs=inputs, make=lambda: _subject(family, values, phase))


def _subject(family: str, values: dict[str, Any], phase: str) -> "Subject":
    source = open_engine()
    parts = importlib.import_module("diffusionforce.engines.musubi.traced.parts")
    module = importlib.import_module(f"diffusionforce.engines.musubi.traced.{TRACED[family]}")
    use: Use = parts.Use(**values)
    make: Callable[..., Subject] = getattr(module, f"{phase}_subject")
    return make(family, use, source=source)
