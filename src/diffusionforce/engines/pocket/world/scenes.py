"""The scenes by name: how each is painted and the phrases that captions use for it."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from diffusionforce.engines.pocket.world import otherwhere, outdoors
from diffusionforce.engines.pocket.world.canvas import Canvas


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A place that a figure can stand in."""

    paint: Callable[[Canvas, Random], None] | None
    """Paints the whole canvas; None for the plain background, whose colour is the figure's choice."""
    phrases: tuple[str, ...]
    """Ways to say it in a caption; `{}` stands for the colour of a plain background."""


SCENES: dict[str, Scene] = {
    "meadow": Scene(paint=outdoors.meadow, phrases=("in a meadow", "in a sunny meadow", "on green hills")),
    "beach": Scene(paint=outdoors.beach, phrases=("on a beach", "at the beach")),
    "room": Scene(paint=otherwhere.room, phrases=("in a room", "in a cozy room", "at home")),
    "night": Scene(paint=otherwhere.night, phrases=("at night", "under the night sky")),
    "city": Scene(paint=outdoors.city, phrases=("in a city", "in a city street")),
    "snow": Scene(paint=outdoors.snow, phrases=("in the snow", "in a snowy field")),
    "forest": Scene(paint=outdoors.forest, phrases=("in a forest", "in the woods")),
    "desert": Scene(paint=outdoors.desert, phrases=("in a desert", "in the desert")),
    "sea": Scene(paint=otherwhere.under_the_sea, phrases=("under the sea", "underwater")),
    "space": Scene(paint=otherwhere.space, phrases=("in space", "on the moon")),
    "autumn": Scene(paint=outdoors.autumn, phrases=("in an autumn park", "in autumn")),
    "plain": Scene(paint=None, phrases=("on a {} background",)),
}


def paint_scene(canvas: Canvas, random: Random, *, name: str, plain_colour: str) -> None:
    """Paint a scene over the whole canvas.

    Args:
        canvas: An empty canvas.
        random: Where the details come from.
        name: A key of `SCENES`.
        plain_colour: Name of the colour used when the scene is the plain background.
    """
    paint = SCENES[name].paint
    if paint is None:
        otherwhere.plain(canvas, plain_colour)
    else:
        paint(canvas, random)
