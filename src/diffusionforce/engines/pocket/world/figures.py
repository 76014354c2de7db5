"""Whole figures, and how they are placed in a scene."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from diffusionforce.engines.pocket.world.accessories import glasses, hat, scarf, thing
from diffusionforce.engines.pocket.world.body import body
from diffusionforce.engines.pocket.world.canvas import Canvas, Point, mirrored
from diffusionforce.engines.pocket.world.face import blush, eyes, mouth
from diffusionforce.engines.pocket.world.figure import Figure
from diffusionforce.engines.pocket.world.hair import hair_behind
from diffusionforce.engines.pocket.world.heads import head
from diffusionforce.engines.pocket.world.palette import NAMED, WHITE, dark

_TAILS: dict[str, tuple[tuple[Point, ...], float]] = {
    "cat": (((18, 46), (44, 48), (54, 24), (48, 8)), 10),
    "fox": (((18, 46), (46, 52), (62, 30), (56, 6)), 19),
    "dog": (((18, 44), (36, 36), (46, 20)), 12),
}
"""Path and width of a tail."""
_HAT_LIFTS = {"frog": -6, "robot": 2}
# fmt: off
_SHEET: tuple[Point, ...] = (
    (-44, 40), (-46, -30), (-30, -78), (0, -92), (30, -78), (46, -30), (44, 40), (46, 66), (30, 56), (16, 70),
    (0, 58), (-16, 70), (-30, 56), (-46, 66),
)
# fmt: on


@dataclass(frozen=True, kw_only=True)
class Stance:
    """What placing needs to know of whatever is placed."""

    close_up: bool
    jumping: bool
    tall: bool = False
    """Drawn a little smaller and lower, so that ears or a high hat stay in the picture."""
    floating: bool = False
    lean: float = 0.0


def stance_of(figure: Figure) -> Stance:
    """The stance of an ordinary figure."""
    high_hat = figure.hat is not None and figure.hat.kind in ("wizard hat", "hat")
    return Stance(
        close_up=figure.close_up,
        jumping=figure.pose == "jumping",
        tall=high_hat or figure.species == "bunny",
        floating=figure.species == "ghost",
        lean=figure.lean,
    )


def place(canvas: Canvas, random: Random, *, stance: Stance, draw: Callable[[Canvas], None]) -> None:
    """Put a figure somewhere near the middle, with a shadow on the ground unless it is a close-up.

    Args:
        canvas: A canvas with its scene already painted: the shadow darkens what is there.
        random: Where size and position come from.
        stance: What kind of room it takes.
        draw: Draws the figure around its own origin.
    """
    if stance.close_up:
        scale = random.uniform(1.5, 1.66)
        x = 128 + random.uniform(-10, 10)
        y = 208 + (scale - 1.58) * 40
    else:
        scale = random.uniform(0.9, 1.06)
        x = 128 + random.uniform(-26, 26)
        y = 236 - 78 * scale
    if stance.tall:
        y += 16 if stance.close_up else 10
        scale *= 0.94
    if not stance.close_up:
        _shadow(canvas, x, y, scale, narrow=stance.jumping)
        if stance.floating:
            y -= 2
        if stance.jumping:
            y -= 17
    with canvas.frame(x, y, scale=scale, turn=stance.lean):
        draw(canvas)


def _shadow(canvas: Canvas, x: float, y: float, scale: float, *, narrow: bool) -> None:
    ground = canvas.colour_at(min(max(x, 2), 253), min(250, y + 80 * scale))
    canvas.ellipse(x, y + 79 * scale, (26 if narrow else 34) * scale, 6 * scale, dark(ground, 0.3))


def draw_figure(canvas: Canvas, figure: Figure) -> None:
    """Draw a figure around the point between its shoulders."""
    if figure.species == "ghost":
        _ghost(canvas, figure)
        return
    if figure.hair:
        hair_behind(canvas, figure.hair.style, figure.hair.dye.colour)
    _tail(canvas, figure)
    hand_x, hand_y = body(
        canvas,
        outfit=figure.outfit,
        pose=figure.pose,
        skin=figure.skin.colour,
        holding=figure.held is not None,
    )
    with canvas.frame(turn=figure.tilt):
        head(canvas, figure)
        _headwear(canvas, figure, lift=_HAT_LIFTS.get(figure.species, 2))
    if figure.scarf:
        scarf(canvas, figure.scarf.colour)
    _held(canvas, figure, hand_x + 2, hand_y)


def _tail(canvas: Canvas, figure: Figure) -> None:
    fur = figure.skin.colour
    if figure.species in _TAILS:
        path, width = _TAILS[figure.species]
        canvas.limb(path, fur, dark(fur), width)
    if figure.species == "fox":
        canvas.ellipse(55.5, 7, 8, 9, (255, 244, 230))
    elif figure.species == "bunny":
        canvas.ellipse(28, 46, 9, 9, WHITE, dark(fur), 2)


def _headwear(canvas: Canvas, figure: Figure, *, lift: float) -> None:
    if figure.glasses:
        glasses(canvas)
    if figure.hat:
        hat(canvas, figure.hat.kind, figure.hat.dye.colour, lift=lift)


def _held(canvas: Canvas, figure: Figure, x: float, y: float) -> None:
    if figure.held:
        colour = figure.held.dye.colour if figure.held.dye else NAMED["red"]
        thing(canvas, figure.held.kind, x, y, colour)


def _ghost(canvas: Canvas, figure: Figure) -> None:
    sheet = figure.skin.colour
    line = dark(sheet, 0.42)
    canvas.blob(_SHEET, sheet, line, 2.6)
    with canvas.frame(0, 4):
        for side in (-1, 1):
            both_up = figure.pose in ("cheering", "jumping")
            up = both_up or (figure.pose == "waving" and side == 1)
            arm = [(40, -4), (54, -8 if up else 6), (62, -24 if up else 14)]
            canvas.limb(mirrored(side, arm), sheet, line, 15)
        blush(canvas, 27, -30, skin=sheet)
        eyes(canvas, 17, -42, colour=figure.eyes.colour, expression=figure.expression, radius=7.6)
        mouth(canvas, -24, expression=figure.expression)
    if figure.scarf:
        scarf(canvas, figure.scarf.colour)
    # A sheet has no neck: hat before glasses, and neither turns with a head.
    if figure.hat:
        hat(canvas, figure.hat.kind, figure.hat.dye.colour, lift=-6)
    if figure.glasses:
        glasses(canvas)
    raised = figure.pose in ("cheering", "jumping", "waving")
    _held(canvas, figure, 62, -10 if raised else 12)
