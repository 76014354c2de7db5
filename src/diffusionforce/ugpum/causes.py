"""Why a run differed from its forecast, as far as the numbers tell: a class of cause, in a sentence each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diffusionforce.rig import in_gb

NOTICED_SHARE = 0.1
"""A difference of more than this share of the forecast is told."""
_ALIKE = 0.25
_BUSY, _IDLE = 0.9, 0.6


@dataclass(frozen=True, kw_only=True)
class SeenCard:
    """One card in the first steps.

    Attributes:
        label: Name for people.
        planned_bytes: What it was forecast to hold at its fullest moment.
        seen_bytes: What it held.
        busy: Share of the step in which it computed; None where nobody noted it.
    """

    label: str
    planned_bytes: int
    seen_bytes: int
    busy: float | None = None

    @property
    def extra_bytes(self) -> int:
        """What it held beyond the forecast."""
        return self.seen_bytes - self.planned_bytes

    @property
    def is_off(self) -> bool:
        """Whether the difference is worth telling."""
        return abs(self.extra_bytes) > NOTICED_SHARE * self.planned_bytes


def causes(cards: Sequence[SeenCard], *, planned_s: float | None, seen_s: float, times: str) -> tuple[str, ...]:
    """Return what differed by more than a tenth, and why.

    Args:
        cards: The cards, home first.
        planned_s: Forecast seconds of a step; None where there were none.
        seen_s: Seconds that it took.
        times: Where the forecast had its seconds from: `measured`, `catalogue` or `unknown`.
    """
    return (*_about_memory(cards), *_about_time(cards, planned_s, seen_s, times))


def _about_memory(cards: Sequence[SeenCard]) -> Iterator[str]:
    why = _memory_cause(cards)
    for card in cards:
        if card.is_off:
            more = "more" if card.extra_bytes > 0 else "less"
            yield (
                f"{card.label} held {in_gb(abs(card.extra_bytes))} {more} than planned ({in_gb(card.seen_bytes)}, "
                f"planned {in_gb(card.planned_bytes)}): {why}."
            )


def _memory_cause(cards: Sequence[SeenCard]) -> str:
    extras = [card.extra_bytes for card in cards]
    shares = [card.extra_bytes / max(1, card.planned_bytes) for card in cards]
    if max(extras) > 0 > min(extras):
        return "the blocks' share of the whole is larger on one card and smaller on another than the trace found"
    if len(cards) == 1:
        return "workspaces of the libraries, or activations that the trace did not see"
    if _are_alike(extras):
        return "about the same on every card, so it is what the libraries take for themselves"
    if _are_alike(shares):
        return "about the same share on every card, so it is the activations of all blocks"
    if abs(extras[0]) > 2 * max(abs(extra) for extra in extras[1:]):
        return "on the first card only, so it is what lies around the blocks: batches, beginning and end of the model"
    return "more on some cards than on others, so it is what crosses between them or is held for later"


def _about_time(cards: Sequence[SeenCard], planned_s: float | None, seen_s: float, times: str) -> Iterator[str]:
    if not planned_s or abs(seen_s - planned_s) <= NOTICED_SHARE * planned_s:
        return
    word = "longer" if seen_s > planned_s else "less"
    yield (
        f"A step took {seen_s:.3g} s, planned were {planned_s:.3g} s, {abs(seen_s / planned_s - 1):.0%}".replace(
            "%", " %"
        )
        + f" {word}: {_time_cause(cards, is_longer=seen_s > planned_s, times=times)}."
    )


def _time_cause(cards: Sequence[SeenCard], *, is_longer: bool, times: str) -> str:
    known = [(card.busy, card) for card in cards if card.busy is not None]
    if is_longer and len(known) > 1:
        most, slowest = max(known, key=lambda pair: pair[0])
        least, idlest = min(known, key=lambda pair: pair[0])
        if most >= _BUSY and least <= _IDLE:
            return (
                f"{slowest.label} held the others up, {idlest.label} was busy {least:.0%}".replace("%", " %") + " of it"
            )
        if most <= _IDLE:
            return "no card was busy most of the time, so they waited for the processor or for copies"
    if times != "measured":
        return "the cards were known from their data sheets only"
    return f"the cards compute {'slower' if is_longer else 'faster'} than when they were measured"


def _are_alike(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= _ALIKE * max(abs(value) for value in values)
