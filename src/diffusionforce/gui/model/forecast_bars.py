"""A forecast as bars: what each card and RAM hold in a phase, cut into parts that a widget can draw.

From the left of a bar come the parts that the training needs and the reserve, from its right end what other programs
hold. Where the two would overlap, the part that is too much is a segment of its own, and the bar is longer than the
card.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from diffusionforce.gui.model import words
from diffusionforce.gui.model.devices import short_name, split_label
from diffusionforce.gui.model.language import figures, noted
from diffusionforce.rig import Card
from diffusionforce.wire.forecast import CardNeed, Forecast, ForecastCard, Phase, PhaseNeed

Kind: TypeAlias = Literal[
    "weights", "trained", "activations", "paging", "constant", "ram", "reserve", "too_much", "other", "free"
]
PHASES: tuple[Phase, ...] = ("caching", "training", "sampling")
PHASE_WORDS: dict[Phase, str] = {"caching": "Preparing", "training": "Training", "sampling": "Previews"}
PHASE_MOMENTS: dict[Phase, str] = {
    "caching": "while the pictures are prepared",
    "training": "in training",
    "sampling": "while previews are drawn",
}
KIND_WORDS: dict[Kind, str] = {
    "weights": "Weights",
    "trained": "LoRA + optimiser",
    "activations": "Activations",
    "paging": "Paging",
    "constant": "Libraries",
    "ram": "Blocks in RAM",
    "reserve": "Reserve",
    "too_much": "Too much",
    "other": "Other programs",
    "free": "Free",
}
TIGHT_BYTES = 300 * 1024**2


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A piece of a bar. `start` and `share` are shares of the bar's length, 0 to 1."""

    kind: Kind
    num_bytes: int
    start: float
    share: float


@dataclass(frozen=True, kw_only=True)
class NeedBar:
    """What one card, or RAM, holds in one phase. Sizes in bytes.

    Attributes:
        index: Position of the card in the rig, which picks its colour; None for RAM.
        label: `GPU 0` or `RAM`.
        name: Model of the card.
        parts: Kinds of need and their sizes, without those that are 0.
        lines: Every single part with its size in words, for the tool tip.
        total_bytes: Size of the card.
        reserve_bytes: Kept back.
        budget_bytes: What the training may use.
        other: What the rest is, in words: held by other programs, say.
        is_idle: Whether nothing is forecast, so that the bar only says what is free.
    """

    index: int | None
    label: str
    name: str
    parts: tuple[tuple[Kind, int], ...]
    lines: tuple[str, ...]
    total_bytes: int
    reserve_bytes: int
    budget_bytes: int
    other: str = "Other programs"
    is_idle: bool = False

    @property
    def needed_bytes(self) -> int:
        """What the training needs."""
        return sum(num_bytes for _, num_bytes in self.parts)

    @property
    def spare_bytes(self) -> int:
        """What the training leaves of its budget; negative where it lacks."""
        return self.budget_bytes - self.needed_bytes

    @property
    def is_used(self) -> bool:
        """Whether the training needs anything of it."""
        return self.needed_bytes > 0

    @property
    def tone(self) -> str:
        """Tone of its headline."""
        return "err" if self.spare_bytes < 0 else "warn" if self.is_used and self.spare_bytes < TIGHT_BYTES else ""

    @property
    def headline(self) -> str:
        """What is needed and what that leaves, in words."""
        if self.is_idle:
            return f"{words.size(self.budget_bytes)} free"
        if not self.is_used:
            return "not used"
        return f"{words.size(self.needed_bytes)} needed · {self.verdict}"

    @property
    def verdict(self) -> str:
        """What the need leaves, in words."""
        left = words.size(abs(self.spare_bytes))
        return f"{left} too much" if self.spare_bytes < 0 else f"{left} to spare"

    @property
    def limit_bytes(self) -> int:
        """Where need and reserve must end."""
        return self.budget_bytes + self.reserve_bytes

    @property
    def other_bytes(self) -> int:
        """What lies beyond the limit."""
        return max(0, self.total_bytes - self.limit_bytes)

    @property
    def limit_share(self) -> float:
        """The limit as a share of the bar's length."""
        return self.limit_bytes / self.span_bytes

    @property
    def limit_words(self) -> str:
        """The limit in words, empty where it is the end of the bar, or all that the bar says."""
        if not self.other_bytes or self.is_idle:
            return ""
        return f"{words.size(self.limit_bytes)} {'may be used' if self.index is None else 'free now'}"

    @property
    def span_bytes(self) -> int:
        """What the length of the bar stands for."""
        return max(1, self.total_bytes, self.needed_bytes + self.reserve_bytes + self.other_bytes)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The pieces of the bar from left to right, without empty ones."""
        return tuple(_segments(self))

    @property
    def tip(self) -> str:
        """Every part in figures, a line each."""
        head = f"{self.label} {self.name}".strip()
        more = [
            f"Reserve {words.exact_size(self.reserve_bytes)}" if self.reserve_bytes else "",
            f"{self.other} {words.exact_size(self.other_bytes)}" if self.other_bytes else "",
            f"{'Lacks' if self.spare_bytes < 0 else 'To spare'} {words.exact_size(abs(self.spare_bytes))}",
        ]
        return "\n".join([f"{head}, {words.round_size(self.total_bytes)}", *self.lines, *filter(None, more)])

    @property
    def spoken(self) -> str:
        """The bar in a sentence, for screen readers."""
        parts = ", ".join(f"{KIND_WORDS[kind]} {words.size(num_bytes)}" for kind, num_bytes in self.parts)
        return f"{self.label} {self.name}: {self.headline}{'. ' + parts if parts else ''}"


def idle_bars(cards: Sequence[Card]) -> tuple[NeedBar, ...]:
    """Return bars that only say what is free of each card, for the time in which no forecast is known."""
    return tuple(
        NeedBar(
            index=index,
            label=f"GPU {card.index}",
            name=_with_size(short_name(card.name), card.total_bytes),
            parts=(),
            lines=(),
            total_bytes=card.total_bytes,
            reserve_bytes=0,
            budget_bytes=max(0, card.total_bytes - card.used_bytes),
            is_idle=True,
        )
        for index, card in enumerate(cards)
    )


def phase_of(forecast: Forecast, phase: Phase) -> PhaseNeed:
    """Return a phase of a forecast; an empty one where the forecast does not speak of it."""
    return next((need for need in forecast.phases if need.phase == phase), PhaseNeed(phase=phase, cards=()))


def phases_of(forecast: Forecast) -> tuple[Phase, ...]:
    """Return the phases that a forecast speaks of, in the order of a run."""
    told: list[Phase] = [need.phase for need in forecast.phases]
    return tuple(sorted(told, key=PHASES.index))


def card_bars(forecast: Forecast, phase: Phase) -> tuple[NeedBar, ...]:
    """Return a bar for each card of the rig."""
    needs = phase_of(forecast, phase).cards
    return tuple(
        _card_bar(index, card, needs[index] if index < len(needs) else CardNeed())
        for index, card in enumerate(forecast.rig)
    )


def ram_bar(forecast: Forecast, phase: Phase) -> NeedBar:
    """Return the bar of RAM.

    What may be used is what may be locked for blocks; a need that is not locked may go beyond it.
    """
    needed = phase_of(forecast, phase).ram_bytes
    fits = max(forecast.ram_usable_bytes, min(needed, forecast.ram_total_bytes))
    return NeedBar(
        index=None,
        label="RAM",
        name=words.round_size(forecast.ram_total_bytes),
        parts=(("ram", needed),) if needed else (),
        lines=(f"Blocks, program and pictures {words.exact_size(needed)}",) if needed else (),
        total_bytes=forecast.ram_total_bytes,
        reserve_bytes=0,
        budget_bytes=forecast.ram_usable_bytes if forecast.refusal else fits,
        other="Left to the system",
    )


def is_on_processor(forecast: Forecast) -> bool:
    """Tell whether the processor does everything; RAM is its memory then."""
    return all(card.device == "cpu" for card in forecast.rig)


def all_bars(forecast: Forecast, phase: Phase) -> tuple[NeedBar, ...]:
    """Return the bars of all cards, and that of RAM unless it is the processor's own."""
    bars = card_bars(forecast, phase)
    return bars if forecast.rig and is_on_processor(forecast) else (*bars, ram_bar(forecast, phase))


def kinds_shown(forecast: Forecast) -> tuple[Kind, ...]:
    """Return what the legend explains: the kinds of segments of cards in any phase, in the order of a bar."""
    bars = [bar for phase in phases_of(forecast) for bar in card_bars(forecast, phase)]
    there = {segment.kind for bar in bars for segment in bar.segments}
    return tuple(kind for kind in KIND_WORDS if kind in there and kind not in {"ram", "free"})


def short_label(card: ForecastCard) -> str:
    """Return `GPU 0` of `GPU 0 (RTX 4060 Ti)`."""
    return split_label(card.label)[0]


def _card_bar(index: int, card: ForecastCard, need: CardNeed) -> NeedBar:
    label, name = split_label(card.label)
    parts: tuple[tuple[Kind, int], ...] = (
        ("weights", need.weights_bytes),
        ("trained", need.trained_bytes + need.optimizer_bytes + need.gradient_bytes),
        ("activations", need.activation_bytes + need.temporary_bytes),
        ("paging", need.paging_bytes),
        ("constant", need.constant_bytes),
    )
    return NeedBar(
        index=index,
        # The word of the forecast itself, noted for the catalogues.
        label=noted("Processor") if label == "Processor" else label,
        name=_with_size(name, card.total_bytes),
        parts=tuple((kind, num_bytes) for kind, num_bytes in parts if num_bytes),
        lines=tuple(_lines(need)),
        total_bytes=card.total_bytes,
        reserve_bytes=card.reserve_bytes + card.lost_bytes,
        budget_bytes=card.usable_bytes,
    )


def _with_size(name: str, total_bytes: int) -> str:
    """Return the name of a card with its size, which some names have already."""
    size = words.round_size(total_bytes)
    has_size = size.replace(" ", "") in name.replace(" ", "")
    return name if has_size else " · ".join(filter(None, (name, figures(size))))


def _lines(need: CardNeed) -> Iterator[str]:
    named = (
        ("Weights", need.weights_bytes),
        ("LoRA", need.trained_bytes),
        ("Optimiser", need.optimizer_bytes),
        ("Gradients", need.gradient_bytes),
        ("Activations", need.activation_bytes),
        ("For a moment", need.temporary_bytes),
        ("Paging", need.paging_bytes),
        ("Libraries", need.constant_bytes),
    )
    return (f"{name} {words.exact_size(num_bytes)}" for name, num_bytes in named if num_bytes)


def _segments(bar: NeedBar) -> Iterator[Segment]:
    span, limit, at = bar.span_bytes, bar.limit_bytes, 0
    taken: tuple[tuple[Kind, int], ...] = (*bar.parts, ("reserve", bar.reserve_bytes))
    for kind, num_bytes in taken:
        inside = max(0, min(num_bytes, limit - at))
        if inside:
            yield Segment(kind=kind, num_bytes=inside, start=at / span, share=inside / span)
        at += num_bytes
    beyond = max(0, at - limit)
    if beyond:
        yield Segment(kind="too_much", num_bytes=beyond, start=limit / span, share=beyond / span)
    free = max(0, limit - at)
    if free:
        yield Segment(kind="free", num_bytes=free, start=at / span, share=free / span)
    if bar.other_bytes:
        start = max(at, limit) / span
        yield Segment(kind="other", num_bytes=bar.other_bytes, start=start, share=bar.other_bytes / span)
