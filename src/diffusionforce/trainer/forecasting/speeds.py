"""How long a model's blocks take on the cards of a rig: measured, from data sheets, or as good as unknown."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from diffusionforce.engines.subjects import JobSubjects, TrainingVariant
from diffusionforce.trainer.forecasting.rigs import Rig
from diffusionforce.ugpum.estimate import Variant
from diffusionforce.ugpum.footprint import Footprint
from diffusionforce.ugpum.imagined import rated_variant
from diffusionforce.ugpum.learned import Lesson

Times = Literal["measured", "catalogue", "unknown"]

_SOME_FLOPS = 50e12
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
    reached = [flops for flops in rig.flops if flops is not None]
    is_known = len(reached) == len(rig.cards)
    variants = [
        replace(
            _rated(variant, footprint, sampling, rig, reached if is_known else [_SOME_FLOPS] * len(rig.cards)),
            kinds=None if variant.kinds is None else frozenset(variant.kinds),
        )
        for variant, footprint, sampling in zip(subjects.variants, trained, sampled, strict=True)
    ]
    if lesson is not None:
        return [lesson.on_variant(variant) for variant in variants], "measured"
    return variants, "measured" if rig.speeds else "catalogue" if is_known else "unknown"


def _rated(
    variant: TrainingVariant, footprint: Footprint, sampling: Footprint | None, rig: Rig, flops: Sequence[float]
) -> Variant:
    return rated_variant(
        footprint,
        flops=flops,
        link_bytes_per_s=rig.crossings_bytes_per_s,
        weights=variant.weights,
        num_microbatches=variant.num_microbatches,
        sampling=sampling,
    )
