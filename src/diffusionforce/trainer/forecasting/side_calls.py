"""Where models run that run by themselves: the first card that holds them, or the processor.

Text encoders of 10 to 50 GB read the captions, and autoencoders read pictures, before a training loads its own model;
another time autoencoders decode samples while it rests. No plan of the training says where. A card is faster, so the
first of them that has room is taken; the processor has more memory, and is slower only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from diffusionforce.engines.subjects import TracedCall
from diffusionforce.rig import in_gb
from diffusionforce.trainer.forecasting.rigs import PROCESSOR, Rig
from diffusionforce.trainer.forecasting.traces import CallFootprint
from diffusionforce.wire.forecast import CardNeed, StageNeed


@dataclass(frozen=True, kw_only=True)
class PlacedCall:
    """A model that runs by itself, and where."""

    call: TracedCall
    footprint: CallFootprint
    card: int | None
    """Index of a card of the rig; None is the processor."""
    missing_bytes: int = 0
    """What is missing where most can be had; 0 where it fits."""

    def need(self, constant_bytes: int = 0) -> CardNeed:
        """What it holds where it runs.

        Args:
            constant_bytes: What is taken there anyway.
        """
        return need_of(self.footprint, constant_bytes)

    def stage(self, rig: Rig, need: CardNeed) -> StageNeed:
        """It as a record.

        Args:
            rig: The cards.
            need: What it holds, with what stays there meanwhile.
        """
        device = rig.shown[self.card].device if self.card is not None else PROCESSOR
        call = self.call
        return StageNeed(
            name=call.name,
            words=call.words,
            device=device,
            in_tiles=call.in_tiles,
            need=need,
            missing_bytes=self.missing_bytes,
        )


def need_of(footprint: CallFootprint, constant_bytes: int = 0) -> CardNeed:
    """What a model that runs by itself holds.

    Args:
        footprint: The model.
        constant_bytes: What is taken there anyway.
    """
    return CardNeed(
        weights_bytes=footprint.weights_bytes,
        activation_bytes=footprint.input_bytes,
        temporary_bytes=footprint.peak_bytes,
        constant_bytes=constant_bytes,
    )


def placed(
    calls: Sequence[tuple[TracedCall, CallFootprint]], rig: Rig, *, preferred: Iterable[int] = ()
) -> tuple[PlacedCall, ...]:
    """Place models that have the rig to themselves, all of one name in the same place.

    Args:
        calls: The models.
        rig: The cards.
        preferred: Cards that are taken before others.
    """
    found: list[PlacedCall] = []
    for _, group in groupby(calls, key=lambda pair: pair[0].name):
        same = list(group)
        needed_bytes = max(need_of(footprint).peak_bytes for _, footprint in same)
        may_use_cards = rig.on_cards and same[0][0].where == "card"
        card = _first_with_room(needed_bytes, rig, preferred) if may_use_cards else None
        missing_bytes = max(0, needed_bytes - rig.ram_free_bytes) if may_use_cards and card is None else 0
        found += [
            PlacedCall(call=call, footprint=footprint, card=card, missing_bytes=missing_bytes)
            for call, footprint in same
        ]
    return tuple(found)


def needs_by_card(calls: Sequence[PlacedCall], rig: Rig) -> Mapping[int, CardNeed]:
    """What each card holds while these run one after another."""
    needs: dict[int, CardNeed] = {}
    for one in calls:
        if one.card is not None:
            need = one.need(rig.extra_bytes[one.card])
            needs[one.card] = max(needs.get(one.card, need), need, key=lambda need: need.peak_bytes)
    return needs


def refusal(calls: Sequence[PlacedCall], rig: Rig) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Why there is no place for some, a sentence each, and what would help; nothing where all have one."""
    homeless = [one for one in calls if one.missing_bytes]
    most_bytes = max((_room_bytes(card, rig) for card in range(len(rig.cards))), default=0)
    sentences = tuple(
        f"The {one.call.words} needs {in_gb(one.need().peak_bytes)} on one card, where {in_gb(most_bytes)} is the "
        f"most, or as much RAM, of which {in_gb(max(0, rig.ram_free_bytes))} can be had."
        for one in homeless
    )
    ways = (f"{in_gb(max(one.missing_bytes for one in homeless))} more RAM, or a larger card",) if homeless else ()
    return sentences, ways


def about(calls: Sequence[PlacedCall], rig: Rig) -> list[str]:
    """What is odd about where they run, in sentences."""
    on_processor = [
        one for one in calls if rig.on_cards and one.call.where == "card" and one.card is None and not one.missing_bytes
    ]
    return [
        f"The {one.call.words} runs on the processor, because no card has {in_gb(one.need().peak_bytes)} for it; that "
        "takes longer."
        for one in on_processor
    ]


def _first_with_room(needed_bytes: int, rig: Rig, preferred: Iterable[int]) -> int | None:
    cards = dict.fromkeys((*preferred, *range(len(rig.cards))))
    return next((card for card in cards if needed_bytes <= _room_bytes(card, rig)), None)


def _room_bytes(card: int, rig: Rig) -> int:
    """What is lost between the tensors of a training step is not lost to what is loaded once and has the card alone."""
    return rig.shown[card].budget_bytes - rig.extra_bytes[card]
