"""What the planner needs to know of a rig: of one that is here from its budgets, of one that is not from the catalogue.

Datasheets say how fast a card multiplies, how fast its memory is and how wide its link. With the operations and bytes
that a trace counted they give the seconds of a block; what stays unknown (clocks under load, the slot on the mainboard)
is why a rig that is here is measured instead.
"""

from collections.abc import Sequence

from diffusionforce.ugpum.budget import Budget, reserve_bytes
from diffusionforce.ugpum.catalogue import CatalogueCard
from diffusionforce.ugpum.estimate import PlanCard, Variant
from diffusionforce.ugpum.footprint import CardRates, Footprint

# PyTorch gives cuBLAS a workspace for each thread and stream: 32 MiB on Hopper, 8.1 MiB on other cards. The thread that
# runs forwards and the one that runs backwards have one each.
_WORKSPACE_BYTES = 8_519_680
_HOPPER_WORKSPACE_BYTES = 32 << 20
_HOPPER = 9
NUM_WORKSPACES = 2


def workspace_bytes(compute_capability: tuple[int, int] | None) -> int:
    """What the libraries' workspaces take of the memory that the allocator hands out.

    Args:
        compute_capability: Generation of the chip; None where it is not known.
    """
    is_hopper = compute_capability is not None and compute_capability[0] == _HOPPER
    return NUM_WORKSPACES * (_HOPPER_WORKSPACE_BYTES if is_hopper else _WORKSPACE_BYTES)


def cards_here(
    budgets: Sequence[Budget],
    *,
    link_bytes_per_s: Sequence[float],
    constant_bytes: Sequence[int],
) -> tuple[PlanCard, ...]:
    """The cards of this rig.

    Args:
        budgets: What each gives.
        link_bytes_per_s: What each card's link from RAM was measured to deliver; 0 where nothing is to be paged.
        constant_bytes: Each card's workspaces, see `workspace_bytes`, or as measured.
    """
    return tuple(
        PlanCard(
            label=budget.label,
            budget_bytes=budget.usable_bytes,
            link_bytes_per_s=rate,
            constant_bytes=constant,
            freeable_bytes=budget.total_bytes - budget.free_bytes,
        )
        for budget, rate, constant in zip(budgets, link_bytes_per_s, constant_bytes, strict=True)
    )


def imagined_cards(cards: Sequence[CatalogueCard], *, display_on: int | None = 0) -> tuple[PlanCard, ...]:
    """The cards of a rig out of the catalogue, with nothing else on them than the desktop.

    Args:
        cards: The cards.
        display_on: The card with the screen; None if there is no screen.
    """
    return tuple(
        PlanCard(
            label=f"GPU {index} ({card.name})",
            budget_bytes=card.memory_bytes - reserve_bytes(card.memory_bytes, display_attached=index == display_on),
            link_bytes_per_s=card.link_bytes_per_s,
            constant_bytes=workspace_bytes((9, 0) if card.name.startswith("H") else None),
        )
        for index, card in enumerate(cards)
    )


def imagined_variant(
    footprint: Footprint,
    cards: Sequence[CatalogueCard],
    *,
    weights: str,
    num_microbatches: int,
    sampling: Footprint | None = None,
) -> Variant:
    """A variant timed by the catalogue.

    Args:
        footprint: The model, traced for one micro-batch.
        cards: The cards of the rig.
        weights: Number format of the frozen weights, for people.
        num_microbatches: Micro-batches of a step.
        sampling: What making a sample needs; None where no samples are made.
    """
    return rated_variant(
        footprint,
        rates=[card.reached for card in cards],
        link_bytes_per_s=[card.link_bytes_per_s for card in cards],
        weights=weights,
        num_microbatches=num_microbatches,
        sampling=sampling,
    )


def rated_variant(
    footprint: Footprint,
    *,
    rates: Sequence[CardRates],
    link_bytes_per_s: Sequence[float],
    weights: str,
    num_microbatches: int,
    sampling: Footprint | None = None,
) -> Variant:
    """A variant timed by rates.

    Args:
        footprint: The model, traced for one micro-batch.
        rates: What each card reaches.
        link_bytes_per_s: What each card's link delivers; 0 where it is not known.
        weights: Number format of the frozen weights, for people.
        num_microbatches: Micro-batches of a step.
        sampling: What making a sample needs; None where no samples are made.
    """
    boundary_bytes = max(block.output_bytes for block in footprint.blocks)
    slowest_link = min(link_bytes_per_s)
    return Variant(
        weights=weights,
        num_microbatches=num_microbatches,
        footprint=footprint,
        block_s=tuple(map(footprint.blocks_s, rates)),
        crossing_s=boundary_bytes / slowest_link if slowest_link else 0.0,
        tail_s=footprint.outer.flops / rates[0].flops,
        sampling=sampling,
    )
