"""The memory of blocks that are replayed from captured graphs, from that of the same blocks recomputed.

A captured block works in memory of its own, which the allocator holds and does not count as handed out. What counts is
what goes in and out: buffers that all graphs of a card share, and the copies that a replay leaves behind.
"""

from dataclasses import dataclass, replace

from diffusionforce.ugpum.footprint import BlockKind, Footprint
from diffusionforce.ugpum.forecast import Layout

_NUM_BOUNDARY_BUFFERS = 4
"""Input, output, and the gradients of both."""


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """A model whose blocks are replayed."""

    footprint: Footprint
    buffers_bytes: int
    """What all graphs of a card share; handed out like tensors."""
    pool_bytes: int
    """What they work in; held by the allocator beside what is handed out."""

    def held(self, layout: Layout, num_cards: int) -> tuple[int, ...]:
        """Shared buffers and what the graphs work in, on each card of a rig.

        Blocks that are paged are not captured: a graph knows addresses, and theirs change.

        Args:
            layout: The plan.
            num_cards: Cards of the rig; those without captured blocks hold nothing.
        """
        captured = {card for card in layout.cards if set(layout.blocks_of(card)) - layout.paged}
        both_bytes = self.buffers_bytes + self.pool_bytes
        return tuple(both_bytes if card in captured else 0 for card in range(num_cards))

    def constants(self, layout: Layout) -> tuple[int, ...]:
        """The shared buffers on each card."""
        used = set(layout.card_of_chunk)
        return tuple(self.buffers_bytes if card in used else 0 for card in layout.cards)


def replayed(footprint: Footprint) -> Replayed:
    """Describe a model as captured graphs run it.

    Args:
        footprint: The model with its blocks recomputed.
    """
    output_bytes = max(kind.output_bytes for kind in footprint.kinds)
    gradient_bytes = max(kind.part.gradient_bytes for kind in footprint.kinds)
    return Replayed(
        footprint=replace(footprint, kinds=tuple(map(_replayed, footprint.kinds))),
        buffers_bytes=_NUM_BOUNDARY_BUFFERS * output_bytes + footprint.outer.shared_bytes + gradient_bytes,
        pool_bytes=max(max(kind.forward_bytes, kind.backward_bytes) for kind in footprint.kinds),
    )


def _replayed(kind: BlockKind) -> BlockKind:
    return replace(kind, forward_bytes=kind.output_bytes, backward_bytes=kind.part.gradient_bytes + kind.output_bytes)
