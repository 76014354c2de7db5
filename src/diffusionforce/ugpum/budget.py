"""How much memory of each card a training may use.

All that is free at launch would be too much: the driver, the desktop and the allocator's own leftovers need room
while training goes on, and Windows quietly moves memory to RAM when a card is full, which slows a step down many
times without an error. So a reserve is kept back, and what is left is the card's budget, which the trainer enforces.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from diffusionforce.rig import GIB, Card, in_gb, label

# CUDA's context and kernels take about half of the fixed part; larger cards run larger kernels and workspaces.
RESERVE_BYTES = GIB
RESERVE_SHARE = 0.02
# A desktop with a browser moves about this much in and out while somebody works on it.
DISPLAY_RESERVE_BYTES = GIB // 2


RAM_RESERVE_BYTES = 2 * GIB
RAM_RESERVE_SHARE = 0.05
# Locked memory cannot be swapped out, so all of it would leave the system none to breathe. Windows grants half.
LOCKABLE_SHARE, LOCKABLE_SHARE_ON_WINDOWS = 0.75, 0.5


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What one card gives to a training.

    Attributes:
        device: Name of the device, for example `cuda:0`.
        label: Name for people, for example `GPU 0 (RTX 4060 Ti)`.
        total_bytes: Memory of the card.
        free_bytes: Memory that nobody held at launch.
        reserve_bytes: Part of the free memory that is kept back.
    """

    device: str
    label: str
    total_bytes: int
    free_bytes: int
    reserve_bytes: int

    @property
    def usable_bytes(self) -> int:
        """What the training may hold on this card."""
        return max(0, self.free_bytes - self.reserve_bytes)

    @property
    def fraction(self) -> float:
        """The usable part of the card's whole memory, 0 to 1, as allocators want their limit."""
        return self.usable_bytes / self.total_bytes


@dataclass(frozen=True, kw_only=True)
class Shortfall:
    """What a plan lacks on one card.

    Attributes:
        budget: The card and what it gives.
        needed_bytes: What the plan needs there.
    """

    budget: Budget
    needed_bytes: int

    @property
    def missing_bytes(self) -> int:
        """What the plan needs beyond the budget."""
        return self.needed_bytes - self.budget.usable_bytes

    @property
    def can_be_freed(self) -> bool:
        """Whether closing other programs could make enough room on this card."""
        held_by_others_bytes = self.budget.total_bytes - self.budget.free_bytes
        return self.missing_bytes <= held_by_others_bytes

    def __str__(self) -> str:
        missing = in_gb(self.missing_bytes)
        sentence = (
            f"This needs {missing} more on {self.budget.label}: {in_gb(self.needed_bytes)} of "
            f"{in_gb(self.budget.usable_bytes)} that are usable."
        )
        return f"{sentence} Free {missing} by closing other programs." if self.can_be_freed else sentence


def reserve_bytes(total_bytes: int, *, display_attached: bool) -> int:
    """Return how much of a card's free memory is kept back.

    Args:
        total_bytes: Memory of the card.
        display_attached: Whether a screen shows a desktop from it.
    """
    display_bytes = DISPLAY_RESERVE_BYTES if display_attached else 0
    return RESERVE_BYTES + int(total_bytes * RESERVE_SHARE) + display_bytes


def ram_reserve_bytes(total_bytes: int) -> int:
    """Return how much of the RAM that is available now stays so for everything else on the computer.

    Args:
        total_bytes: RAM of the computer.
    """
    return RAM_RESERVE_BYTES + int(total_bytes * RAM_RESERVE_SHARE)


def usable_ram_bytes(total_bytes: int, available_bytes: int, *, on_windows: bool) -> int:
    """Return how much RAM blocks may be locked in.

    Args:
        total_bytes: RAM of the computer.
        available_bytes: What of it a new program can have.
        on_windows: Whether the computer runs Windows.
    """
    share = LOCKABLE_SHARE_ON_WINDOWS if on_windows else LOCKABLE_SHARE
    return max(0, min(available_bytes - ram_reserve_bytes(total_bytes), int(total_bytes * share)))


def budgets(cards: Iterable[Card]) -> tuple[Budget, ...]:
    """Return the budget of each card, from what is free on it now.

    Args:
        cards: The cards, as the driver sees them; a card that does not tell about a screen is taken to have one.
    """
    return tuple(
        Budget(
            device=f"cuda:{card.index}",
            label=label(card),
            total_bytes=card.total_bytes,
            free_bytes=card.free_bytes,
            reserve_bytes=reserve_bytes(card.total_bytes, display_attached=card.display_attached is not False),
        )
        for card in cards
    )


def shortfalls(budgets: Sequence[Budget], *, needed_bytes: Mapping[str, int]) -> tuple[Shortfall, ...]:
    """Return what a plan lacks, card by card; empty when it fits.

    Args:
        budgets: What each card gives.
        needed_bytes: What the plan needs, by device name.

    Raises:
        KeyError: The plan uses a device that has no budget.
    """
    by_device = {budget.device: budget for budget in budgets}
    needs = [Shortfall(budget=by_device[device], needed_bytes=needed) for device, needed in needed_bytes.items()]
    return tuple(need for need in needs if need.missing_bytes > 0)
