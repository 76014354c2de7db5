"""What a split is judged by: measured seconds and bytes of the cards, the links and the model's blocks.

Datasheet rates say neither how fast a card runs this model's block nor what the slot on the mainboard delivers, and a
split chosen on wrong rates leaves the faster card waiting. So the numbers here are meant to be measured
(`calibration`), and everything else (the modelled step, the search, the sentences) is computed from them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from diffusionforce.errors import DeviceError


@dataclass(frozen=True, kw_only=True)
class CardCosts:
    """One card: its budget and what each block costs on it."""

    name: str
    """As the user knows it, for example "GPU 0 (RTX 5080)"."""
    budget_bytes: int
    """The most that training may use on this card."""
    fixed_bytes: int
    """Used whatever the split: driver context, the model outside the blocks, the working memory of one block."""
    forward_s: tuple[float, ...]
    """Seconds of one micro-batch's forward through each block."""
    backward_s: tuple[float, ...]
    """The same for the backward, recomputation included."""
    paging_bytes_per_s: float = 0.0
    """What the link from locked RAM to this card delivers. 0: nothing can be paged to this card."""

    @property
    def work_s(self) -> tuple[float, ...]:
        """Seconds of forward and backward together, a block."""
        return tuple(forward + back for forward, back in zip(self.forward_s, self.backward_s, strict=True))


@dataclass(frozen=True, kw_only=True)
class BlockSizes:
    """What one block takes, in bytes; one entry a block."""

    weights: tuple[int, ...]
    """Frozen weights: resident for good, or paged."""
    kept: tuple[int, ...]
    """Kept from the forward until the backward, for each micro-batch under way (under checkpointing: the input)."""
    attached: tuple[int, ...] = ()
    """Stays on the block's card whatever is paged: LoRA weights, gradients, optimiser state. Empty: nothing."""

    def attached_to(self, blocks: Iterable[int]) -> int:
        """What goes with these blocks, together."""
        return sum(self.attached[block] for block in blocks) if self.attached else 0


@dataclass(frozen=True, kw_only=True)
class RigCosts:
    """Everything the splitter knows."""

    cards: tuple[CardCosts, ...]
    """In the order of the stages. The first is home: prologue and tail run there."""
    blocks: BlockSizes
    crossing_s: tuple[tuple[float, ...], ...]
    """Seconds of one boundary crossing, [from card][to card]; 0 on the diagonal."""
    tail_s: float = 0.0
    """Seconds of head and loss, forward and backward together, for one micro-batch."""
    between_steps_s: float = 0.0
    """Optimiser step and what else happens while no block runs."""

    def __post_init__(self) -> None:
        counts = {len(self.blocks.weights), len(self.blocks.kept)}
        counts |= {len(card.forward_s) for card in self.cards} | {len(card.backward_s) for card in self.cards}
        if len(counts) != 1 or not self.cards:
            raise DeviceError(f"The measured costs are for different numbers of blocks ({sorted(counts)}).")
        if len(self.crossing_s) != len(self.cards) or any(len(row) != len(self.cards) for row in self.crossing_s):
            raise DeviceError(
                f"{len(self.cards)} cards need a {len(self.cards)} x {len(self.cards)} table of crossings."
            )

    @property
    def num_blocks(self) -> int:
        """Number of blocks of the model."""
        return len(self.blocks.weights)

    def limit_s(self, num_microbatches: int) -> float:
        """The step in which every card works all the time, at its own speed: no schedule can be faster."""
        speed = sum(self.num_blocks / sum(card.work_s) for card in self.cards)
        return num_microbatches * self.num_blocks / speed

    def only(self, card: int) -> "RigCosts":
        """The same model on one of the cards alone."""
        return replace(self, cards=(self.cards[card],), crossing_s=((0.0,),))

    def without_paging(self) -> "RigCosts":
        """The same rig with every block resident."""
        return replace(self, cards=tuple(replace(card, paging_bytes_per_s=0.0) for card in self.cards))


def equal_blocks(
    *,
    num_blocks: int,
    names: Sequence[str],
    budgets_bytes: Sequence[int],
    fixed_bytes: Sequence[int],
    block_s: Sequence[tuple[float, float]],
    paging_bytes_per_s: Sequence[float],
    weights_bytes: int,
    kept_bytes: int,
    crossing_s: float,
    attached_bytes: int = 0,
    tail_s: float = 0.0,
    between_steps_s: float = 0.0,
) -> RigCosts:
    """Costs of a model whose blocks are all alike, on cards given one entry each.

    Args:
        num_blocks: Number of blocks.
        names: The cards' names.
        budgets_bytes: See `CardCosts`.
        fixed_bytes: See `CardCosts`.
        block_s: (forward, backward) seconds of one block on each card.
        paging_bytes_per_s: See `CardCosts`.
        weights_bytes: Frozen weights of one block.
        kept_bytes: Kept by one block for each micro-batch under way.
        crossing_s: Seconds of one boundary crossing, the same in all directions.
        attached_bytes: What goes with a block and stays on its card.
        tail_s: See `RigCosts`.
        between_steps_s: See `RigCosts`.
    """
    cards = tuple(
        CardCosts(
            name=name,
            budget_bytes=budget,
            fixed_bytes=fixed,
            forward_s=(forward,) * num_blocks,
            backward_s=(back,) * num_blocks,
            paging_bytes_per_s=paging,
        )
        for name, budget, fixed, (forward, back), paging in zip(
            names, budgets_bytes, fixed_bytes, block_s, paging_bytes_per_s, strict=True
        )
    )
    one_for_each = range(len(cards))
    return RigCosts(
        cards=cards,
        blocks=BlockSizes(
            weights=(weights_bytes,) * num_blocks,
            kept=(kept_bytes,) * num_blocks,
            attached=(attached_bytes,) * num_blocks,
        ),
        crossing_s=tuple(tuple(0.0 if a == b else crossing_s for b in one_for_each) for a in one_for_each),
        tail_s=tail_s,
        between_steps_s=between_steps_s,
    )
