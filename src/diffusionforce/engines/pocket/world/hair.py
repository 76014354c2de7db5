"""Hair styles of human figures: what hangs behind the body and what lies on the head."""

import math
from collections.abc import Callable

import numpy as np

from diffusionforce.engines.pocket.world.canvas import Canvas, Point, mirrored
from diffusionforce.engines.pocket.world.palette import INK, Colour, dark, light

Outline = tuple[Point, ...]

# fmt: off
_LONG_BACK: Outline = (
    (-46, -60), (0, -94), (46, -60), (54, -20), (52, 18), (40, 30), (20, 22), (-20, 22), (-40, 30), (-52, 18),
    (-54, -20),
)
_BOB_BACK: Outline = (
    (-46, -60), (0, -93), (46, -60), (53, -26), (48, -4), (30, -2), (-30, -2), (-48, -4), (-53, -26),
)
_PIGTAIL: Outline = ((40, -62), (56, -66), (68, -40), (66, -10), (56, 8), (50, -12), (46, -36))
_PONYTAIL: Outline = ((20, -82), (44, -92), (66, -72), (70, -40), (62, -8), (52, -20), (48, -44), (36, -62))

_BANGS: Outline = (
    (-46, -40), (-44, -66), (-26, -86), (0, -91), (26, -86), (44, -66), (46, -40), (39, -46), (32, -58), (22, -54),
    (10, -58), (-2, -54), (-14, -58), (-26, -54), (-34, -58), (-40, -46),
)
_SIDE_PARTING: Outline = (
    (-46, -36), (-45, -66), (-28, -86), (0, -92), (28, -86), (45, -66), (46, -36), (40, -50), (34, -62), (14, -72),
    (-8, -62), (-28, -54), (-38, -44),
)
_MIDDLE_PARTING: Outline = (
    (-46, -34), (-45, -66), (-28, -86), (0, -91), (28, -86), (45, -66), (46, -34), (40, -46), (28, -58), (10, -68),
    (0, -76), (-10, -68), (-28, -58), (-40, -46),
)
_CURLY_CAP: Outline = (
    (-44, -48), (-40, -70), (-20, -86), (0, -90), (20, -86), (40, -70), (44, -48), (30, -62), (0, -66), (-30, -62),
)
_SHORT: Outline = (
    (-45, -40), (-46, -64), (-30, -86), (0, -92), (30, -87), (46, -64), (45, -40), (40, -54), (26, -64), (4, -70),
    (-16, -62), (-32, -64), (-40, -54),
)
_SPIKY: Outline = (
    (-45, -44), (-54, -58), (-44, -66), (-50, -84), (-32, -82), (-28, -100), (-12, -90), (2, -106), (14, -91),
    (32, -99), (34, -82), (50, -82), (45, -66), (54, -56), (45, -44), (38, -60), (26, -54), (16, -64), (2, -56),
    (-10, -66), (-22, -56), (-32, -62),
)
_BOWL: Outline = (
    (-47, -38), (-47, -66), (-28, -88), (0, -93), (28, -88), (47, -66), (47, -38), (40, -40), (36, -54), (0, -57),
    (-36, -54), (-40, -40),
)
_LOWER_CURLS = ((-36, -62), (-20, -70), (-2, -74), (16, -71), (33, -63))
_UPPER_CURLS = ((-30, -74), (-12, -82), (8, -83), (26, -76))
# fmt: on

_TOPS: dict[str, Outline] = {
    "long": _MIDDLE_PARTING,
    "pigtails": _BANGS,
    "bob": _BANGS,
    "ponytail": _SIDE_PARTING,
    "short": _SHORT,
    "bowl": _BOWL,
}
"""The styles whose top is one smooth shape."""
_RIBBON: Colour = (236, 98, 120)


def hair_behind(canvas: Canvas, style: str, colour: Colour) -> None:
    """The hair that the body and the head hide in part; drawn first."""
    draw = _BEHIND.get(style)
    if draw:
        draw(canvas, colour)


def _long_behind(canvas: Canvas, colour: Colour) -> None:
    canvas.blob(_LONG_BACK, dark(colour, 0.16), dark(colour))


def _bob_behind(canvas: Canvas, colour: Colour) -> None:
    canvas.blob(_BOB_BACK, dark(colour, 0.16), dark(colour))


def _pigtails_behind(canvas: Canvas, colour: Colour) -> None:
    for side in (-1, 1):
        canvas.blob(mirrored(side, _PIGTAIL), colour, dark(colour))


def _ponytail_behind(canvas: Canvas, colour: Colour) -> None:
    canvas.blob(_PONYTAIL, colour, dark(colour))


def _curls_behind(canvas: Canvas, colour: Colour) -> None:
    for angle in np.linspace(-0.25, math.pi + 0.25, 11):
        x, y = -50 * math.cos(angle), -42 - 42 * math.sin(angle)
        canvas.ellipse(x, y, 15, 15, colour, dark(colour))


_BEHIND: dict[str, Callable[[Canvas, Colour], None]] = {
    "long": _long_behind,
    "bob": _bob_behind,
    "pigtails": _pigtails_behind,
    "ponytail": _ponytail_behind,
    "curly": _curls_behind,
}


def hair_on_top(canvas: Canvas, style: str, colour: Colour) -> None:
    """The hair over the forehead; drawn after the face, in the head's frame."""
    if style == "curly":
        _curls_on_top(canvas, colour)
    elif style == "spiky":
        canvas.polygon(_SPIKY, colour, dark(colour), 2.4)
    else:
        canvas.blob(_TOPS[style], colour, dark(colour))
    shine(canvas, colour)
    if style == "pigtails":
        for side in (-1, 1):
            canvas.ellipse(side * 45, -60, 5, 6.5, _RIBBON, INK, 1.6)
    if style == "ponytail":
        canvas.ellipse(38, -84, 6, 5, _RIBBON, INK, 1.6)


def _curls_on_top(canvas: Canvas, colour: Colour) -> None:
    canvas.blob(_CURLY_CAP, colour)
    for x, y in _LOWER_CURLS:
        canvas.ellipse(x, y, 12, 11, colour, dark(colour), 1.8)
    for x, y in _UPPER_CURLS:
        canvas.ellipse(x, y, 12, 11, colour)


def shine(canvas: Canvas, colour: Colour) -> None:
    """The light stroke that makes hair glossy."""
    canvas.curve([(-26, -73), (-14, -80), (2, -82)], light(colour, 0.42), 4)
