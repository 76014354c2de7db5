"""Rates of common cards, for planning on a rig that is not here.

A rig at hand is measured; one that somebody thinks of buying has only its datasheet. The rates are the makers' figures
for dense matrix products in bfloat16 with float32 sums; on GeForce cards that is half of the figure for float16 sums.
Training reaches a part of them, cards for servers less, which their power limit holds back.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from diffusionforce.errors import DeviceError
from diffusionforce.rig import GIB
from diffusionforce.ugpum.footprint import CardRates

REACHED_SHARE, REACHED_MEMORY_SHARE = 0.85, 0.75
"""What part of the datasheet's rates matrix products reach, and kernels that wait for memory."""
POWER_LIMITED_SHARE, STACKED_MEMORY_SHARE = 0.65, 0.6
"""The same where the power limit sets the clock, and memory lies stacked beside the chip: the blocks of Wan 2.1 14B
and FLUX.2 Klein 9B took on H200 what 650 of 989 teraflops and 2.9 of 4.8 terabytes a second give."""
LINK_BYTES_PER_S = {3: 12.5e9, 4: 25e9, 5: 50e9}
"""What sixteen lanes of a PCIe generation deliver from page-locked RAM."""


@dataclass(frozen=True, kw_only=True)
class CatalogueCard:
    """One kind of card.

    Attributes:
        name: Name without the maker's, for example `RTX 4060 Ti 16GB`.
        memory_bytes: Its memory.
        flops: Datasheet operations a second, dense bfloat16.
        memory_bytes_per_s: Datasheet bandwidth of its memory.
        pcie_generation: Generation of its connector.
        pcie_lanes: Lanes of its connector.
        reached_share: What part of `flops` training reaches.
        reached_memory_share: What part of `memory_bytes_per_s` it reaches.
    """

    name: str
    memory_bytes: int
    flops: float
    memory_bytes_per_s: float
    pcie_generation: int = 4
    pcie_lanes: int = 16
    reached_share: float = REACHED_SHARE
    reached_memory_share: float = REACHED_MEMORY_SHARE

    @property
    def reached(self) -> CardRates:
        """What training reaches."""
        return CardRates(
            flops=self.flops * self.reached_share,
            memory_bytes_per_s=self.memory_bytes_per_s * self.reached_memory_share,
        )

    @property
    def link_bytes_per_s(self) -> float:
        """What the link from RAM delivers, if the slot has what the card has."""
        return LINK_BYTES_PER_S[self.pcie_generation] * self.pcie_lanes / 16


def _card(
    name: str,
    gib: int,
    teraflops: float,
    gb_per_s: float,
    generation: int = 4,
    lanes: int = 16,
    *,
    for_servers: bool = False,
) -> CatalogueCard:
    return CatalogueCard(
        name=name,
        memory_bytes=gib * GIB,
        flops=teraflops * 1e12,
        memory_bytes_per_s=gb_per_s * 1e9,
        pcie_generation=generation,
        pcie_lanes=lanes,
        reached_share=POWER_LIMITED_SHARE if for_servers else REACHED_SHARE,
        reached_memory_share=STACKED_MEMORY_SHARE if for_servers else REACHED_MEMORY_SHARE,
    )


MAX_CARDS = 8
_LAPTOP = frozenset({"laptop", "mobile", "max"})
"""Cards of laptops share names with cards that are much faster."""

CARDS = (
    _card("RTX 5090", 32, 209.5, 1792, 5),
    _card("RTX 5080", 16, 112.6, 960, 5),
    _card("RTX 5070 Ti", 16, 87.9, 896, 5),
    _card("RTX 5070", 12, 61.7, 672, 5),
    _card("RTX 5060 Ti 16GB", 16, 47.4, 448, 5, 8),
    _card("RTX 5060 Ti 8GB", 8, 47.4, 448, 5, 8),
    _card("RTX 5060", 8, 38.4, 448, 5, 8),
    _card("RTX 4090", 24, 165.2, 1008),
    _card("RTX 4080 SUPER", 16, 104.4, 736),
    _card("RTX 4080", 16, 97.5, 717),
    _card("RTX 4070 Ti SUPER", 16, 88.2, 672),
    _card("RTX 4070 Ti", 12, 80.2, 504),
    _card("RTX 4070 SUPER", 12, 71.0, 504),
    _card("RTX 4070", 12, 58.3, 504),
    _card("RTX 4060 Ti 16GB", 16, 44.1, 288, 4, 8),
    _card("RTX 4060 Ti 8GB", 8, 44.1, 288, 4, 8),
    _card("RTX 4060", 8, 30.2, 272, 4, 8),
    _card("RTX 3090 Ti", 24, 80.0, 1008),
    _card("RTX 3090", 24, 71.2, 936),
    _card("RTX 3080 Ti", 12, 68.2, 912),
    _card("RTX 3080 12GB", 12, 61.3, 912),
    _card("RTX 3080 10GB", 10, 59.5, 760),
    _card("RTX 3070 Ti", 8, 43.5, 608),
    _card("RTX 3070", 8, 40.6, 448),
    _card("RTX 3060 Ti", 8, 32.4, 448),
    _card("RTX 3060", 12, 25.5, 360),
    _card("RTX PRO 6000 Blackwell", 96, 503.8, 1792, 5),
    _card("RTX 6000 Ada", 48, 364.2, 960),
    _card("RTX A6000", 48, 154.8, 768),
    _card("L40S", 48, 362.1, 864),
    _card("A100 40GB", 40, 312, 1555),
    _card("A100 80GB", 80, 312, 2039),
    _card("H100 SXM", 80, 989, 3350, 5, for_servers=True),
    _card("H100 PCIe", 80, 756, 2000, 5),
    _card("H200", 141, 989, 4800, 5, for_servers=True),
)


def find_card(text: str) -> CatalogueCard:
    """Find a card by what people call it: `5080`, `rtx 4060ti 16 gb`, `NVIDIA GeForce RTX 3090`, `4070 Ti x4`.

    Args:
        text: The name; `x4` or `x8` at its end says how many lanes its slot has, `gen3` of which generation it is.
            Where a card is sold with several sizes of memory and none is named, the larger is taken.

    Raises:
        DeviceError: No card is called so.
    """
    wanted, lanes, generation = _wish(text)
    card = _meant(wanted, text)[0]
    return replace(
        card,
        pcie_lanes=min(card.pcie_lanes, lanes or card.pcie_lanes),
        pcie_generation=min(card.pcie_generation, generation or card.pcie_generation),
    )


def _meant(wanted: str, text: str) -> list[CatalogueCard]:
    """The cards that a name fits equally well, the one with most memory first.

    Raises:
        DeviceError: It fits none.
    """
    words = _words(wanted)
    # A word like Ti or a size alone names no card.
    is_name = any(any(map(str.isdigit, word)) for word in words - _sizes(wanted))
    matching = [card for card in CARDS if is_name and words <= _words(card.name)]
    if not matching:
        raise DeviceError(
            f'No card called "{text.strip()}" is in the list.',
            hint=f"Known are: {', '.join(card.name for card in CARDS)}. Behind the name, x4 says how many lanes its "
            "slot has; before it, 2 x says how many such cards there are.",
        )

    # The names with the fewest other words are those that may be meant: a 4070 is no 4070 Ti.
    def num_others(card: CatalogueCard) -> int:
        return len(_words(card.name) - words - _sizes(card.name))

    fewest = min(map(num_others, matching))
    return sorted((card for card in matching if num_others(card) == fewest), key=lambda card: -card.memory_bytes)


def card_like(name: str, *, total_bytes: int) -> CatalogueCard | None:
    """Find the data sheet of a card that is here, by what its driver calls it: `NVIDIA GeForce RTX 4060 Ti`.

    Args:
        name: The driver's name.
        total_bytes: Its memory, which tells apart what is sold under one name.

    Returns:
        The data sheet; None where the card is not in the list.
    """
    # Drivers name the memory of an H100 where data sheets name the socket that comes with it.
    words = _words(name.replace("-", " ").replace("HBM3", "SXM"))
    if words & _LAPTOP:
        return None
    named = [card for card in CARDS if _words(card.name) - _sizes(card.name) <= words]
    most = max((len(_words(card.name) - _sizes(card.name)) for card in named), default=0)
    closest = [card for card in named if len(_words(card.name) - _sizes(card.name)) == most]
    return min(closest, key=lambda card: abs(card.memory_bytes - total_bytes), default=None)


def parse_rig(text: str) -> tuple[CatalogueCard, ...]:
    """Read a list of cards: `RTX 5080, RTX 4060 Ti 16GB` or `2 x 3090`.

    Args:
        text: Names with commas, semicolons or plus signs between them; a number and `x` in front repeats one, `@x4` or
            `x4` behind one says how many lanes its slot has.

    Raises:
        DeviceError: A name is not known, there is none, or there are more than a plan can be made for.
    """
    cards = [card for count, name in _items(text) for card in [find_card(name)] * count]
    if not cards:
        raise DeviceError("The rig has no cards.", hint="Name them, for example: RTX 5080, RTX 4060 Ti 16GB.")
    if len(cards) > MAX_CARDS:
        raise DeviceError(f"The rig has {len(cards)} cards; plans are made for up to {MAX_CARDS}.")
    return tuple(cards)


def taken_for(text: str) -> tuple[str, ...]:
    """Say of each name in a list of cards that fits several which of them was taken, and how to name another.

    Args:
        text: The list, as `parse_rig` read it.
    """
    notes: dict[str, None] = {}
    for _, name in _items(text):
        taken, *others = _meant(_wish(name)[0], name)
        if others:
            names = " or ".join(f'"{card.name}"' for card in others)
            notes[f'"{name.strip()}" is taken for the {taken.name}; write {names} for the other.'] = None
    return tuple(notes)


def _items(text: str) -> Iterator[tuple[int, str]]:
    """How many there are of each card in a list, and what it is called."""
    for item in re.split(r"[,;+]", text):
        repeated = re.match(r"\s*(\d)\s*[x×*]\s+(.*)", item, re.IGNORECASE)
        count, name = (int(repeated[1]), repeated[2]) if repeated else (1, item)
        if name.strip():
            yield count, name


def _wish(text: str) -> tuple[str, int | None, int | None]:
    # No slot of a desktop has two lanes: who writes x2 means two cards.
    lanes = re.search(r"\bx(1|4|8|16)\b", text, re.IGNORECASE)
    generation = re.search(r"\bgen\s*([345])\b", text, re.IGNORECASE)
    rest = re.sub(r"@?\s*\b(x(1|4|8|16)|gen\s*[345])\b", " ", text, flags=re.IGNORECASE)
    return rest, int(lanes[1]) if lanes else None, int(generation[1]) if generation else None


def _words(name: str) -> frozenset[str]:
    """The words of a name that tell cards apart, in one spelling."""
    text = re.sub(r"(\d+)\s*(gb|gib|g)\b", r"\1gb", name.lower())
    text = re.sub(r"nvidia|geforce|rtx", " ", text)
    text = re.sub(r"(\d{4})(?=[a-z])", r"\1 ", text)
    text = re.sub(r"\bti\s*(super|s)\b", "ti super", text)
    text = re.sub(r"\b(\d{4})\s+s\b", r"\1 super", text)
    return frozenset(re.findall(r"[a-z0-9]+", text))


def _sizes(name: str) -> frozenset[str]:
    return frozenset(word for word in _words(name) if word.endswith("gb"))
