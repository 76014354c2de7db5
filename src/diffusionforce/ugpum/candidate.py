"""One way to train, and what the user insists on among all ways."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from diffusionforce.ugpum.estimate import Kind, Placing, Stage, Variant, spread
from diffusionforce.ugpum.forecast import Layout, Op

Mode = Literal["A", "B", "C"]

_CUT = re.compile(r",?\s*blocks\s+(\d+(?:\s*\+\s*\d+)+)\s*$")
"""How the words of a way say how many blocks each card gets."""


def cut_words(totals: Sequence[int]) -> str:
    """How many blocks each card gets, as the words of a way say it: `blocks 24 + 16`."""
    return f"blocks {' + '.join(map(str, totals))}"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One way to train, in its best placement.

    Attributes:
        kind: The way.
        variant: Number format and division of the batch.
        placing: Which card runs which blocks.
        stages: What each used card gets, in the order of `placing.cards`.
        step_s: Predicted step.
        num_aside: For each used card the blocks that step aside while samples are made; None if samples do not fit.
        ram_bytes: RAM for blocks that live or step aside there.
        missing_ram_bytes: What RAM lacks.
        num_slots: Blocks that a card can hold for their turn, if it pages any, while samples are made too.
        is_asked_cut: Whether the user says how many blocks each card gets, rather than the planner.
        reason: Why it is recommended or not, in words.
    """

    kind: Kind
    variant: Variant
    placing: Placing
    stages: tuple[Stage, ...]
    step_s: float
    num_aside: tuple[int, ...] | None = None
    ram_bytes: int = 0
    missing_ram_bytes: int = 0
    num_slots: int = 3
    is_asked_cut: bool = False
    reason: str = ""

    @property
    def missing_bytes(self) -> int:
        """What the card that lacks most lacks."""
        return max(stage.missing_bytes for stage in self.stages)

    @property
    def fits(self) -> bool:
        """Whether training fits all cards and RAM."""
        return not self.missing_bytes and not self.missing_ram_bytes

    @property
    def mode(self) -> Mode:
        """A: all resident. B: some blocks always in RAM. C: some step aside while samples are made."""
        if any(stage.num_paged for stage in self.stages):
            return "B"
        return "C" if any(self.num_aside or ()) else "A"

    @property
    def rank(self) -> tuple[int, float, float]:
        """Smaller is better: what fits before what lacks, then the step, then how much the busiest card does in it.

        Where the processor sets the pace, the step is as long in many ways.
        """
        return self.missing_bytes + self.missing_ram_bytes, self.step_s, max(stage.busy_s for stage in self.stages)

    @property
    def paged(self) -> frozenset[int]:
        """The blocks that live in RAM, spread evenly among each card's, so that each has others to hide behind."""
        return frozenset[int]().union(
            *(spread(self.placing.blocks_of(rank), stage.num_paged) for rank, stage in enumerate(self.stages))
        )

    def layout(self, order: Sequence[Op]) -> Layout:
        """The placement for a forecast.

        Args:
            order: A schedule for `placing.card_of_chunk`, in issue order.
        """
        slots = {card: stage.num_slots for card, stage in zip(self.placing.cards, self.stages, strict=True)}
        num_cards = max(self.placing.cards) + 1
        return Layout(
            chunk_sizes=self.placing.chunk_sizes,
            card_of_chunk=self.placing.card_of_chunk,
            order=order,
            paged=self.paged,
            num_slots=tuple(slots.get(card, 0) for card in range(num_cards)),
            num_cards=num_cards,
            home=self.placing.cards[0],
        )

    @property
    def words(self) -> str:
        """The way in words."""
        micro = self.variant.num_microbatches
        on = f" on {self.stages[0].label}" if len(self.stages) == 1 else ""
        way = f"{self.kind}{on}, {self.variant.weights} weights, {micro} micro-batch{'es' if micro > 1 else ''}"
        return f"{way}, {cut_words(self.placing.totals)}" if self.is_asked_cut else way

    def is_called(self, text: str) -> bool:
        """Whether a text names this way: its words, or a beginning of them that ends where a word does."""
        words, text = self.words.lower(), " ".join(text.lower().split())
        return words == text or words.startswith((f"{text},", f"{text} on "))


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the user insists on; None leaves the choice to the planner.

    Attributes:
        kinds: Ways.
        weights: Number formats.
        num_microbatches: Divisions of the batch.
        way: One way, by its number in the list of all ways or by the beginning of its words; empty names none. With
            `, blocks 24 + 16` at its end it also says how many blocks each card gets.
        preferred: Ways that are taken where they fit, fastest or not.
        because: Why what is faster is not taken, to be read after "but" and after "because".
    """

    kinds: frozenset[Kind] | None = None
    weights: frozenset[str] | None = None
    num_microbatches: frozenset[int] | None = None
    way: str = ""
    preferred: frozenset[Kind] = frozenset()
    because: str = "is not what was asked for"

    @property
    def totals(self) -> tuple[int, ...]:
        """Blocks of each card where the way says so; empty where the planner cuts the model."""
        found = _CUT.search(self.way)
        return tuple(map(int, found[1].split("+"))) if found else ()

    def allows(self, candidate: Candidate, *, number: int = 0) -> bool:
        """Whether a candidate is one that the user would take.

        Args:
            candidate: A way.
            number: Its number in the list of all ways, from 1.
        """
        if candidate.is_asked_cut:
            named = _CUT.sub("", self.way)
            return candidate.placing.totals == self.totals and (not named or candidate.is_called(named))
        if self.totals:
            return False
        if self.way:
            return self.way == str(number) or (not self.way.isdigit() and candidate.is_called(self.way))
        return (
            (self.kinds is None or candidate.kind in self.kinds)
            and (self.weights is None or candidate.variant.weights in self.weights)
            and (self.num_microbatches is None or candidate.variant.num_microbatches in self.num_microbatches)
        )
