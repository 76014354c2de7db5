"""The pieces that scenes are put together from: hills, trees, clouds, the sun."""

from random import Random

import numpy as np

from diffusionforce.engines.pocket.world.canvas import Canvas, smooth
from diffusionforce.engines.pocket.world.palette import WHITE, Colour, dark, light, mix

_CLOUD_PUFFS = ((-1.1, 0.1, 0.6), (-0.4, -0.3, 0.8), (0.4, -0.2, 0.75), (1.1, 0.15, 0.55))
"""Shift in x and y, and radius, of each puff, in radii of the cloud."""


def cloud(canvas: Canvas, x: float, y: float, radius: float) -> None:
    """Four puffs over a flat foot."""
    for shift_x, shift_y, size in _CLOUD_PUFFS:
        canvas.ellipse(x + shift_x * radius, y + shift_y * radius, size * radius, size * radius * 0.85, WHITE)
    canvas.ellipse(x, y + 0.35 * radius, 1.5 * radius, 0.42 * radius, WHITE)


def sun(canvas: Canvas, x: float, y: float, radius: float) -> None:
    """A yellow disc in a paler halo."""
    canvas.ellipse(x, y, radius * 1.35, radius * 1.35, (255, 240, 180))
    canvas.ellipse(x, y, radius, radius, (255, 222, 100))


def tree(canvas: Canvas, x: float, y: float, height: float, leaves: Colour) -> None:
    """A round tree that stands on (x, y)."""
    canvas.limb([(x, y), (x, y - height * 0.5)], (142, 98, 68), (110, 72, 50), height * 0.13)
    canvas.ellipse(x, y - height * 0.72, height * 0.34, height * 0.36, dark(leaves, 0.18))
    canvas.ellipse(x - height * 0.05, y - height * 0.76, height * 0.28, height * 0.29, leaves)
    canvas.ellipse(x - height * 0.1, y - height * 0.84, height * 0.13, height * 0.11, light(leaves, 0.2))


def pine(canvas: Canvas, x: float, y: float, height: float, needles: Colour, *, snowy: bool = False) -> None:
    """A fir of three tiers that stands on (x, y), its tops white when snowy."""
    canvas.limb([(x, y), (x, y - height * 0.2)], (128, 90, 66), (104, 70, 50), height * 0.1)
    for tier in range(3):
        half_width = height * (0.34 - 0.08 * tier)
        foot = y - height * (0.15 + 0.25 * tier)
        top = (x, foot - height * 0.42)
        canvas.polygon([(x - half_width, foot), top, (x + half_width, foot)], mix(needles, WHITE, 0.06 * tier))
        if snowy:
            cap = [
                (x - half_width * 0.42, foot - height * 0.24),
                top,
                (x + half_width * 0.42, foot - height * 0.24),
                (x + half_width * 0.12, foot - height * 0.2),
                (x - half_width * 0.1, foot - height * 0.26),
            ]
            canvas.polygon(cap, (248, 250, 255))


def hills(canvas: Canvas, random: Random, y: float, colour: Colour, height: float = 14) -> None:
    """Ground from a wavy horizon at about `y` down to the foot of the picture."""
    ridge = [(x, y + random.uniform(-height, height)) for x in np.linspace(-20, 276, 6)]
    canvas.polygon(np.concatenate([smooth(ridge, closed=False), [(276, 260), (-20, 260)]]), colour)


def beside_the_figure(random: Random, left: tuple[float, float], right: tuple[float, float]) -> float:
    """A place near the left or right edge, out of the way of the figure in the middle."""
    return random.choice([random.uniform(*left), random.uniform(*right)])
