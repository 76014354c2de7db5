"""How long a model's blocks take on the cards of a rig: measured, from data sheets, or as good as unknown."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from diffusionforce.engines.subjects import JobSubjects, TrainingVariant
from diffusionforce.trainer.forecasting.rigs import Rig
from diffusionforce.ugpum.estimate import Variant, spread
from diffusionforce.ugpum.footprint import CardRates, Footprint
from diffusionforce.ugpum.imagined import rated_variant
from diffusionforce.ugpum.learned import Lesson
from diffusionforce.ugpum.planner import Candidate

Times = Literal["measured", "catalogue", "unknown"]

_SOME_RATES = CardRates(flops=50e12, memory_bytes_per_s=400e9)
"""Of a card that nobody knows. All are then taken to be alike, and the seconds are not shown."""


def timed_variants(
    subjects: JobSubjects,
    trained: Sequence[Footprint],
    sampled: Sequence[Footprint | None],
    rig: Rig,
    *,
    lesson: Lesson | None = None,
) -> tuple[list[Variant], Times]:
    """The variants of a model as the planner wants them, and where their seconds come from.

    Args:
        subjects: What the engine would run.
        trained: The footprint of each variant's training.
        sampled: The footprint of each variant's sampling.
        rig: The cards.
        lesson: What earlier runs taught.
    """
    reached = [rates for rates in rig.rates if rates is not None]
    is_known = len(reached) == len(rig.cards)
    variants = [
        replace(
            _rated(variant, footprint, sampling, rig, reached if is_known else [_SOME_RATES] * len(rig.cards)),
            host_s=footprint.block_launches * rig.launch_s,
            replays=subjects.graphs,
            kinds=None if variant.kinds is None else frozenset(variant.kinds),
        )
        for variant, footprint, sampling in zip(subjects.variants, trained, sampled, strict=True)
    ]
    if lesson is not None:
        return [lesson.on_variant(variant) for variant in variants], "measured"
    return variants, "measured" if rig.speeds else "catalogue" if is_known else "unknown"


def denoising_s(candidate: Candidate, *, passes: int, link_bytes_per_s: Sequence[float]) -> float:
    """Predicted seconds of one denoising step of one sample. The cards take turns, for there is one sample at a time.

    Args:
        candidate: A way to train, whose blocks stay where they are; those that step aside are paged meanwhile.
        passes: Evaluations of the model.
        link_bytes_per_s: What pages come over to each card of the rig; 0 where none come.
    """
    variant, placing = candidate.variant, candidate.placing
    assert variant.sampling is not None
    blocks, paged = variant.sampling.blocks, candidate.paged
    aside = candidate.num_aside or (0,) * len(placing.cards)
    total_s = 0.0
    for rank, card in enumerate(placing.cards):
        mine = placing.blocks_of(rank)
        away = paged.intersection(mine) | spread([block for block in mine if block not in paged], aside[rank])
        unit_s = variant.block_s[card] / max(1, variant.footprint.block_work)
        computing_s = sum(blocks[block].forward_work for block in mine) * unit_s
        coming_bytes = sum(variant.footprint.blocks[block].part.paged_bytes for block in away)
        loading_s = coming_bytes / link_bytes_per_s[card] if link_bytes_per_s[card] else 0.0
        total_s += max(computing_s, loading_s)
        if rank == 0:
            total_s += variant.sampling.outer.flops * unit_s
    host_s = variant.host_s * variant.sampling.block_launches / max(1, variant.footprint.block_launches)
    return passes * max(total_s, host_s)


def _rated(
    variant: TrainingVariant, footprint: Footprint, sampling: Footprint | None, rig: Rig, rates: Sequence[CardRates]
) -> Variant:
    return rated_variant(
        footprint,
        rates=rates,
        link_bytes_per_s=rig.crossings_bytes_per_s,
        weights=variant.weights,
        num_microbatches=variant.num_microbatches,
        sampling=sampling,
    )
