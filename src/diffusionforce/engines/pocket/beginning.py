"""What comes before the first step: a job looked at, the model brought to its devices, and its LoRA put on."""

from collections.abc import Callable

import torch

from diffusionforce.engines.plans import RunPlan
from diffusionforce.engines.pocket.devices import (
    choose_devices,
    even_placement_over,
    place,
    placed_devices,
    planned_placement,
)
from diffusionforce.engines.pocket.files import FAMILY, weights_path
from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.engines.pocket.microbatches import InTurn, Pipelined
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.stepper import stream_seed
from diffusionforce.engines.pocket.weights import check_weights
from diffusionforce.errors import ProfileError
from diffusionforce.job import Job, Profile
from diffusionforce.pipeline.placement import Placement
from diffusionforce.runs import require_resumable
from diffusionforce.wire import Message, Placed, Preparing


def check_job(job: Job) -> None:
    """Refuse a job that cannot run, before anything is written.

    Raises:
        UserError: What is missing or wrong.
    """
    profile = job.profile
    _require(profile.model.family == FAMILY, "model.family", profile.model.family, FAMILY)
    sampling = profile.training.timestep_sampling
    _require(sampling == "logit_normal", "training.timestep_sampling", sampling, "logit_normal")
    _require(profile.samples.num_frames == 1, "samples.num_frames", profile.samples.num_frames, "1 (pictures)")
    _require(not profile.training.cuda_graphs, "training.cuda_graphs", True, "false")
    config = check_weights(weights_path(job))
    rank = profile.lora.rank
    _require(rank <= config.width, "lora.rank", rank, f"{config.width} or less, the width of the model")
    choose_devices(profile.devices.use, num_blocks=config.num_blocks)
    require_resumable(job)


def place_model(
    transformer: PocketTransformer, job: Job, *, plan: RunPlan | None, announce: Callable[[Message], None]
) -> Placement:
    """Bring the model to the devices of a run.

    Args:
        transformer: The model, moved in place.
        job: Names the devices.
        plan: Where the blocks go; None spreads them evenly.
        announce: Told what lies where.

    Raises:
        DeviceError: A device is not there, or a tensor did not arrive on it.
    """
    if plan is not None:
        placement = planned_placement(plan)
    else:
        devices = choose_devices(job.profile.devices.use, num_blocks=len(transformer.blocks))
        placement = even_placement_over(devices, num_blocks=len(transformer.blocks))
    place(transformer, placement)
    announce(Preparing(stage="model", done=1, total=1))
    announce(
        Placed(
            devices=placed_devices(transformer, placement),
            num_blocks=placement.num_blocks,
            schedule=InTurn.schedule if len(placement.devices) == 1 else Pipelined.schedule,
        )
    )
    return placement


def attach_lora(transformer: PocketTransformer, profile: Profile) -> Lora:
    """Put a fresh LoRA on a model that is on its devices; random numbers are the profile's from here on."""
    settings, seed = profile.lora, profile.training.seed
    # Dropout alone draws from PyTorch's own generators, so that recomputing a block drops the same inputs again.
    torch.manual_seed(stream_seed(seed, "dropout"))
    return Lora.attach(
        transformer,
        rank=settings.rank,
        alpha=settings.alpha,
        dropout=settings.dropout,
        seed=stream_seed(seed, "lora"),
    )


def _require(holds: bool, field: str, value: object, allowed: str) -> None:
    if not holds:
        raise ProfileError(
            f"The pocket engine cannot use {field} = {value!r}.", hint=f"Write {allowed}, or choose another profile."
        )
