"""Scenes without a daylight horizon: room, night, under the sea, space, and the plain background."""

from random import Random

from diffusionforce.engines.pocket.world.canvas import Canvas
from diffusionforce.engines.pocket.world.palette import INK, NAMED, WHITE, Colour, dark, light, mix, vary
from diffusionforce.engines.pocket.world.scenery import beside_the_figure, hills

_WALLPAPERS: tuple[Colour, ...] = ((250, 226, 200), (214, 230, 240), (244, 214, 220), (222, 236, 210))
_RUGS: tuple[Colour, ...] = ((222, 120, 110), (120, 150, 206), (236, 190, 100))
_WOOD: Colour = (150, 104, 74)
_CORALS: tuple[Colour, ...] = ((240, 124, 130), (250, 170, 90), (120, 190, 120))
_FISH: tuple[Colour, ...] = ((250, 176, 70), (244, 120, 150))
_PLANETS: tuple[Colour, ...] = ((240, 160, 100), (130, 190, 220), (232, 130, 160))
_CRATERS = ((60, 226), (196, 232), (128, 244))


def room(canvas: Canvas, random: Random) -> None:
    """Striped wallpaper, a wooden floor with a rug, a window, and a picture or a lamp."""
    wall = vary(random, random.choice(_WALLPAPERS), 5)
    canvas.box(0, 0, 256, 190, wall)
    for x in range(int(random.uniform(0, 20)), 256, 32):
        canvas.box(x, 0, x + 12, 190, mix(wall, WHITE, 0.35))
    canvas.box(0, 188, 256, 256, vary(random, (198, 148, 104), 6))
    canvas.box(0, 184, 256, 191, (250, 246, 238))
    for y in (210, 234):
        canvas.curve([(0, y), (256, y)], (178, 128, 88), 1.6)
    canvas.ellipse(128, 226, 92, 18, vary(random, random.choice(_RUGS), 6))
    window_left = random.choice([14, 186])
    _window(canvas, window_left)
    opposite_x = 228 if window_left < 100 else 30
    if random.random() < 0.5:
        _heart_picture(canvas, opposite_x)
    else:
        _standing_lamp(canvas, opposite_x)


def _window(canvas: Canvas, left: float) -> None:
    frame = [(left, 34), (left + 56, 34), (left + 56, 104), (left, 104)]
    canvas.polygon(frame, (178, 222, 246), _WOOD, 5)
    canvas.curve([(left + 28, 34), (left + 28, 104)], _WOOD, 3)
    canvas.curve([(left, 69), (left + 56, 69)], _WOOD, 3)


def _heart_picture(canvas: Canvas, x: float) -> None:
    frame = [(x - 22, 46), (x + 22, 46), (x + 22, 84), (x - 22, 84)]
    canvas.polygon(frame, (255, 252, 244), (196, 150, 90), 4)
    canvas.heart(x, 64, 11, (232, 110, 120))


def _standing_lamp(canvas: Canvas, x: float) -> None:
    canvas.curve([(x, 182), (x, 96)], (150, 110, 80), 4)
    shade = [(x - 18, 100), (x - 10, 70), (x + 10, 70), (x + 18, 100)]
    canvas.polygon(shade, (255, 232, 150), (210, 160, 90), 2.5)
    canvas.ellipse(x, 184, 14, 4, (130, 92, 70))


def night(canvas: Canvas, random: Random) -> None:
    """Dark hills under stars and a crescent moon."""
    canvas.gradient(vary(random, (30, 34, 84), 6), (84, 84, 152), 0, 200)
    for _ in range(22):
        radius = random.uniform(0.8, 1.9)
        canvas.ellipse(random.uniform(4, 252), random.uniform(4, 150), radius, radius, (255, 250, 214))
    moon_x = random.choice([44, 210])
    canvas.ellipse(moon_x, 44, 20, 20, (255, 244, 196))
    canvas.ellipse(moon_x + 9, 38, 16.5, 16.5, (44, 48, 100))
    hills(canvas, random, 168, (54, 70, 112))
    hills(canvas, random, 194, (42, 58, 90), 7)


def under_the_sea(canvas: Canvas, random: Random) -> None:
    """Light from above, bubbles, corals and fish over a sandy floor."""
    canvas.gradient(vary(random, (92, 190, 226)), (28, 92, 160), 0, 256)
    for x in (60, 120, 190):
        top, foot = x + random.uniform(-14, 14), x + random.uniform(0, 50)
        canvas.polygon([(top, 0), (x + 22, 0), (foot, 200), (x - 30, 200)], vary(random, (104, 190, 226), 5))
    hills(canvas, random, 206, (236, 214, 160), 7)
    for _ in range(9):
        radius = random.uniform(2, 6)
        x, y = random.uniform(4, 252), random.uniform(10, 190)
        canvas.ellipse(x, y, radius, radius, (150, 216, 240), (214, 240, 250), 1.4)
    for x in random.sample([18, 46, 212, 240], 3):
        _coral(canvas, x, random.choice(_CORALS))
    for _ in range(2):
        x, y = beside_the_figure(random, (20, 60), (196, 236)), random.uniform(40, 150)
        _fish(canvas, x, y, random.choice(_FISH))


def _coral(canvas: Canvas, x: float, colour: Colour) -> None:
    for spread in (-8, 0, 8):
        branch = [(x, 216), (x + spread * 0.6, 196), (x + spread * 1.3, 180 - abs(spread))]
        canvas.limb(branch, colour, dark(colour, 0.25), 7)


def _fish(canvas: Canvas, x: float, y: float, colour: Colour) -> None:
    canvas.polygon([(x + 9, y), (x + 20, y - 8), (x + 20, y + 8)], colour)
    canvas.ellipse(x, y, 13, 8, colour)
    canvas.ellipse(x - 7, y - 2, 2, 2, INK)


def space(canvas: Canvas, random: Random) -> None:
    """The grey ground of a moon before stars and a ringed planet."""
    canvas.gradient((26, 22, 56), (70, 44, 104), 0, 256)
    for _ in range(34):
        radius = random.uniform(0.8, 2)
        canvas.ellipse(random.uniform(2, 254), random.uniform(2, 210), radius, radius, (255, 250, 230))
    x, planet = random.choice([46, 208]), random.choice(_PLANETS)
    canvas.ellipse(x, 52, 38, 8, light(planet, 0.4), turn=-0.3)
    canvas.ellipse(x, 52, 22, 22, planet)
    canvas.ellipse(x - 6, 45, 11, 9, light(planet, 0.25))
    canvas.ellipse(128, 262, 190, 62, (172, 168, 188))
    for crater_x, crater_y in _CRATERS:
        canvas.ellipse(crater_x + random.uniform(-8, 8), crater_y, 15, 4.5, (142, 138, 162))


def plain(canvas: Canvas, colour_name: str) -> None:
    """Nothing but a soft gradient of one named colour."""
    colour = light(NAMED[colour_name], 0.35)
    canvas.gradient(light(colour, 0.25), colour, 0, 256)
