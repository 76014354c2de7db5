"""Heads of every species, in the head's own frame: ears, shape, markings and face."""

from diffusionforce.engines.pocket.world.canvas import Canvas, Point, mirrored
from diffusionforce.engines.pocket.world.face import (
    HEAD_CENTRE_Y,
    HEAD_HALF_HEIGHT,
    HEAD_HALF_WIDTH,
    blush,
    eyes,
    mouth,
    nose_line,
)
from diffusionforce.engines.pocket.world.figure import Figure
from diffusionforce.engines.pocket.world.hair import hair_on_top
from diffusionforce.engines.pocket.world.palette import INK, WHITE, Colour, dark, light

_INNER_EAR: Colour = (250, 180, 176)
_FOX_WHITE: Colour = (255, 244, 230)
_SCREEN: Colour = (52, 62, 92)

# fmt: off
_FOX_HEAD: tuple[Point, ...] = (
    (-38, -68), (0, -83), (38, -68), (48, -42), (54, -26), (26, -8), (0, -4), (-26, -8), (-54, -26), (-48, -42),
)
_ROBOT_HEAD: tuple[Point, ...] = (
    (-44, -44), (-42, -74), (-30, -82), (0, -83), (30, -82), (42, -74), (44, -44), (42, -14), (30, -6), (0, -5),
    (-30, -6), (-42, -14),
)
_ROBOT_SCREEN: tuple[Point, ...] = (
    (-33, -44), (-31, -64), (0, -68), (31, -64), (33, -44), (31, -22), (0, -18), (-31, -22),
)
_BUNNY_EAR: tuple[Point, ...] = ((8, -76), (10, -104), (20, -132), (31, -128), (32, -100), (26, -74))
_BUNNY_INNER_EAR: tuple[Point, ...] = ((15, -80), (16, -104), (21, -122), (26, -118), (26, -98), (23, -80))
_DOG_EAR: tuple[Point, ...] = ((26, -78), (46, -78), (62, -52), (60, -24), (48, -22), (40, -48))
# fmt: on


def head(canvas: Canvas, figure: Figure) -> None:
    """Draw the head of any species but the ghost, which is all of one piece."""
    if figure.is_human:
        _human(canvas, figure)
    elif figure.species == "robot":
        _robot(canvas, figure)
    elif figure.species == "frog":
        _frog(canvas, figure)
    else:
        _furry(canvas, figure)


def human_head(canvas: Canvas, skin: Colour) -> None:
    """Ears and the bare ellipse of a human head."""
    for side in (-1, 1):
        canvas.ellipse(side * 43, -38, 7, 8, skin, dark(skin))
    canvas.ellipse(0, HEAD_CENTRE_Y, HEAD_HALF_WIDTH, HEAD_HALF_HEIGHT, skin, dark(skin), 2.6)


def _human(canvas: Canvas, figure: Figure) -> None:
    skin, expression = figure.skin.colour, figure.expression
    human_head(canvas, skin)
    blush(canvas, 28, -25, skin=skin, strength=0.6)
    eyes(canvas, 17, -38, colour=figure.eyes.colour, expression=expression)
    nose_line(canvas, -26, skin=skin)
    mouth(canvas, -19, expression=expression)
    if figure.hair:
        hair_on_top(canvas, figure.hair.style, figure.hair.dye.colour)


def _frog(canvas: Canvas, figure: Figure) -> None:
    skin = figure.skin.colour
    for side in (-1, 1):
        canvas.ellipse(side * 23, -78, 16, 16, skin, dark(skin))
    canvas.ellipse(0, HEAD_CENTRE_Y, 46, 38, skin, dark(skin), 2.6)
    canvas.ellipse(0, -22, 30, 14, light(skin, 0.3))
    blush(canvas, 28, -25, skin=skin, strength=0.5)
    with canvas.frame(0, -34):
        eyes(canvas, 23, -44, colour=figure.eyes.colour, expression=figure.expression, radius=8.4)
    mouth(canvas, -28, expression=figure.expression, breadth=1.8)


def _furry(canvas: Canvas, figure: Figure) -> None:
    fur, species = figure.skin.colour, figure.species
    for side in (-1, 1):
        _ear(canvas, species, fur, side)
    if species == "fox":
        canvas.blob(_FOX_HEAD, fur, dark(fur), 2.6)
        for side in (-1, 1):
            canvas.blob(mirrored(side, [(4, -26), (24, -34), (50, -28), (26, -10), (4, -6)]), _FOX_WHITE)
    else:
        canvas.ellipse(0, HEAD_CENTRE_Y, 46, 38, fur, dark(fur), 2.6)
    if species in ("dog", "bear", "cat"):
        canvas.ellipse(0, -23, 17, 13, light(fur, 0.55))
    elif species == "bunny":
        canvas.ellipse(0, -24, 14, 10, light(fur, 0.5))
    blush(canvas, 28, -25, skin=fur, strength=0.5)
    eyes(canvas, 19, -42, colour=figure.eyes.colour, expression=figure.expression)
    nose = (240, 130, 150) if species == "bunny" else (70, 52, 60)
    canvas.blob([(-5, -31), (5, -31), (0, -25)], nose, INK, 1.4)
    mouth(canvas, -21, expression=figure.expression, breadth=0.9)
    if species in ("cat", "fox", "bunny"):
        _whiskers(canvas, fur)


def _whiskers(canvas: Canvas, fur: Colour) -> None:
    for side in (-1, 1):
        for slope in (-2, 5):
            canvas.curve([(side * 22, -25 + slope * 0.6), (side * 42, -26 + slope * 1.6)], dark(fur, 0.4), 1.4)


def _ear(canvas: Canvas, species: str, fur: Colour, side: int) -> None:
    line = dark(fur)
    match species:
        case "cat":
            canvas.polygon(mirrored(side, [(14, -78), (36, -106), (44, -62)]), fur, line, 2.6)
            canvas.polygon(mirrored(side, [(22, -78), (34, -96), (38, -68)]), _INNER_EAR)
        case "fox":
            canvas.polygon(mirrored(side, [(10, -78), (40, -114), (46, -58)]), fur, line, 2.6)
            canvas.polygon(mirrored(side, [(33, -105), (40, -114), (42.5, -100)]), (70, 50, 50))
            canvas.polygon(mirrored(side, [(20, -78), (35, -98), (39, -68)]), (255, 238, 220))
        case "dog":
            canvas.blob(mirrored(side, _DOG_EAR), dark(fur, 0.28), line)
        case "bear":
            canvas.ellipse(side * 33, -76, 14, 14, fur, line)
            canvas.ellipse(side * 33, -75, 7.6, 7.6, light(fur, 0.35))
        case _:
            canvas.blob(mirrored(side, _BUNNY_EAR), fur, line)
            canvas.blob(mirrored(side, _BUNNY_INNER_EAR), _INNER_EAR)


def _robot(canvas: Canvas, figure: Figure) -> None:
    metal = figure.skin.colour
    line = dark(metal, 0.5)
    canvas.curve([(0, -80), (0, -100)], line, 4)
    canvas.ellipse(0, -104, 6.6, 6.6, figure.trim, dark(figure.trim))
    for side in (-1, 1):
        bolt = mirrored(side, [(42, -54), (53, -54), (53, -32), (42, -32)])
        canvas.polygon(bolt, dark(metal, 0.2), line)
    canvas.blob(_ROBOT_HEAD, metal, line, 2.6)
    canvas.blob(_ROBOT_SCREEN, _SCREEN, line)
    glow = light(figure.eyes.colour, 0.45)
    for side in (-1, 1):
        _robot_eye(canvas, side, glow, figure.expression)
    _robot_mouth(canvas, glow, figure.expression)


def _robot_eye(canvas: Canvas, side: int, glow: Colour, expression: str) -> None:
    x = side * 15
    if expression == "sleepy":
        canvas.curve([(x - 7, -44), (x, -40), (x + 7, -44)], glow, 3.4)
    elif expression == "happy" or (expression == "winking" and side == 1):
        canvas.curve([(x - 7, -41), (x, -48), (x + 7, -41)], glow, 3.4)
    else:
        canvas.ellipse(x, -45, 7, 11 if expression == "surprised" else 9, glow)
        canvas.ellipse(x - 2, -48, 2.4, 3, WHITE)
    if expression == "angry":
        lid = [(x - side * 9, -53), (x + side * 9, -60), (x + side * 9, -52), (x - side * 9, -46)]
        canvas.polygon(lid, _SCREEN)


def _robot_mouth(canvas: Canvas, glow: Colour, expression: str) -> None:
    match expression:
        case "smiling" | "winking" | "happy" | "laughing":
            canvas.curve([(-9, -31), (0, -26), (9, -31)], glow, 3.4)
        case "surprised":
            canvas.ellipse(0, -29, 4, 4.6, glow)
        case "sad":
            canvas.curve([(-8, -27), (0, -31), (8, -27)], glow, 3)
        case _:
            canvas.curve([(-8, -29), (8, -29)], glow, 3)
