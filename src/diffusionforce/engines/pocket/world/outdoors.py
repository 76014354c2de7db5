"""Scenes with a horizon: meadow, beach, snow, forest, desert, autumn park, city.

Each function paints the whole canvas. The order in which it draws from `random` is part of the world: another
order would give other pictures for the seeds that the base weights and the tests know.
"""

import math
from random import Random

import numpy as np

from diffusionforce.engines.pocket.world.canvas import Canvas
from diffusionforce.engines.pocket.world.palette import WHITE, Colour, dark, vary
from diffusionforce.engines.pocket.world.scenery import beside_the_figure, cloud, hills, pine, sun, tree

_FLOWERS: tuple[Colour, ...] = (WHITE, (252, 210, 90), (246, 150, 180))
_FIFTH_OF_A_TURN = 1.257
_PALM_LEAF_ANGLES = (-2.7, -2.0, -1.1, -0.4, 0.2, 2.9)
_HOUSES: tuple[Colour, ...] = ((206, 122, 108), (126, 140, 184), (220, 170, 110), (140, 170, 160))
_AUTUMN_LEAVES: tuple[Colour, ...] = ((232, 130, 62), (216, 86, 60), (240, 180, 72))
_CACTUS: Colour = (98, 160, 100)


def meadow(canvas: Canvas, random: Random) -> None:
    """Green hills with flowers under a blue sky."""
    canvas.gradient(vary(random, (138, 202, 244)), (226, 244, 252), 0, 190)
    if random.random() < 0.6:
        sun(canvas, random.choice([40, 214]), random.uniform(30, 46), 17)
    for _ in range(random.randint(1, 3)):
        cloud(canvas, random.uniform(20, 236), random.uniform(22, 72), random.uniform(13, 19))
    hills(canvas, random, 158, vary(random, (150, 204, 130)))
    hills(canvas, random, 186, vary(random, (122, 190, 104)), 8)
    for _ in range(random.randint(5, 9)):
        x, y = random.uniform(6, 250), random.uniform(204, 248)
        _meadow_flower(canvas, x, y, random.choice(_FLOWERS))


def _meadow_flower(canvas: Canvas, x: float, y: float, petals: Colour) -> None:
    for petal in range(5):
        angle = petal * _FIFTH_OF_A_TURN
        canvas.ellipse(x + 3.4 * math.cos(angle), y + 3.4 * math.sin(angle), 2.3, 2.3, petals)
    canvas.ellipse(x, y, 2.1, 2.1, (246, 180, 60) if petals != _FLOWERS[1] else WHITE)


def beach(canvas: Canvas, random: Random) -> None:
    """Sand, a blue sea with white lines, often a palm."""
    canvas.gradient(vary(random, (122, 200, 244)), (220, 244, 250), 0, 150)
    sun(canvas, random.choice([42, 212]), random.uniform(34, 48), 18)
    cloud(canvas, random.uniform(90, 170), random.uniform(26, 54), 15)
    canvas.gradient(vary(random, (54, 148, 206)), (112, 200, 222), 140, 190)
    for row in range(3):
        columns = range(int(random.uniform(-10, 40)), 260, 26)
        wave = [(x, 154 + row * 11 + (2 if index % 2 else -2)) for index, x in enumerate(columns)]
        canvas.curve(wave[: random.randint(3, 9)], (206, 238, 246), 2)
    hills(canvas, random, 188, (250, 246, 232), 3)
    hills(canvas, random, 194, vary(random, (244, 220, 164), 5), 3)
    if random.random() < 0.6:
        _palm(canvas, random.choice([24, 232]))
    for _ in range(2):
        canvas.star(random.uniform(10, 246), random.uniform(214, 246), 6, (240, 130, 104))


def _palm(canvas: Canvas, x: float) -> None:
    inwards = 1 if x < 128 else -1
    crown_x = x + 14 * inwards
    canvas.limb([(x, 206), (x + 4 * inwards, 160), (crown_x, 110)], (164, 118, 78), (130, 88, 58), 9)
    for angle in _PALM_LEAF_ANGLES:
        cosine, sine = math.cos(angle), math.sin(angle)
        leaf = [
            (crown_x, 110),
            (crown_x + 18 * cosine, 104 + 15 * sine),
            (crown_x + 36 * cosine, 116 + 20 * sine),
            (crown_x + 18 * cosine, 112 + 12 * sine),
        ]
        canvas.blob(leaf, (84, 160, 88))


def snow(canvas: Canvas, random: Random) -> None:
    """White ground, firs with white tops, falling flakes."""
    canvas.gradient(vary(random, (166, 196, 230)), (230, 240, 250), 0, 200)
    hills(canvas, random, 160, (214, 226, 244))
    for _ in range(random.randint(2, 4)):
        x = beside_the_figure(random, (8, 70), (186, 248))
        y, height = random.uniform(178, 196), random.uniform(66, 100)
        pine(canvas, x, y, height, vary(random, (72, 130, 112), 6), snowy=True)
    hills(canvas, random, 192, (248, 250, 255), 6)
    for _ in range(26):
        radius = random.uniform(1.4, 2.8)
        canvas.ellipse(random.uniform(2, 254), random.uniform(2, 200), radius, radius, WHITE)


def forest(canvas: Canvas, random: Random) -> None:
    """A row of pale firs, round trees in front, toadstools in the grass."""
    canvas.gradient(vary(random, (176, 222, 190)), (222, 240, 206), 0, 200)
    for x in range(0, 270, 34):
        shifted_x, height = x + random.uniform(-9, 9), random.uniform(96, 134)
        pine(canvas, shifted_x, 182, height, vary(random, (120, 176, 132), 8))
    for _ in range(3):
        x = beside_the_figure(random, (4, 56), (200, 252))
        y, height = random.uniform(194, 206), random.uniform(90, 124)
        tree(canvas, x, y, height, vary(random, (88, 156, 84), 8))
    hills(canvas, random, 194, vary(random, (116, 172, 92)), 5)
    for _ in range(random.randint(2, 4)):
        x = beside_the_figure(random, (8, 70), (186, 248))
        _toadstool(canvas, x, random.uniform(216, 244))


def _toadstool(canvas: Canvas, x: float, y: float) -> None:
    canvas.limb([(x, y), (x, y - 7)], (250, 240, 222), (190, 170, 150), 6)
    cap = [(x - 10, y - 7), (x - 6, y - 15), (x + 6, y - 15), (x + 10, y - 7), (x, y - 5)]
    canvas.blob(cap, (216, 74, 66))
    canvas.ellipse(x - 3, y - 11, 1.6, 1.6, WHITE)
    canvas.ellipse(x + 3.5, y - 10, 1.6, 1.6, WHITE)


def desert(canvas: Canvas, random: Random) -> None:
    """Dunes in a warm light with two cacti."""
    canvas.gradient(vary(random, (252, 206, 140)), (254, 236, 196), 0, 200)
    sun(canvas, random.choice([46, 208]), 50, 20)
    hills(canvas, random, 164, (232, 178, 118), 16)
    hills(canvas, random, 192, (240, 200, 142), 7)
    for x in random.sample([22, 60, 200, 236], 2):
        _cactus(canvas, x, random.uniform(186, 204))


def _cactus(canvas: Canvas, x: float, y: float) -> None:
    line = dark(_CACTUS, 0.35)
    canvas.limb([(x, y), (x, y - 52)], _CACTUS, line, 13)
    canvas.limb([(x, y - 20), (x - 14, y - 22), (x - 14, y - 36)], _CACTUS, line, 9)
    canvas.limb([(x, y - 26), (x + 13, y - 28), (x + 13, y - 42)], _CACTUS, line, 9)


def autumn(canvas: Canvas, random: Random) -> None:
    """A park of red and golden trees, leaves in the air."""
    canvas.gradient(vary(random, (252, 222, 178)), (254, 242, 216), 0, 200)
    hills(canvas, random, 166, (226, 176, 106))
    for _ in range(4):
        x = beside_the_figure(random, (6, 64), (192, 250))
        y, height = random.uniform(186, 200), random.uniform(86, 120)
        tree(canvas, x, y, height, vary(random, random.choice(_AUTUMN_LEAVES), 8))
    hills(canvas, random, 192, (206, 150, 88), 5)
    for _ in range(14):
        x, y = random.uniform(4, 252), random.uniform(20, 250)
        leaf = random.choice(_AUTUMN_LEAVES)
        canvas.ellipse(x, y, 3.4, 2.2, leaf, turn=random.uniform(0, 3))


def city(canvas: Canvas, random: Random) -> None:
    """A street before tall houses, some of their windows lit."""
    canvas.gradient(vary(random, (250, 196, 150)), (254, 232, 200), 0, 200)
    left = -6.0
    while left < 256:
        width, height = random.uniform(30, 46), random.uniform(70, 150)
        _house(canvas, random, left, width, height)
        left += width + 1
    canvas.box(0, 198, 256, 256, (142, 142, 154))
    canvas.box(0, 196, 256, 206, (204, 200, 196))
    for x in range(8, 256, 48):
        canvas.polygon([(x, 236), (x + 24, 236), (x + 22, 241), (x - 2, 241)], (244, 232, 190))


def _house(canvas: Canvas, random: Random, left: float, width: float, height: float) -> None:
    wall = vary(random, random.choice(_HOUSES), 8)
    canvas.box(left, 200 - height, left + width, 200, wall)
    for y in np.arange(200 - height + 9, 186, 19):
        for x in np.arange(left + 6, left + width - 8, 12):
            pane = (255, 240, 186) if random.random() < 0.6 else dark(wall, 0.3)
            canvas.box(x, y, x + 6, y + 9, pane)
