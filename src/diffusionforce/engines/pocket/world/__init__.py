"""The picture-book world: an endless supply of drawn, captioned figures, made of numbers and a seed.

A base model needs hundreds of thousands of captioned pictures, with a licence, and a demo needs characters that
the base has never seen. Both are drawn here, by code, with nothing to download: `draw_page` gives the ordinary
figures that the base was trained on, `heroes` the two demo characters, which have attributes (teal hair, antlers,
a monocle) that the ordinary world lacks.

The drawing uses Pillow and numpy only. Seeds keep their pictures: the base weights that are shipped were trained
on this world, and changing it means training them again (see tools/pocket).
"""

from dataclasses import dataclass
from random import Random

from PIL import Image

from diffusionforce.engines.pocket.world.canvas import Canvas
from diffusionforce.engines.pocket.world.captions import caption_of
from diffusionforce.engines.pocket.world.casting import cast_figure
from diffusionforce.engines.pocket.world.figure import Figure
from diffusionforce.engines.pocket.world.figures import draw_figure, place, stance_of
from diffusionforce.engines.pocket.world.scenes import paint_scene

__all__ = ["Page", "caption_of", "cast_figure", "draw_page", "picture_of"]


@dataclass(frozen=True, kw_only=True)
class Page:
    """One picture with its caption."""

    picture: Image.Image
    caption: str


def picture_of(figure: Figure, random: Random, *, size_px: int = 256, oversampling: int = 2) -> Image.Image:
    """Draw a figure in its scene.

    Args:
        figure: Whom to draw, and where.
        random: Where the details of scene and placing come from.
        size_px: Width and height of the picture.
        oversampling: How much larger it is drawn before it is averaged down.

    Returns:
        A square RGB picture.
    """
    canvas = Canvas(size_px, oversampling=oversampling)
    paint_scene(canvas, random, name=figure.scene, plain_colour=figure.plain_colour)
    place(canvas, random, stance=stance_of(figure), draw=lambda canvas: draw_figure(canvas, figure))
    return canvas.picture()


def draw_page(random: Random, *, size_px: int = 256) -> Page:
    """Draw an ordinary figure of the world, with one caption."""
    figure = cast_figure(random)
    picture = picture_of(figure, random, size_px=size_px)
    return Page(picture=picture, caption=caption_of(figure, random))
