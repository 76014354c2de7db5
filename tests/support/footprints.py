"""Footprints of models for tests that need no trace."""

from diffusionforce.ugpum.footprint import BlockKind, Footprint, OptimizerStep, Outside, Part

WAN_14B = Footprint(
    kinds=(
        BlockKind(
            part=Part(
                weights_bytes={"bfloat16": 704_704_512},
                trained_bytes=7_667_712,
                gradient_bytes=7_667_712,
                optimizer_bytes=15_335_424,
                paged_bytes=702_607_360,
            ),
            output_bytes=41_943_040,
            kept_bytes=41_943_040,
            forward_bytes=423_686_144,
            backward_bytes=929_398_784,
            forward_flops=2_915_074_834_432,
            backward_flops=6_382_656_946_176,
        ),
    ),
    kind_of_block=(0,) * 40,
    outer=Outside(
        part=Part(weights_bytes={"bfloat16": 70_599_168}, paged_bytes=69_550_336),
        batch_bytes=6_291_968,
        shared_bytes=5_304_320,
        prologue_kept_bytes=47_248_384,
        prologue_bytes=47_248_384,
        tail_bytes=83_902_464,
        flops=34_912_337_920,
    ),
    optimizer=OptimizerStep(share=1.0),
)
"""The Wan 2.1 14B shape with LoRA rank 32, checkpointed, 4096 tokens, as a trace found it."""


def equal_blocks(
    num_blocks: int,
    *,
    weights: int,
    trained: int = 0,
    kept: int = 0,
    output: int = 0,
    working: int = 0,
    outside: int = 0,
) -> Footprint:
    """A model whose blocks are all alike; all sizes in bytes."""
    kind = BlockKind(
        part=Part(
            weights_bytes={"bfloat16": weights},
            trained_bytes=trained,
            gradient_bytes=trained,
            optimizer_bytes=2 * trained,
            paged_bytes=weights,
        ),
        output_bytes=output,
        kept_bytes=kept,
        forward_bytes=working,
        backward_bytes=working,
    )
    return Footprint(
        kinds=(kind,), kind_of_block=(0,) * num_blocks, outer=Outside(part=Part(weights_bytes={"bfloat16": outside}))
    )


RIGS_PEOPLE_OWN = (
    ("RTX 5080, RTX 4060 Ti 16GB x4", "split + swap", 1.29),
    ("2 x 3090", "split", 1.87),
    ("4090, 3090", "split + swap", 1.32),
    ("5090, 4090", "split", 1.66),
    ("2 x 4060 Ti 16GB", "split + swap", 1.88),
    ("4070 Ti SUPER, 3060 x4 gen3", "split + swap", 1.19),
)
"""Rigs, the way that is fastest for the Wan 2.1 14B shape with four micro-batches, and how much faster than the fastest
card alone if paging cost it nothing. Computed by hand before there was a planner."""
