"""What the user gives of each card, where that is not what we would take."""

from collections.abc import Sequence
from dataclasses import replace

from diffusionforce.errors import DeviceError
from diffusionforce.rig import GIB
from diffusionforce.ugpum.budget import Budget


def allowed(
    budgets: Sequence[Budget], *, reserve_gb: Sequence[float] = (), budget_gb: Sequence[float] = ()
) -> tuple[Budget, ...]:
    """Return the budgets as the user wants them.

    Args:
        budgets: What we would take, in the order of the job's devices.
        reserve_gb: Free memory that is left alone on each card, in units of 2^30 bytes; one number is for all cards,
            none leaves our own.
        budget_gb: The most that may be held on each card, likewise.

    Raises:
        DeviceError: There are several numbers, but not one for each card.
    """
    reserves = _for_each(reserve_gb, len(budgets), "memory.reserve_gb")
    limits = _for_each(budget_gb, len(budgets), "memory.budget_gb")
    return tuple(_allowed(*one) for one in zip(budgets, reserves, limits, strict=True))


def _for_each(values: Sequence[float], num_cards: int, name: str) -> Sequence[float | None]:
    if not values:
        return [None] * num_cards
    if len(values) == 1:
        return [values[0]] * num_cards
    if len(values) != num_cards:
        cards = "1 card" if num_cards == 1 else f"{num_cards} cards"
        raise DeviceError(
            f"{name} has {len(values)} numbers, but the training runs on {cards}.",
            hint="Write one number for each card, or one for all of them.",
        )
    return values


def _allowed(budget: Budget, reserve_gb: float | None, limit_gb: float | None) -> Budget:
    reserve_bytes = budget.reserve_bytes if reserve_gb is None else int(reserve_gb * GIB)
    if limit_gb is not None:
        reserve_bytes = max(reserve_bytes, budget.free_bytes - int(limit_gb * GIB))
    return replace(budget, reserve_bytes=reserve_bytes)
