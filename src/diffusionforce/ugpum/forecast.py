"""The peak memory of every card in a step, walked through in the order in which the step runs.

Which moment is the fullest depends on everything at once: on where the blocks lie, on how many micro-batches wait
between their forward and their backward, on when gradients first exist, on the buffers of what crosses. So the whole
step is walked through, operation by operation and block by block, with what a trace found for each kind of block, and
the fullest moment of each card is kept, sorted by what the memory is for.

What the walk takes for granted about whoever runs the step: a boundary tensor starts its way as soon as it exists, but
the model's own variables hold it where it was made until the next chunk's first block has run; the tail runs as soon as
the last chunk's forward is done; an incoming gradient is held until its chunk's backward is over.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from diffusionforce.ugpum.footprint import BlockKind, Footprint

Op = tuple[str, int, int]
"""("F" or "B", chunk, micro-batch): one operation of a schedule."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where the blocks lie and in which order a step runs.

    Attributes:
        chunk_sizes: Blocks of each chunk.
        card_of_chunk: The card of each chunk, counted from 0. Card `home` also has everything outside the blocks.
        order: The operations of a step in the order in which they are issued.
        paged: Blocks that live in RAM.
        num_slots: Blocks that each card can hold for their turn; 0 where it pages none.
        num_cards: Number of cards.
        home: The card of the prologue and the tail.
    """

    chunk_sizes: tuple[int, ...]
    card_of_chunk: tuple[int, ...]
    order: Sequence[Op]
    paged: frozenset[int] = frozenset()
    num_slots: tuple[int, ...] = ()
    num_cards: int = 0
    home: int = 0

    @property
    def chunks(self) -> tuple[range, ...]:
        """The block indices of each chunk."""
        ends = [sum(self.chunk_sizes[: index + 1]) for index in range(len(self.chunk_sizes))]
        return tuple(range(end - size, end) for end, size in zip(ends, self.chunk_sizes, strict=True))

    @property
    def cards(self) -> range:
        """All cards."""
        return range(max(self.num_cards, self.home + 1, max(self.card_of_chunk) + 1))

    def blocks_of(self, card: int) -> tuple[int, ...]:
        """The blocks of a card."""
        pairs = zip(self.chunks, self.card_of_chunk, strict=True)
        return tuple(block for chunk, owner in pairs if owner == card for block in chunk)


@dataclass(frozen=True, kw_only=True)
class CardForecast:
    """One card at its fullest moment; what the parts add up to is what the allocator has handed out then.

    Attributes:
        weights_bytes: Resident frozen weights.
        trained_bytes: Trained parameters, the LoRA.
        optimizer_bytes: The optimiser's state.
        gradient_bytes: Gradients that exist at that moment.
        activation_bytes: Held between operations: activations, boundaries, batches.
        temporary_bytes: What the operation under way takes for a moment.
        paging_bytes: Slots for paged blocks.
        constant_bytes: Workspaces of the libraries.
        phase: When it is: `prologue`, `forward`, `tail`, `backward`, `optimizer` or `idle`.
    """

    weights_bytes: int
    trained_bytes: int
    optimizer_bytes: int
    gradient_bytes: int
    activation_bytes: int
    temporary_bytes: int
    paging_bytes: int
    constant_bytes: int
    phase: str

    @property
    def peak_bytes(self) -> int:
        """Everything together."""
        return (
            self.weights_bytes
            + self.trained_bytes
            + self.optimizer_bytes
            + self.gradient_bytes
            + self.activation_bytes
            + self.temporary_bytes
            + self.paging_bytes
            + self.constant_bytes
        )


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """All cards, and RAM.

    Attributes:
        cards: Every card's fullest moment.
        ram_bytes: Page-locked RAM for paged blocks.
    """

    cards: tuple[CardForecast, ...]
    ram_bytes: int

    @property
    def peak_bytes(self) -> tuple[int, ...]:
        """Every card's peak."""
        return tuple(card.peak_bytes for card in self.cards)


def forecast_training(footprint: Footprint, layout: Layout, *, constant_bytes: Sequence[int] = ()) -> Forecast:
    """Forecast a training step in a steady run, in which the optimiser's state exists.

    Args:
        footprint: The model.
        layout: The plan.
        constant_bytes: Workspaces of the libraries on each card; none if left out.

    Raises:
        ValueError: The layout is for another number of blocks.
    """
    walk = _Walk(footprint, layout, constant_bytes)
    num_microbatches = len({op[2] for op in layout.order})
    walk.hold(layout.home, num_microbatches * footprint.outer.batch_bytes)
    for kind, chunk, microbatch in layout.order:
        if kind == "F":
            walk.forward(chunk, microbatch)
        else:
            walk.backward(chunk, microbatch)
    for card in layout.cards:
        step_bytes = footprint.optimizer.fixed_bytes + footprint.optimizer.share * walk.resting[card].trained_bytes
        walk.touch(card, round(step_bytes), "optimizer")
    return walk.result()


def forecast_sampling(
    footprint: Footprint,
    layout: Layout,
    *,
    training: Footprint | None = None,
    constant_bytes: Sequence[int] = (),
) -> Forecast:
    """Forecast one evaluation of the model without gradients; the layout's order is not used.

    Args:
        footprint: The model, traced without gradients.
        layout: The plan.
        training: The same model as it is trained, if a training is under way: its optimiser's state stays.
        constant_bytes: Workspaces of the libraries on each card; none if left out.

    Raises:
        ValueError: The layout is for another number of blocks.
    """
    walk = _Walk(footprint, layout, constant_bytes)
    if training is not None:
        state = _Walk(training, layout, constant_bytes).resting
        walk.resting = [replace(card, optimizer_bytes=state[i].optimizer_bytes) for i, card in enumerate(walk.resting)]
    walk.hold(layout.home, footprint.outer.batch_bytes)
    for chunk in range(len(layout.chunk_sizes)):
        walk.forward(chunk, 0)
    return walk.result()


class _Moment(NamedTuple):
    """What comes and goes on a card."""

    held_bytes: int
    gradient_bytes: int
    temporary_bytes: int
    phase: str

    @property
    def sum_bytes(self) -> int:
        return self.held_bytes + self.gradient_bytes + self.temporary_bytes


@dataclass
class _Walk:
    """The memory of all cards while a step goes on."""

    footprint: Footprint
    layout: Layout
    constant_bytes: Sequence[int]
    resting: list[CardForecast] = field(init=False)

    def __post_init__(self) -> None:
        self._blocks = self.footprint.blocks
        if sum(self.layout.chunk_sizes) != len(self._blocks):
            raise ValueError(
                f"the layout has {sum(self.layout.chunk_sizes)} blocks, but the model has {len(self._blocks)}"
            )
        cards = self.layout.cards
        self._chunks = self.layout.chunks
        self._held = [0 for _ in cards]
        self._gradients = [0 for _ in cards]
        self._with_gradient: set[int] = set()
        self._lowest = {card: chunk for chunk, card in reversed(list(enumerate(self.layout.card_of_chunk)))}
        self._shared: set[tuple[int, int]] = set()
        self.resting = [self._at_rest(card) for card in cards]
        self._fullest = [_Moment(0, 0, 0, "idle") for _ in cards]

    def hold(self, card: int, num_bytes: int) -> None:
        """Take memory on a card for longer, or give it up where negative."""
        self._held[card] += num_bytes
        if num_bytes > 0:
            self.touch(card, 0, "idle")

    def touch(self, card: int, temporary_bytes: int, phase: str) -> None:
        """Take memory for a moment."""
        now = _Moment(self._held[card], self._gradients[card], temporary_bytes, phase)
        if now.sum_bytes > self._fullest[card].sum_bytes:
            self._fullest[card] = now

    def forward(self, chunk: int, microbatch: int) -> None:
        """Run a chunk's forward and send its result on."""
        card, home, outer = self.layout.card_of_chunk[chunk], self.layout.home, self.footprint.outer
        if chunk == 0:
            self.touch(home, outer.prologue_bytes, "prologue")
            self.hold(home, outer.prologue_kept_bytes)
            self._send(home, card, self._input_bytes(0))
        if card != home and (card, microbatch) not in self._shared:
            self._shared.add((card, microbatch))
            self.hold(card, outer.shared_bytes)
        sender = self.layout.card_of_chunk[chunk - 1] if chunk else home
        for number, block in enumerate(self._chunks[chunk]):
            self.touch(card, self._blocks[block].forward_bytes, "forward")
            self.hold(card, self._blocks[block].kept_bytes)
            if number == 0 and sender != card:
                self.hold(sender, -self._input_bytes(chunk))
        output_bytes = self._last_of(chunk).output_bytes
        if chunk + 1 < len(self._chunks):
            self._send(card, self.layout.card_of_chunk[chunk + 1], output_bytes)
            return
        self._move(card, home, output_bytes)
        self.touch(home, outer.tail_bytes, "tail")
        self._move(home, card, output_bytes)

    def backward(self, chunk: int, microbatch: int) -> None:
        """Run a chunk's backward and send the gradient of its input back."""
        card, home, outer = self.layout.card_of_chunk[chunk], self.layout.home, self.footprint.outer
        arrived_bytes = self._last_of(chunk).output_bytes
        for number, block in enumerate(reversed(self._chunks[chunk])):
            if number == 1:
                self.hold(card, arrived_bytes)
            self.touch(card, self._blocks[block].backward_bytes, "backward")
            self.hold(card, -self._blocks[block].kept_bytes)
            if block not in self._with_gradient:
                self._with_gradient.add(block)
                self._gradients[card] += self._blocks[block].part.gradient_bytes
        if len(self._chunks[chunk]) > 1:
            self.hold(card, -arrived_bytes)
        if card != home and self._lowest[card] == chunk:
            self.hold(card, -outer.shared_bytes)
        before = self.layout.card_of_chunk[chunk - 1] if chunk else home
        self._move(card, before, self._input_bytes(chunk))
        if chunk == 0:
            self.hold(home, -outer.prologue_kept_bytes)
            if -1 not in self._with_gradient:
                self._with_gradient.add(-1)
                self._gradients[home] += outer.part.gradient_bytes

    def result(self) -> Forecast:
        """The fullest moments."""
        ram = sum(self._blocks[block].part.paged_bytes for block in self.layout.paged)
        cards = (
            replace(
                rest,
                gradient_bytes=moment.gradient_bytes,
                activation_bytes=moment.held_bytes,
                temporary_bytes=moment.temporary_bytes,
                phase=moment.phase,
            )
            for rest, moment in zip(self.resting, self._fullest, strict=True)
        )
        return Forecast(cards=tuple(cards), ram_bytes=ram)

    def _send(self, source: int, destination: int, num_bytes: int) -> None:
        if source != destination:
            self.hold(destination, num_bytes)

    def _move(self, source: int, destination: int, num_bytes: int) -> None:
        if source != destination:
            self.hold(destination, num_bytes)
            self.hold(source, -num_bytes)

    def _input_bytes(self, chunk: int) -> int:
        """What a chunk takes in. The first block's input is of the size of its output."""
        first = self._chunks[chunk][0]
        return self._blocks[max(0, first - 1)].output_bytes

    def _last_of(self, chunk: int) -> BlockKind:
        return self._blocks[self._chunks[chunk][-1]]

    def _at_rest(self, card: int) -> CardForecast:
        mine = self.layout.blocks_of(card)
        parts = [self._blocks[block].part for block in mine]
        resident = [self._blocks[block].part for block in mine if block not in self.layout.paged]
        paged = [self._blocks[block].part.paged_bytes for block in mine if block in self.layout.paged]
        if card == self.layout.home:
            parts, resident = [*parts, self.footprint.outer.part], [*resident, self.footprint.outer.part]
        num_slots = self.layout.num_slots[card] if paged and self.layout.num_slots else 0
        return CardForecast(
            weights_bytes=sum(sum(part.weights_bytes.values()) for part in resident),
            trained_bytes=sum(part.trained_bytes for part in parts),
            optimizer_bytes=sum(part.optimizer_bytes for part in parts),
            gradient_bytes=0,
            activation_bytes=0,
            temporary_bytes=0,
            paging_bytes=num_slots * max(paged, default=0),
            constant_bytes=self.constant_bytes[card] if self.constant_bytes else 0,
            phase="idle",
        )
