"""The budget of each card, made binding.

On Windows a program that asks for more than a card has gets RAM in its place, without an error, and every step that
touches it is many times slower. The allocator's own limit turns that into an error at once, and makes a large card
behave like a small one.
"""

from collections.abc import Iterable

import torch

from diffusionforce.engines.plans import DevicePlan
from diffusionforce.errors import DeviceError


def enforce(devices: Iterable[DevicePlan]) -> None:
    """Let the allocator refuse what is over a card's budget.

    Args:
        devices: Cards with their budgets; devices that are no cards, or have no budget, are left as they are.

    Raises:
        DeviceError: A card has nothing to give.
    """
    for plan in devices:
        device = torch.device(plan.device)
        if plan.budget_bytes is None or device.type != "cuda":
            continue
        if plan.budget_bytes <= 0:
            raise DeviceError(
                f"{plan.label} has no memory to give to a training.",
                hint="Close other programs, or keep less back under memory.reserve_gb.",
            )
        # The driver counts a little more than PyTorch does as the card's whole memory.
        whole_bytes = torch.cuda.get_device_properties(device).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, plan.budget_bytes / whole_bytes), device)
