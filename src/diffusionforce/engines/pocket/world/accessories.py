"""Hats, glasses, scarves, and the things that hands hold."""

import math
from collections.abc import Callable

import numpy as np

from diffusionforce.engines.pocket.world.canvas import Canvas, Point, mirrored, smooth
from diffusionforce.engines.pocket.world.palette import INK, NAMED, Colour, dark, light, mix

_GOLD: Colour = (255, 224, 110)
_BRASS_LINE: Colour = (176, 122, 40)
_STRAW_LINE: Colour = (170, 126, 66)
_JEWELS: tuple[tuple[float, float, Colour], ...] = (
    (-16, -81, (224, 80, 90)),
    (0, -82, (84, 140, 220)),
    (16, -81, (110, 180, 110)),
)
_BLOSSOMS: tuple[Colour, ...] = ((244, 140, 170), (255, 250, 240), (250, 206, 90))
_SCARF_COLLAR: tuple[Point, ...] = ((-30, -9), (0, -2), (30, -9), (32, 3), (0, 11), (-32, 3))
_SCARF_END: tuple[Point, ...] = ((10, 4), (24, 2), (28, 36), (12, 38))


def hat(canvas: Canvas, kind: str, colour: Colour, *, lift: float = 0) -> None:
    """A hat in the head's frame, moved down by `lift` (negative: up) to suit the head."""
    with canvas.frame(0, lift):
        _HATS[kind](canvas, colour, dark(colour, 0.5))


def _cap(canvas: Canvas, colour: Colour, line: Colour) -> None:
    canvas.blob([(-42, -66), (-36, -90), (0, -104), (36, -90), (42, -66), (0, -70)], colour, line)
    canvas.blob([(-8, -70), (30, -74), (62, -66), (58, -59), (20, -62)], dark(colour, 0.15), line)
    canvas.ellipse(0, -103, 4, 3.4, light(colour), line, 1.6)


def _beanie(canvas: Canvas, colour: Colour, line: Colour) -> None:
    canvas.blob([(-42, -64), (-38, -92), (0, -108), (38, -92), (42, -64), (0, -68)], colour, line)
    canvas.limb([(-40, -66), (0, -71), (40, -66)], light(colour, 0.3), line, 15)
    canvas.ellipse(0, -108, 10, 10, light(colour, 0.5), line)


def _top_hat(canvas: Canvas, colour: Colour, line: Colour) -> None:
    band = mix(colour, (230, 90, 90), 0.75) if colour != NAMED["red"] else (250, 220, 120)
    canvas.polygon([(-27, -72), (-31, -124), (31, -124), (27, -72)], colour, line, 2.6)
    canvas.polygon([(-27.5, -80), (-28.6, -92), (28.6, -92), (27.5, -80)], band)
    canvas.ellipse(0, -72, 50, 8, colour, line, 2.4)


def _wizard_hat(canvas: Canvas, colour: Colour, line: Colour) -> None:
    cone = [(-34, -74), (-16, -108), (8, -138), (30, -142), (20, -124), (36, -74), (0, -70)]
    canvas.blob(cone, colour, line, 2.4)
    canvas.ellipse(0, -72, 56, 9, colour, line, 2.4)
    canvas.star(4, -100, 9, _GOLD)
    canvas.star(-12, -86, 5, _GOLD)


def _crown(canvas: Canvas, colour: Colour, line: Colour) -> None:
    points = [(-30, -74), (-36, -106), (-18, -92), (0, -112), (18, -92), (36, -106), (30, -74)]
    canvas.polygon(points, (252, 208, 84), _BRASS_LINE, 2.4)
    for x, y, jewel in _JEWELS:
        canvas.ellipse(x, y, 3.6, 3.6, jewel)


def _bow(canvas: Canvas, colour: Colour, line: Colour) -> None:
    for side in (-1, 1):
        canvas.blob(mirrored(side, [(2, -88), (24, -104), (28, -86), (22, -76)]), colour, line)
    canvas.ellipse(0, -88, 7, 7, light(colour, 0.2), line)


def _flower_crown(canvas: Canvas, colour: Colour, line: Colour) -> None:
    for index, x in enumerate((-36, -19, 0, 19, 36)):
        y = -78 - 8 * math.cos(x / 26)
        blossom = _BLOSSOMS[index % len(_BLOSSOMS)]
        for petal in range(5):
            angle = petal * 1.257
            petal_x, petal_y = x + 6 * math.cos(angle), y + 6 * math.sin(angle)
            canvas.ellipse(petal_x, petal_y, 4.6, 4.6, blossom, dark(blossom, 0.25), 1)
        canvas.ellipse(x, y, 3.6, 3.6, (246, 176, 60))


def _straw_hat(canvas: Canvas, colour: Colour, line: Colour) -> None:
    canvas.ellipse(0, -70, 62, 12, (244, 214, 140), _STRAW_LINE, 2.4)
    dome = [(-32, -72), (-28, -98), (0, -106), (28, -98), (32, -72), (0, -68)]
    canvas.blob(dome, (248, 222, 152), _STRAW_LINE)
    canvas.limb([(-30, -76), (0, -73), (30, -76)], colour, line, 8, 1.4)


_HATS: dict[str, Callable[[Canvas, Colour, Colour], None]] = {
    "cap": _cap,
    "beanie": _beanie,
    "hat": _top_hat,
    "wizard hat": _wizard_hat,
    "crown": _crown,
    "bow": _bow,
    "flower crown": _flower_crown,
    "straw hat": _straw_hat,
}


def glasses(canvas: Canvas) -> None:
    """Round glasses on a human nose; other heads wear them askew, which suits them."""
    rim = (70, 60, 80)
    angles = np.linspace(0, 2 * math.pi, 12, endpoint=False)
    for side in (-1, 1):
        ring = [(side * 18 + 12 * math.cos(angle), -38 + 12 * math.sin(angle)) for angle in angles]
        canvas.outline(smooth(ring), rim, 2.8)
    canvas.curve([(-6, -39), (0, -41), (6, -39)], rim, 2.6)


def scarf(canvas: Canvas, colour: Colour, *, stripes: Colour | None = None) -> None:
    """A scarf with one end hanging on the right, plain or striped."""
    line = dark(colour)
    canvas.blob(_SCARF_COLLAR, colour, line)
    canvas.polygon(_SCARF_END, colour, line)
    if stripes is None:
        return
    for x in (-22, -8, 20):
        canvas.polygon([(x, -5 + abs(x) * -0.1), (x + 7, -4), (x + 7, 7), (x, 8)], stripes)
    for y in (10, 24):
        canvas.polygon([(11.6, y), (26, y - 1.4), (26.8, y + 5.6), (11.8, y + 7)], stripes)
    canvas.outline(_SCARF_END, line, 2.2)
    canvas.outline(smooth(_SCARF_COLLAR), line, 2.2)


def thing(canvas: Canvas, kind: str, x: float, y: float, colour: Colour) -> None:
    """A held thing, with the hand at (x, y)."""
    with canvas.frame(x, y):
        _THINGS[kind](canvas, colour)


def _balloon(canvas: Canvas, colour: Colour) -> None:
    canvas.curve([(0, 0), (4, -34), (0, -66)], (120, 104, 110), 1.6)
    canvas.polygon([(-4, -64), (0, -72), (4, -64)], colour, dark(colour))
    canvas.ellipse(0, -88, 17, 20, colour, dark(colour))
    canvas.ellipse(-6, -95, 4, 6, light(colour, 0.6))


def _flower(canvas: Canvas, colour: Colour) -> None:
    canvas.limb([(0, 8), (0, -24)], (92, 160, 84), (60, 116, 66), 4, 1)
    for petal in range(6):
        angle = petal * 1.047
        x, y = 8 * math.cos(angle), -28 + 8 * math.sin(angle)
        canvas.ellipse(x, y, 6, 6, colour, dark(colour), 1.4)
    canvas.ellipse(0, -28, 5.4, 5.4, (250, 206, 90), (190, 130, 50), 1.2)


def _wand(canvas: Canvas, colour: Colour) -> None:
    canvas.limb([(-1, 8), (4, -24)], (240, 228, 206), (150, 116, 90), 5, 1.4)
    canvas.star(5, -32, 13, (255, 222, 100), (190, 140, 40))


def _ice_cream(canvas: Canvas, colour: Colour) -> None:
    canvas.polygon([(-8, -12), (8, -12), (0, 12)], (236, 186, 120), (160, 110, 66))
    canvas.ellipse(0, -18, 10.5, 10, colour, dark(colour))
    canvas.ellipse(-3, -22, 3, 2.6, light(colour, 0.6))


def _lantern(canvas: Canvas, colour: Colour) -> None:
    canvas.curve([(-6, -2), (0, -8), (6, -2)], INK, 2)
    canvas.polygon([(-9, 0), (9, 0), (11, 24), (-11, 24)], (255, 236, 150), (110, 80, 60), 2.8)
    canvas.ellipse(0, 13, 5, 7, (255, 180, 80))


def _book(canvas: Canvas, colour: Colour) -> None:
    canvas.polygon([(-13, -13), (13, -13), (13, 9), (-13, 9)], colour, dark(colour))
    canvas.polygon([(-8, -8), (8, -8), (8, -3), (-8, -3)], (255, 246, 220))


_THINGS: dict[str, Callable[[Canvas, Colour], None]] = {
    "balloon": _balloon,
    "flower": _flower,
    "wand": _wand,
    "ice cream": _ice_cream,
    "lantern": _lantern,
    "book": _book,
}
