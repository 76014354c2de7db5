"""Splits a model over unequal cards so that the step is shortest, and says in plain numbers why.

Balancing blocks by the cards' speeds is not enough. With one micro-batch the cards take turns whatever the split, and
the best is as much as fits on the fast card; with several, the schedule's idle ends count; and where the fair share of
the fast card does not fit its memory, the rest of that share can stay in RAM and be paged in under its own computing
(split + swap). So the splitter models the step of each candidate with the real schedule and the measured costs, and
takes the shortest that fits.

When nothing fits it refuses with what is missing on which card, and with ways out of which each has been computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.schedule.simulation import Timeline
from diffusionforce.pipeline.schedule.ticks import Op
from diffusionforce.pipeline.splitter.costs import RigCosts
from diffusionforce.pipeline.splitter.model import Share
from diffusionforce.pipeline.splitter.search import DEFAULT_SCHEDULES, Candidate, Search

DEFAULT_MAX_CHUNKS_PER_CARD = 10
"""With few micro-batches the idle ends of a step shrink up to about here; then crossings begin to cost."""


@dataclass(frozen=True, kw_only=True)
class Split:
    """A model's blocks on cards, and the step that this is predicted to give."""

    schedule: str
    chunk_sizes: tuple[int, ...]
    card_of_chunk: tuple[int, ...]
    """Index into the rig's cards, one a chunk."""
    order: tuple[Op, ...]
    """The step's ops in issue order."""
    num_microbatches: int
    shares: tuple[Share, ...]
    """One a card of the rig, also for a card that gets nothing."""
    timeline: Timeline
    """The modelled step; devices are named by their index into the rig's cards."""
    step_s: float
    limit_s: float
    """The step in which every card works all the time at its own speed."""
    alone_s: float | None
    """The predicted step of the fastest card alone, with paging if it needs it; None if it cannot hold the model."""

    @property
    def visits(self) -> tuple[list[int], ...]:
        """For each card the blocks in the order in which a step uses them: what the pager follows."""
        ends = [sum(self.chunk_sizes[: index + 1]) for index in range(len(self.chunk_sizes))]
        found: tuple[list[int], ...] = tuple([] for _ in self.shares)
        for op in self.order:
            chunk = range(ends[op.chunk] - self.chunk_sizes[op.chunk], ends[op.chunk])
            found[self.card_of_chunk[op.chunk]].extend(chunk if op.kind == "F" else reversed(chunk))
        return found

    @property
    def pages(self) -> bool:
        """Whether any card keeps blocks in RAM."""
        return any(share.paged for share in self.shares)

    def explain(self) -> list[str]:
        """The split in sentences, most important first."""
        lines = [_step_sentence(self)]
        lines += [_share_sentence(self, card) for card in range(len(self.shares))]
        if self.alone_s is not None and len(set(self.card_of_chunk)) > 1:
            lines.append(
                f"The fastest card alone would take {self.alone_s:.2f} s a step; together they are predicted to be "
                f"{self.alone_s / self.step_s:.2f} times as fast."
            )
        return lines


def choose_split(
    rig: RigCosts,
    *,
    num_microbatches: int,
    paging: bool = True,
    every_card: bool = False,
    max_chunks_per_card: int = DEFAULT_MAX_CHUNKS_PER_CARD,
    schedules: Sequence[str] = DEFAULT_SCHEDULES,
    alternatives: Mapping[str, RigCosts] | None = None,
) -> Split:
    """Find the split with the shortest predicted step.

    Args:
        rig: Measured costs of the cards and the model.
        num_microbatches: Micro-batches of a step.
        paging: Whether blocks may be kept in RAM.
        every_card: Give every card a block, also where fewer cards would be faster.
        max_chunks_per_card: The most chunks a card gets; more shrink the idle ends of a step and cross more often.
        schedules: Schedules to consider, out of `search.SCHEDULES`.
        alternatives: Other ways to train, in the user's words ("8-bit weights"), with the costs that they would have.
            Only used to offer ways out when nothing fits.

    Returns:
        The split. One card alone is among the candidates.

    Raises:
        DeviceError: Nothing fits; says what is missing on which card, and offers what would fit.
    """
    search = _Request(num_microbatches, max_chunks_per_card, tuple(schedules), every_card)
    best = search.best(rig if paging else rig.without_paging())
    if best.missing_bytes:
        raise _refusal(rig, best, search, paging=paging, alternatives=alternatives or {})
    alone = [search.alone(rig if paging else rig.without_paging(), card) for card in range(len(rig.cards))]
    return Split(
        schedule=best.schedule,
        chunk_sizes=best.cut.chunk_sizes,
        card_of_chunk=best.cut.card_of_chunk,
        order=best.cut.order,
        num_microbatches=num_microbatches,
        shares=best.shares,
        timeline=best.timeline,
        step_s=best.step_s,
        limit_s=rig.limit_s(num_microbatches),
        alone_s=min((one.step_s for one in alone if not one.missing_bytes), default=None),
    )


@dataclass(frozen=True)
class _Request:
    """What is asked of every search for one split."""

    num_microbatches: int
    max_chunks_per_card: int
    schedules: tuple[str, ...]
    every_card: bool

    def best(self, rig: RigCosts) -> Candidate:
        return self._search(rig).best()

    def alone(self, rig: RigCosts, card: int) -> Candidate:
        return self._search(rig).judge((rig.num_blocks,), (card,), num_steps=2)

    def with_fewer(self) -> "_Request | None":
        half = self.num_microbatches // 2
        return replace(self, num_microbatches=half) if half else None

    def _search(self, rig: RigCosts) -> Search:
        return Search(
            rig=rig,
            num_microbatches=self.num_microbatches,
            schedules=self.schedules,
            max_chunks_per_card=self.max_chunks_per_card,
            every_card=self.every_card,
        )


def _refusal(
    rig: RigCosts, closest: Candidate, request: _Request, *, paging: bool, alternatives: Mapping[str, RigCosts]
) -> DeviceError:
    short = max(closest.shares, key=lambda share: share.missing_bytes)
    missing = _gib_up(short.missing_bytes)
    ways = [f"free {missing} there"]
    if not paging and (swapped := _fitting(request, rig)):
        ways.append(f"split + swap (fits, {swapped.step_s:.1f} s a step)")
    for words, other in alternatives.items():
        if fitting := _fitting(request, other if paging else other.without_paging()):
            ways.append(f"{words} (fits, {fitting.step_s:.1f} s a step)")
        elif not paging and (fitting := _fitting(request, other)):
            ways.append(f"{words} with split + swap (fits, {fitting.step_s:.1f} s a step)")
    fewer = request.with_fewer()
    if fewer and _fitting(fewer, rig if paging else rig.without_paging()):
        ways.append(f"{fewer.num_microbatches} micro-batches a step instead of {request.num_microbatches} (fits)")
    hint = ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])}, or {ways[-1]}"
    return DeviceError(
        f"This needs {missing} more on {short.name}.",
        hint=f"{hint[0].upper()}{hint[1:]}.",
        detail="; ".join(
            f"{share.name}: {share.needed_bytes} bytes needed, {share.budget_bytes} in the budget"
            for share in closest.shares
        ),
    )


def _fitting(request: _Request, rig: RigCosts) -> Candidate | None:
    best = request.best(rig)
    return None if best.missing_bytes else best


def _step_sentence(split: Split) -> str:
    micro = "1 micro-batch" if split.num_microbatches == 1 else f"{split.num_microbatches} micro-batches"
    used = [card for card in range(len(split.shares)) if split.shares[card].blocks]
    busy = ", ".join(f"{split.shares[card].name} {split.timeline.busy_share(card):.0%}" for card in used)
    return (
        f"A step of {micro} is predicted to take {split.step_s:.2f} s, {split.limit_s / split.step_s:.0%} of what the "
        f"cards could do together at most; busy: {busy}."
    )


def _share_sentence(split: Split, card: int) -> str:
    share = split.shares[card]
    if not share.blocks:
        return f"{share.name} gets no blocks: with it the step would be longer."
    chunks = [str(size) for size, at in zip(split.chunk_sizes, split.card_of_chunk, strict=True) if at == card]
    text = f"{share.name} computes {len(share.blocks)} of {sum(split.chunk_sizes)} blocks"
    text += f" (in {len(chunks)} chunks of {', '.join(chunks)})" if len(chunks) > 1 else ""
    if share.paged:
        text += (
            f" and holds {len(share.blocks) - len(share.paged)} of them; {len(share.paged)} wait in RAM and are "
            "brought in under its computing"
        )
    return f"{text}. It needs {_gib(share.needed_bytes)} of its {_gib(share.budget_bytes)}."


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / 2**30:.1f} GB"


def _gib_up(num_bytes: int) -> str:
    """Rounded up, so that freeing what is asked for is enough."""
    return f"{-(-num_bytes * 10 // 2**30) / 10:.1f} GB"
