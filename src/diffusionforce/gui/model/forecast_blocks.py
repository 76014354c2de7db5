"""Where the blocks of the model go in one way to train: a cell for each, and words for each card."""

from dataclasses import dataclass

from diffusionforce.gui.model import words
from diffusionforce.gui.model.forecast_bars import short_label
from diffusionforce.wire.forecast import Forecast, Way


@dataclass(frozen=True, kw_only=True)
class BlockCell:
    """One block: the position of its card in the rig, and whether it lives in RAM and is paged in for its turn."""

    card_index: int
    is_paged: bool


def cells(forecast: Forecast, way: Way) -> tuple[BlockCell, ...]:
    """Return the blocks of a way in the order of the model."""
    in_rig = {card.device: index for index, card in enumerate(forecast.rig)}
    paged = set(way.paged_blocks)
    owners = [
        in_rig.get(way.cards[card].device, card)
        for size, card in zip(way.chunk_sizes, way.card_of_chunk, strict=True)
        for _ in range(size)
    ]
    return tuple(BlockCell(card_index=owner, is_paged=block in paged) for block, owner in enumerate(owners))


def card_words(forecast: Forecast, way: Way) -> tuple[tuple[int, str, str], ...]:
    """Return for each card of a way its position in the rig, its label and what it gets."""
    in_rig = {card.device: index for index, card in enumerate(forecast.rig)}
    labels = {card.device: short_label(card) for card in forecast.rig}
    told: list[tuple[int, str, str]] = []
    for position, card in enumerate(way.cards):
        paged = f", {card.num_paged} of them in RAM" if card.num_paged else ""
        what = f"{words.count(card.num_blocks, 'block')}{paged}"
        told.append((in_rig.get(card.device, position), labels.get(card.device, card.device), what))
    return tuple(told)


def sentence(forecast: Forecast, way: Way) -> str:
    """Return where the blocks go, in a sentence."""
    return ". ".join(f"{label}: {what}" for _, label, what in card_words(forecast, way))
