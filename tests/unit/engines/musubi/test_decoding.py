"""Where samples are decoded: on a card with room, on one where blocks make room, or on the processor."""

import torch

from diffusionforce.engines.musubi.decoding import decoding_bytes, decoding_of
from diffusionforce.engines.musubi.families import find_family
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.job import Profile, builtin_profiles, changed, read_profile
from diffusionforce.pipeline.placement import Placement

GIB = 1 << 30
WAN = find_family("wan2.1-t2v-14b")


def profile(**settings: object) -> Profile:
    """Samples of 1024 x 1024."""
    values = {name.replace("__", "."): value for name, value in settings.items()}
    return changed(read_profile(builtin_profiles()["wan21-14b"]), values, origin="test")


def plan(*sampling_gib: float, budget_gib: float = 16, paged: frozenset[int] = frozenset()) -> RunPlan:
    """Two cards with ten blocks each."""
    return RunPlan(
        devices=tuple(
            DevicePlan(
                device=f"cuda:{index}",
                label=f"GPU {index}",
                budget_bytes=int(budget_gib * GIB),
                planned_bytes=int(15 * GIB),
                planned_sampling_bytes=int(gib * GIB),
            )
            for index, gib in enumerate(sampling_gib)
        ),
        chunk_sizes=(10, 10),
        stage_of_chunk=(0, 1),
        paged=paged,
        words="split, bf16 weights, 2 micro-batches",
    )


def placement_of(plan: RunPlan) -> Placement:
    """The plan's placement."""
    return Placement(
        devices=tuple(torch.device(one.device) for one in plan.devices),
        chunk_sizes=plan.chunk_sizes,
        stage_of_chunk=plan.stage_of_chunk,
    )


def test_a_picture_is_decoded_on_the_card_with_most_room() -> None:
    found = plan(9, 8)
    decoding = decoding_of(WAN, profile(samples__num_frames=1), placement_of(found), found)
    assert (str(decoding.device), decoding.num_aside) == ("cuda:1", (0, 0))


def test_blocks_step_aside_for_a_video_and_make_place_for_slots_first() -> None:
    settings = profile(samples__num_frames=9)
    block_bytes = 351.4e6 * 2
    resident, paging = plan(9, 11), plan(9, 11, paged=frozenset({0, 10}))
    decoding = decoding_of(WAN, settings, placement_of(resident), resident)
    paged = decoding_of(WAN, settings, placement_of(paging), paging)
    assert str(decoding.device) == str(paged.device) == "cuda:0"
    short_bytes = decoding_bytes(WAN, settings) - 7 * GIB
    assert paged.num_aside == (-int(-short_bytes // block_bytes), 0)
    assert decoding.num_aside == (paged.num_aside[0] + 3, 0)


def test_the_processor_decodes_where_no_card_can_make_room() -> None:
    found = plan(10, 11, paged=frozenset(range(1, 10)) | frozenset(range(11, 20)))
    decoding = decoding_of(WAN, profile(samples__num_frames=9), placement_of(found), found)
    assert (str(decoding.device), decoding.num_aside) == ("cpu", (0, 0))


def test_without_a_plan_the_last_device_decodes() -> None:
    found = plan(1, 1)
    assert str(decoding_of(WAN, profile(), placement_of(found), None).device) == "cuda:1"
