"""What training the pocket model runs, described for a forecast; torch is loaded only if something is traced."""

import importlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from diffusionforce.datasets import read_folder
from diffusionforce.engines.pocket.config import MAX_WORDS, PocketConfig
from diffusionforce.engines.pocket.division import chunks_per_stage, num_drawn, pieces_of_batch
from diffusionforce.engines.pocket.files import quick_config, weights_path
from diffusionforce.engines.subjects import (
    Inputs,
    JobSubjects,
    TracedCall,
    TracedModel,
    TrainingVariant,
    code_inputs,
)
from diffusionforce.job import Job
from diffusionforce.ugpum.estimate import Kind

CAPTIONS_AT_ONCE = 64
"""As `dataset.encode_captions` takes them."""
_PROCESS_BYTES = 450 << 20
"""The interpreter with PyTorch loaded, as seen on Linux."""
_TRACING = "diffusionforce.engines.pocket.tracing"


def subjects(job: Job, *, num_cards: int) -> JobSubjects:
    """Describe a job of the pocket engine.

    Args:
        job: What would be trained, on what.
        num_cards: Graphics cards that it would run on; 0 where the processor does everything.

    Raises:
        UserError: The weights or the pictures cannot be used.
    """
    profile, config, on_cards = job.profile, _config(job), num_cards > 0
    samples = profile.samples
    size = f"{profile.dataset.width} x {profile.dataset.height}"
    num_own, num_held_out, num_extra = _num_own(job.dataset_dir), _num_own(job.held_out_dir), num_drawn(profile)
    num_pictures = num_own + num_held_out + num_extra
    variants = [_variant(job, config, kind="one card", num_stages=1, on_cards=on_cards)]
    if num_cards > 1:
        variants.append(_variant(job, config, kind="split", num_stages=num_cards, on_cards=True))
    return JobSubjects(
        variants=tuple(variants),
        caching=(_text_encoder(config),),
        caching_words=_caching_words(num_own, num_held_out=num_held_out, num_extra=num_extra),
        training_words=f"{size}, {profile.training.batch_size} at a time",
        sampling_words=f"{samples.width} x {samples.height}{', with guidance' if samples.guidance != 1 else ''}",
        kinds=("one card", "split"),
        # The model would fit any card many times over. Showing that it runs spread out is what it is for.
        preferred=("split",),
        even_chunks_each=chunks_per_stage(num_stages=max(1, num_cards), num_blocks=config.num_blocks),
        ram_bytes=_PROCESS_BYTES + num_pictures * 3 * profile.dataset.width * profile.dataset.height,
    )


def _variant(job: Job, config: PocketConfig, *, kind: Kind, num_stages: int, on_cards: bool) -> TrainingVariant:
    """Training on a number of devices, with the batch cut as it is for so many."""
    training = job.profile.training
    num_batches = training.gradient_accumulation
    pieces = pieces_of_batch(training.batch_size, num_stages=num_stages, num_batches=num_batches)
    largest = -(-training.batch_size // pieces)
    return TrainingVariant(
        weights="fp32",
        num_microbatches=-(-training.batch_size // largest) * num_batches,
        microbatch_size=largest,
        kinds=(kind,),
        training=_training(job, config, microbatch_size=largest, on_cards=on_cards),
        sampling=_sampling(job, config, on_cards=on_cards) if job.profile.samples.prompts else None,
    )


def _config(job: Job) -> PocketConfig:
    path = weights_path(job)
    config = quick_config(path)
    if config is None:
        # Whoever loads the weights knows what is wrong with them, but takes torch to say it.
        return importlib.import_module("diffusionforce.engines.pocket.weights").check_weights(path)
    return config


def _num_own(folder: Path | None) -> int:
    """Pictures in a folder of a job; a forecast may be made before there are any."""
    return len(read_folder(folder, decode=False).items) if folder is not None and folder.is_dir() else 0


def _caching_words(num_own: int, *, num_held_out: int, num_extra: int) -> str:
    """Say what is prepared: the user's own pictures first, and what comes to them."""
    words = f"{num_own} pictures and captions"
    if num_held_out:
        words += f", {num_held_out} held out"
    if num_extra:
        words += f", {num_extra} drawn for regularisation"
    return f"{words}, on the processor"


def _training(job: Job, config: PocketConfig, *, microbatch_size: int, on_cards: bool) -> TracedModel:
    profile = job.profile
    inputs: dict[str, Any] = {
        **_common(job, config, on_cards=on_cards),
        "phase": "training",
        "size_px": [profile.dataset.width, profile.dataset.height],
        "microbatch_size": microbatch_size,
        "dropout": profile.lora.dropout,
        "recompute": profile.training.gradient_checkpointing,
        "optimizer": profile.training.optimizer,
    }
    return TracedModel(
        inputs=inputs,
        make=lambda: importlib.import_module(_TRACING).training_subject(
            profile, config, microbatch_size=microbatch_size, on_cards=on_cards
        ),
    )


def _sampling(job: Job, config: PocketConfig, *, on_cards: bool) -> TracedModel:
    profile = job.profile
    inputs: dict[str, Any] = {
        **_common(job, config, on_cards=on_cards),
        "phase": "sampling",
        "size_px": [profile.samples.width, profile.samples.height],
        "guidance": profile.samples.guidance != 1,
    }
    return TracedModel(
        inputs=inputs,
        make=lambda: importlib.import_module(_TRACING).sampling_subject(profile, config, on_cards=on_cards),
    )


def _text_encoder(config: PocketConfig) -> TracedCall:
    inputs: Inputs = {
        **code_inputs("diffusionforce.engines.pocket"),
        "phase": "text encoder",
        "model": asdict(config),
        "captions": [CAPTIONS_AT_ONCE, MAX_WORDS],
    }
    return TracedCall(
        name="captions",
        words="text encoder on captions",
        where="cpu",
        inputs=inputs,
        trace=lambda: importlib.import_module(_TRACING).trace_text_encoder(config, num_captions=CAPTIONS_AT_ONCE),
    )


def _common(job: Job, config: PocketConfig, *, on_cards: bool) -> Inputs:
    return {
        **code_inputs("diffusionforce.engines.pocket"),
        "model": asdict(config),
        "rank": job.profile.lora.rank,
        "precision": job.profile.model.precision,
        "on_cards": on_cards,
    }
