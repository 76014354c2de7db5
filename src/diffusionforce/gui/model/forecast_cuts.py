"""Where a model is cut between two cards, where else it could be, and what that would mean at once.

The forecast brings an estimate for every place to cut, so that dragging shows needs and speed without waiting; the
forecast of the place that was chosen follows.
"""

import re
from dataclasses import dataclass, replace

from diffusionforce.gui.model import words
from diffusionforce.gui.model.forecast_bars import NeedBar, all_bars, short_label
from diffusionforce.gui.model.forecast_ways import step_seconds
from diffusionforce.wire.forecast import Cut, Forecast, Phase, Way

_CUT = re.compile(r", blocks \d+ \+ \d+$")


@dataclass(frozen=True, kw_only=True)
class CutView:
    """A split of a model over two cards.

    Attributes:
        way: The way that is cut.
        cards: Position in the rig of both cards, the first one first.
        labels: What they are called.
        budgets_bytes: What each may hold.
        cuts: Every place to cut, by the number of blocks of the first card, from 1.
        current: That number as the forecast has it.
        is_asked: Whether the user chose it.
    """

    way: Way
    cards: tuple[int, int]
    labels: tuple[str, str]
    budgets_bytes: tuple[int, int]
    cuts: tuple[Cut, ...]
    current: int
    is_asked: bool

    @property
    def num_blocks(self) -> int:
        """Blocks of the model."""
        return len(self.cuts) + 1

    @property
    def best(self) -> int:
        """Blocks of the first card where the planner would cut."""
        return next((cut.num_blocks[0] for cut in self.cuts if cut.is_best), self.current)

    def at(self, first: int) -> Cut:
        """Return the cut that gives the first card so many blocks."""
        return self.cuts[first - 1]

    def name_at(self, first: int) -> str:
        """Return by which name the way can be asked for with another cut."""
        return f"{self.base_name}, blocks {first} + {self.num_blocks - first}"

    @property
    def base_name(self) -> str:
        """The name of the way without the cut."""
        return _CUT.sub("", self.way.words)

    def heads(self, first: int) -> tuple[str, str]:
        """Return what stands over the ends of the bar: each card with its blocks."""
        counts = (first, self.num_blocks - first)
        left, right = (
            f"{label} · {words.count(count, 'block')}" for label, count in zip(self.labels, counts, strict=True)
        )
        return left, right

    def outlook(self, first: int) -> str:
        """Return what a cut means: what both cards lack or have to spare, and the time of a step."""
        cut = self.at(first)
        parts = [self._card_outlook(cut, rank) for rank in (0, 1)]
        if cut.fits and cut.step_s is not None:
            parts.append(f"About {step_seconds(cut.step_s)} a step")
        return " · ".join(parts)

    def _card_outlook(self, cut: Cut, rank: int) -> str:
        label, missing = self.labels[rank], cut.missing_bytes[rank]
        if missing:
            return f"{label} lacks {words.size(missing)}"
        if cut.num_paged[rank]:
            return f"{label} pages {words.count(cut.num_paged[rank], 'block')}"
        return f"{label} has {words.size(max(0, self.budgets_bytes[rank] - cut.needed_bytes[rank]))} to spare"

    @property
    def range_words(self) -> str:
        """Where the model could be cut so that it fits, in words."""
        fitting = [cut.num_blocks[0] for cut in self.cuts if cut.fits]
        if not fitting:
            return "Fits nowhere"
        if len(fitting) == 1:
            return f"Fits only with {words.count(fitting[0], 'block')} on {self.labels[0]}"
        return f"Fits with {fitting[0]} to {fitting[-1]} blocks on {self.labels[0]}"

    def spoken(self, first: int) -> str:
        """Return a cut in a sentence, for screen readers."""
        return f"{'. '.join(self.heads(first))}. {self.outlook(first)}"


def cut_view(forecast: Forecast) -> CutView | None:
    """Return where the shown way of a forecast is cut; None where it is no split over two cards that can be moved."""
    if not forecast.cuts or not forecast.ways:
        return None
    way = forecast.ways[forecast.shown_way]
    in_rig = {card.device: index for index, card in enumerate(forecast.rig)}
    if len(way.cards) != 2 or any(card.device not in in_rig for card in way.cards):
        return None
    first, second = (in_rig[card.device] for card in way.cards)
    rig = forecast.rig
    return CutView(
        way=way,
        cards=(first, second),
        labels=(short_label(rig[first]), short_label(rig[second])),
        budgets_bytes=(rig[first].usable_bytes, rig[second].usable_bytes),
        cuts=forecast.cuts,
        current=way.cards[0].num_blocks,
        is_asked=_CUT.search(way.words) is not None,
    )


def bars_at(forecast: Forecast, phase: Phase, view: CutView, first: int) -> tuple[NeedBar, ...]:
    """Return the bars of a phase as they would be with another cut: weights and what goes with them move over."""
    bars = list(all_bars(forecast, phase))
    now, then = view.at(view.current), view.at(first)
    for rank, index in enumerate(view.cards):
        moved = then.needed_bytes[rank] - now.needed_bytes[rank]
        bar = bars[index]
        parts = tuple((kind, max(0, size + moved) if kind == "weights" else size) for kind, size in bar.parts)
        bars[index] = replace(bar, parts=parts, lines=())
    return tuple(bars)
