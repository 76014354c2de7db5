"""Colours of the picture-book world: the named ones that captions use, and the arithmetic between them.

Every colour is an 8-bit RGB triple. Names are part of the captions that the base weights were trained on, so
adding one here changes what the model knows only after the base is trained again.
"""

from random import Random
from typing import TypeAlias

Colour: TypeAlias = tuple[int, int, int]

WHITE: Colour = (255, 255, 255)
INK: Colour = (58, 44, 56)
"""Outline of eyes, mouths and small things: a warm near-black."""

NAMED: dict[str, Colour] = {
    "red": (217, 64, 66),
    "orange": (240, 142, 56),
    "yellow": (248, 206, 78),
    "green": (92, 172, 96),
    "blue": (76, 128, 214),
    "purple": (150, 98, 196),
    "pink": (245, 148, 182),
    "brown": (146, 98, 66),
    "black": (62, 58, 72),
    "white": (246, 244, 240),
    "grey": (158, 162, 172),
}
HAIR: dict[str, Colour] = {
    "red": (206, 74, 52),
    "blonde": (246, 208, 108),
    "brown": (128, 82, 54),
    "black": (58, 54, 70),
    "pink": (244, 142, 180),
    "purple": (146, 100, 190),
    "blue": (84, 132, 214),
    "white": (240, 238, 236),
    "green": (98, 170, 98),
}
EYES: dict[str, Colour] = {
    "blue": (72, 128, 214),
    "green": (74, 158, 88),
    "brown": (124, 80, 50),
    "purple": (140, 86, 186),
    "black": (52, 50, 62),
}
SKINS: tuple[Colour, ...] = ((255, 224, 196), (250, 208, 172), (232, 178, 136), (196, 136, 96), (146, 96, 66))

FUR: dict[str, dict[str, Colour]] = {
    "cat": {
        "orange": (244, 166, 92),
        "grey": (166, 168, 180),
        "black": (78, 74, 88),
        "white": (246, 242, 236),
        "brown": (164, 118, 84),
    },
    "dog": {
        "brown": (182, 130, 88),
        "white": (246, 240, 228),
        "yellow": (240, 206, 130),
        "grey": (164, 164, 172),
        "black": (80, 76, 86),
    },
    "fox": {"orange": (238, 136, 70), "red": (216, 90, 62), "white": (244, 240, 236), "grey": (150, 152, 168)},
    "bear": {"brown": (158, 108, 74), "white": (246, 244, 240), "black": (78, 72, 80), "pink": (246, 176, 194)},
    "bunny": {"white": (250, 246, 242), "grey": (178, 178, 188), "brown": (190, 146, 108), "pink": (250, 190, 204)},
    "robot": {
        "grey": (176, 186, 200),
        "blue": (120, 164, 222),
        "yellow": (248, 214, 110),
        "red": (228, 104, 98),
        "white": (240, 242, 246),
        "green": (130, 192, 138),
    },
    "frog": {"green": (122, 190, 98), "blue": (104, 170, 220), "yellow": (236, 214, 96), "red": (226, 102, 90)},
    "ghost": {"white": (248, 248, 255), "pink": (252, 206, 222), "blue": (196, 222, 250), "green": (206, 240, 206)},
}
"""Species that are not human, and the colours that each comes in."""


def mix(colour: Colour, other: Colour, share: float) -> Colour:
    """Move `colour` towards `other` by `share` (0 keeps it, 1 replaces it)."""
    red, green, blue = (int(mine + (theirs - mine) * share) for mine, theirs in zip(colour, other, strict=True))
    return red, green, blue


def dark(colour: Colour, share: float = 0.45) -> Colour:
    """The outline or shade of a colour: towards a violet black, which looks softer than grey."""
    return mix(colour, (40, 24, 48), share)


def light(colour: Colour, share: float = 0.35) -> Colour:
    """The highlight of a colour: towards white."""
    return mix(colour, WHITE, share)


def vary(random: Random, colour: Colour, spread: float = 9) -> Colour:
    """Shift each channel by up to `spread`, so that no two green coats are the same green."""
    red, green, blue = (max(0, min(255, int(channel + random.uniform(-spread, spread)))) for channel in colour)
    return red, green, blue
