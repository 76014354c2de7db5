"""The ways to train that a forecast compares, as lines of a list: the best of each kind, then the rest."""

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from diffusionforce.gui.model import words
from diffusionforce.gui.model.forecast_bars import short_label
from diffusionforce.wire.forecast import Forecast, Way

SAME_SHARE = 0.05
"""Ways whose speeds differ by less are called equally fast: a prediction is no better than that."""
# Reasons that only tell the speed, which stands in figures beside them.
_ONLY_SPEED = re.compile(r"takes [\d.]+ times as long|^Just as fast")
_BEFORE_CUT = re.compile(r",\s(?=blocks\b)")
_NAME = re.compile(r" \([^)]*\)")
SPEED_SOURCES = {
    "measured": "measured on this PC",
    "catalogue": "from the cards' data sheets",
    "unknown": "speed not known",
}


@dataclass(frozen=True, kw_only=True)
class WayLine:
    """One way as it is shown.

    Attributes:
        name: Its words in the forecast, by which it can be asked for.
        title: Its kind, `Split + swap`.
        details: What else tells it from the others, `bf16, 4 micro-batches`.
        fits: Whether it would work.
        is_recommended: Whether it is the one to take.
        speed: Seconds of a step, or that they are not known, or that it does not fit.
        time_share: Time of its step as a share of the longest one that is shown, 0 to 1; None where not known.
        relation: Its speed against the recommended one's.
        reason: Why it is where it is in the list, and what it lacks.
    """

    name: str
    title: str
    details: str
    fits: bool
    is_recommended: bool
    speed: str
    time_share: float | None
    relation: str
    reason: str

    @property
    def spoken(self) -> str:
        """The line in a sentence, for screen readers."""
        parts = [self.title, self.details, "recommended" if self.is_recommended else "", self.speed, self.relation]
        return f"{', '.join(filter(None, parts))}. {self.reason}".strip()


def best_of_each_kind(forecast: Forecast) -> tuple[Way, ...]:
    """Return the best way of each kind; a kind of which nothing fits is there with what comes closest."""
    return _best(forecast, key=lambda way: way.kind)


def best_of_each_format(forecast: Forecast) -> tuple[Way, ...]:
    """Return the best way of each kind with each number format of the weights."""
    return _best(forecast, key=lambda way: (way.kind, way.weights))


def _best(forecast: Forecast, *, key: Callable[[Way], Hashable]) -> tuple[Way, ...]:
    """Return the best way of each group; the recommended one stands for its group, whatever else is in it."""
    best: dict[Hashable, Way] = {}
    for way in forecast.ways:
        known = best.get(key(way))
        if known is None or (way.fits and not known.fits) or way.recommended:
            best[key(way)] = way
    return tuple(way for way in forecast.ways if any(way is chosen for chosen in best.values()))


def lines(forecast: Forecast, ways: tuple[Way, ...]) -> tuple[WayLine, ...]:
    """Return a line for each of some ways."""
    longest = max((way.step_s for way in ways if way.fits and way.step_s), default=0.0)
    return tuple(_line(forecast, way, longest_s=longest) for way in ways)


def step_seconds(seconds: float | None) -> str:
    """Return the time of a step in words."""
    if seconds is None:
        return "unknown"
    if seconds >= 100:
        return words.duration(seconds)
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds:.2f} s"


def _line(forecast: Forecast, way: Way, *, longest_s: float) -> WayLine:
    title, details = _title_and_details(way)
    is_timed = way.fits and way.step_s is not None and longest_s > 0
    return WayLine(
        name=way.words,
        title=title,
        details=details,
        fits=way.fits,
        is_recommended=way.recommended,
        speed=step_seconds(way.step_s) if way.fits else "Won't fit",
        time_share=min(1.0, way.step_s / longest_s) if is_timed and way.step_s is not None else None,
        relation=_relation(forecast.recommended, way),
        reason=_lacks(forecast, way) or ("" if _ONLY_SPEED.search(way.reason) else way.reason),
    )


def _relation(recommended: Way | None, way: Way) -> str:
    if recommended is None or recommended is way or not way.fits:
        return ""
    if not way.step_s or not recommended.step_s:
        return ""
    ratio = way.step_s / recommended.step_s
    if abs(ratio - 1) < SAME_SHARE:
        return "as fast"
    return f"{ratio:.1f}× slower" if ratio > 1 else f"{1 / ratio:.1f}× faster"


def _title_and_details(way: Way) -> tuple[str, str]:
    """Return `Split` and `bf16, 4 micro-batches` of `split, bf16 weights, 4 micro-batches`; a cut comes last."""
    head, _, rest = way.words.partition(", ")
    title = way.kind if head.startswith(way.kind) else head
    where = _NAME.sub("", head.removeprefix(title)).strip()
    details = ", ".join(filter(None, (where, _BEFORE_CUT.sub(" · ", rest.replace(" weights", "")))))
    return title[:1].upper() + title[1:], details


def _lacks(forecast: Forecast, way: Way) -> str:
    """Say what each card lacks, empty where the way fits or lacks something else than memory of a card."""
    labels = {card.device: short_label(card) for card in forecast.rig}
    lacks = [
        f"{words.size(card.missing_bytes)} on {labels.get(card.device, card.device)}"
        for card in way.cards
        if card.missing_bytes
    ]
    return f"Lacks {', '.join(lacks)}." if lacks and not way.fits else ""
