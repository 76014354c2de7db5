"""The Wan 2.1 14B shape as an engine would describe it: bf16 weights, LoRA of rank 32, checkpointed."""

from collections.abc import Iterable

import torch
from tests.support.traced_models import adamw
from torch import nn

from diffusionforce.engines.subjects import JobSubjects, TracedModel, TrainingVariant, divisions
from diffusionforce.pipeline.bench.model import BenchmarkBatch, BenchmarkModel, BenchmarkShape, random_batch
from diffusionforce.pipeline.tracer.trace import Subject


def wan_subjects(
    *,
    num_tokens: int = 4096,
    batch_size: int = 4,
    micro: Iterable[int] | None = None,
    with_samples: bool = True,
    shape: BenchmarkShape | None = None,
) -> JobSubjects:
    """What an engine runs that trains pictures of 1024 x 1024.

    Args:
        num_tokens: Tokens of a picture.
        batch_size: Pictures of a step.
        micro: Numbers of micro-batches that are allowed; all that divide the batch if left out.
        with_samples: Whether samples are made.
        shape: Sizes of the model; Wan 2.1 14B's if left out.
    """
    shape = shape or BenchmarkShape()
    common = {"num_blocks": shape.num_blocks, "width": shape.width, "rank": shape.lora_rank, "tokens": num_tokens}

    def model(phase: str, size: int) -> TracedModel:
        return TracedModel(
            inputs={**common, "phase": phase, "size": size}, make=lambda: wan_subject(shape, num_tokens, size)
        )

    wanted = set(micro) if micro is not None else None
    return JobSubjects(
        variants=tuple(
            TrainingVariant(
                weights="bf16",
                num_microbatches=num,
                microbatch_size=size,
                training=model("training", size),
                sampling=model("sampling", 1) if with_samples else None,
            )
            for num, size in divisions(batch_size, num_batches=1)
            if wanted is None or num in wanted
        ),
        training_words=f"1024 x 1024, {batch_size} at a time",
        sampling_words="1024 x 1024",
    )


def wan_subject(shape: BenchmarkShape, num_tokens: int, batch_size: int) -> Subject:
    """One micro-batch."""

    def loss(model: nn.Module, batch: BenchmarkBatch) -> torch.Tensor:
        assert isinstance(model, BenchmarkModel)
        return model.loss(batch)

    return Subject(
        make_model=lambda: BenchmarkModel(shape, home=torch.device("meta"), checkpointing=True),
        blocks_of=lambda model: list(model.blocks),  # pyright: ignore[reportArgumentType]
        make_batch=lambda device: random_batch(shape, num_tokens=num_tokens, device=device, batch_size=batch_size),
        run=loss,
        make_optimizer=adamw,
    )
