"""Ways to share a model's blocks out over cards.

Two cards have as many ways as the model has blocks, and all of them can be tried. The ways of more cards run into
thousands and millions, so a grid of them is tried, with what would be fair and its neighbours.
"""

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

_EVERY_TOTAL_UP_TO = 2
_EVERY_SUBSET_UP_TO = 3
_MOST_SUBSETS = 6
"""Of one size, among many cards."""
_SHORTEST_S = 1e-12
_MOST_TOTALS = {3: 200}
_MOST_TOTALS_OF_MANY = 100
"""Beyond so many ways to share the blocks out, a coarser grid of them is tried."""


def subsets(
    block_s: Sequence[float], size: int, *, kinds: Sequence[Hashable] | None = None
) -> Iterator[tuple[int, ...]]:
    """Yield cards that could share the blocks: any of few cards; of many the fastest, and any that differ from them.

    Args:
        block_s: Seconds of all blocks together on each card.
        size: How many share.
        kinds: What else tells the cards apart; None has nothing.
    """
    cards = range(len(block_s))
    if len(cards) <= _EVERY_SUBSET_UP_TO:
        yield from itertools.combinations(cards, size)
        return
    named = list(zip(block_s, kinds or [None] * len(cards), strict=True))
    fastest = tuple(sorted(sorted(cards, key=lambda card: block_s[card])[:size]))
    differing: dict[Any, tuple[int, ...]] = {}
    for some in (fastest, *itertools.combinations(cards, size)):
        differing.setdefault(frozenset(Counter(named[card] for card in some).items()), some)
    yield from differing.values() if len(differing) <= _MOST_SUBSETS else [fastest]


def all_totals(num_blocks: int, block_s: Sequence[float]) -> Iterator[tuple[int, ...]]:
    """Yield blocks of each card, at least one: every way for two cards; for more a coarse grid, and what is about fair.

    Args:
        num_blocks: Blocks of the model.
        block_s: Seconds of all blocks together on each card.
    """
    yield from _grid(num_blocks, len(block_s))
    if len(block_s) > _EVERY_TOTAL_UP_TO and num_blocks >= len(block_s):
        fair = _fair(num_blocks, [1 / max(seconds, _SHORTEST_S) for seconds in block_s])
        yield fair
        for giver, taker in itertools.permutations(range(len(fair)), 2):
            if fair[giver] > 1:
                yield tuple(total - (card == giver) + (card == taker) for card, total in enumerate(fair))


def _fair(num_blocks: int, paces: Sequence[float]) -> tuple[int, ...]:
    """As many blocks for each card as it is fast, at least one."""
    edges = [round(num_blocks * done / sum(paces)) for done in itertools.accumulate(paces)]
    for card in range(len(paces)):
        edges[card] = min(max(edges[card], card + 1), num_blocks - (len(paces) - 1 - card))
    return tuple(end - start for start, end in itertools.pairwise([0, *edges]))


def _grid(num_blocks: int, num_cards: int) -> Iterator[tuple[int, ...]]:
    step, most = 1, _MOST_TOTALS.get(num_cards, _MOST_TOTALS_OF_MANY)
    if num_cards > _EVERY_TOTAL_UP_TO:
        while math.comb((num_blocks - 1) // step, num_cards - 1) > most:
            step += 1
    for cuts in itertools.combinations(range(step, num_blocks, step), num_cards - 1):
        edges = (0, *cuts, num_blocks)
        yield tuple(end - start for start, end in itertools.pairwise(edges))
