"""Where samples become pictures: on the card with most room, which blocks that step aside make larger if need be.

On a processor a video of a second takes minutes to decode, and a second on a card, but a card takes gigabytes for it.
While samples are made nothing is kept for a backward pass, so there is more room then than a step leaves.
"""

import math
from dataclasses import dataclass

import torch

from diffusionforce.engines.musubi.families import Family
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.job import Profile
from diffusionforce.pipeline.placement import Placement

_OTHER_BYTES_A_PIXEL = 4 << 10
_VIDEO_BYTES_A_PIXEL = {"wan_train_network": 10_700}
"""What decoding holds for each pixel of a frame, traced from the engine's class (9780) with room for what convolutions
work in: it goes from frame to frame and keeps what the next ones need."""


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """Where samples are decoded."""

    device: torch.device
    num_aside: tuple[int, ...]
    """For each device the blocks that step aside while samples are made."""


def decoding_of(family: Family, profile: Profile, placement: Placement, plan: RunPlan | None) -> Decoding:
    """Decide where samples are decoded.

    Args:
        family: The model.
        profile: How large samples are.
        placement: Where the model's blocks are.
        plan: The run's plan. None: nothing is known of room, and the last device has most, for home holds more.
    """
    if plan is None:
        return Decoding(device=placement.devices[-1], num_aside=())
    usual = tuple(one.num_aside for one in plan.devices)
    needed_bytes = decoding_bytes(family, profile)
    stages = [stage for stage, device in enumerate(placement.devices) if device.type == "cuda"]
    for stage in sorted(stages, key=lambda stage: -_room_bytes(plan.devices[stage])):
        more = _more_aside(family, plan, stage, short_bytes=needed_bytes - _room_bytes(plan.devices[stage]))
        num_resident = len(set(placement.blocks_of_stage(stage)) - plan.paged)
        if usual[stage] + more <= num_resident:
            num_aside = tuple(num + (more if index == stage else 0) for index, num in enumerate(usual))
            return Decoding(device=placement.devices[stage], num_aside=num_aside)
    return Decoding(device=torch.device("cpu"), num_aside=usual)


def decoding_bytes(family: Family, profile: Profile) -> int:
    """About what turning a sample into a picture or video holds, the autoencoder's weights included."""
    samples = profile.samples
    is_video = samples.num_frames > 1 and family.makes == "videos"
    each = _VIDEO_BYTES_A_PIXEL.get(family.trainer.train, _OTHER_BYTES_A_PIXEL) if is_video else _OTHER_BYTES_A_PIXEL
    weights_gib = sum(file.gib for file in family.files if file.role == "vae")
    return samples.width * samples.height * each + int(weights_gib * 2**30)


def _room_bytes(device: DevicePlan) -> int:
    """What a card has beside what the model holds while samples are made."""
    held = device.planned_sampling_bytes if device.planned_sampling_bytes is not None else device.planned_bytes
    return (device.budget_bytes or device.total_bytes) - (held or 0)


def _more_aside(family: Family, plan: RunPlan, stage: int, *, short_bytes: int) -> int:
    """Blocks that would make room for what a card is short of."""
    if short_bytes <= 0:
        return 0
    num_bytes = 1 if plan.weights == "fp8" else 2
    block_bytes = int(min(blocks.million_parameters for blocks in family.blocks) * 1e6) * num_bytes
    is_paging = plan.devices[stage].num_aside or plan.paged
    slots_bytes = 0 if is_paging else plan.devices[stage].num_slots * block_bytes
    return math.ceil((short_bytes + slots_bytes) / block_bytes)
