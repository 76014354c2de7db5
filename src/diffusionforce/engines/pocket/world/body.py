"""Body, clothes, arms and legs, around the point where the neck meets the shoulders (y = 0, feet near y = 79)."""

from collections.abc import Callable

from diffusionforce.engines.pocket.world.canvas import Canvas, Point, smooth
from diffusionforce.engines.pocket.world.figure import Build, Outfit
from diffusionforce.engines.pocket.world.palette import WHITE, Colour, dark, light

_CREAM: Colour = (252, 244, 226)
_BUTTON: Colour = (252, 226, 140)
_STRIPE: Colour = (252, 248, 240)

_RAISED_ARM_POSES = ("waving", "cheering", "jumping")
"""Poses that keep their arms although a thing is held."""

# Each arm as shoulder, elbow and hand: x outwards from the shoulder, y downwards.
_HANGING: tuple[Point, ...] = ((0, 12), (13, 26), (14, 42))
_ARMS: dict[str, tuple[tuple[Point, ...], tuple[Point, ...]]] = {
    "standing": (((0, 12), (12, 26), (13, 44)), ((0, 12), (12, 26), (13, 44))),
    "waving": (_HANGING, ((0, 12), (20, 4), (30, -20))),
    "cheering": (((0, 12), (19, 2), (28, -22)), ((0, 12), (19, 2), (28, -22))),
    "jumping": (((0, 12), (19, 2), (28, -22)), ((0, 12), (19, 2), (28, -22))),
    "hands on hips": (((0, 12), (20, 24), (2, 40)), ((0, 12), (20, 24), (2, 40))),
    "walking": (((0, 12), (15, 24), (22, 36)), ((0, 12), (9, 28), (3, 44))),
    "holding": (_HANGING, ((0, 12), (16, 22), (26, 10))),
}
"""Left and right arm of every pose, and of a hand that holds a thing."""

# Torso outlines: x in half body widths, y in units.
_DRESS_CUT: tuple[Point, ...] = (
    (-0.78, 0), (0, -3), (0.78, 0), (1.05, 24), (1.6, 56), (0, 60), (-1.6, 56), (-1.05, 24)
)  # fmt: skip
_COAT_CUT: tuple[Point, ...] = (
    (-1, 0), (0, -3), (1, 0), (1.16, 26), (1.3, 58), (0, 59), (-1.3, 58), (-1.16, 26)
)  # fmt: skip
_SHIRT_CUT: tuple[Point, ...] = (
    (-1, 0), (0, -3), (1, 0), (1.08, 24), (1.02, 50), (0, 52), (-1.02, 50), (-1.08, 24)
)  # fmt: skip
_CUTS = {"dress": _DRESS_CUT, "coat": _COAT_CUT}


def body(
    canvas: Canvas, *, outfit: Outfit, pose: str, skin: Colour, holding: bool, build: Build | None = None
) -> Point:
    """Draw everything below the neck.

    Returns:
        Where the right hand is, for a thing to be put into it.
    """
    build = build or Build()
    legs = skin if outfit.kind == "dress" else outfit.trousers
    _legs(canvas, pose, legs, outfit.shoes, build)
    _torso(canvas, outfit, build.half_width)
    sleeves = _CREAM if outfit.kind == "overalls" else outfit.cloth.colour
    return _arms(canvas, "holding" if holding and pose not in _RAISED_ARM_POSES else pose, sleeves, skin, build)


def _legs(canvas: Canvas, pose: str, colour: Colour, shoes: Colour, build: Build) -> None:
    hip = build.half_width * 0.46
    left_foot, right_foot = (-hip, 72.0), (hip, 72.0)
    if pose == "jumping":
        left_foot, right_foot = (-hip - 9, 62.0), (hip + 9, 62.0)
    elif pose == "walking":
        left_foot, right_foot = (-hip - 10, 70.0), (hip + 11, 72.0)
    for hip_x, (foot_x, foot_y) in ((-hip, left_foot), (hip, right_foot)):
        knee = ((hip_x + foot_x) / 2, (42 + foot_y) / 2)
        canvas.limb([(hip_x, 42), knee, (foot_x, foot_y)], colour, dark(colour), build.leg_width)
        outwards = 1 if foot_x > 0 else -1
        canvas.ellipse(foot_x + outwards * 3, foot_y + 4, build.leg_width * 0.78, 7.4, shoes, dark(shoes))


def _arms(canvas: Canvas, pose: str, sleeves: Colour, skin: Colour, build: Build) -> Point:
    hand: Point = (0, 0)
    for side, arm in zip((-1, 1), _ARMS[pose], strict=True):
        # The sum is made before the mirroring, so that both arms end on the same fraction of a pixel.
        points = [(side * (build.half_width + x), y) for x, y in arm]
        canvas.limb(points, sleeves, dark(sleeves), build.arm_width)
        hand = points[-1]
        canvas.ellipse(*hand, build.hand_radius, build.hand_radius, skin, dark(skin), 2)
    return hand


def _torso(canvas: Canvas, outfit: Outfit, half_width: float) -> None:
    cut = [(half_width * x, y) for x, y in _CUTS.get(outfit.kind, _SHIRT_CUT)]
    canvas.blob(cut, outfit.cloth.colour, dark(outfit.cloth.colour))
    details = _DETAILS.get(outfit.kind)
    if details:
        details(canvas, outfit.cloth.colour, half_width)
    if outfit.kind == "striped shirt":
        canvas.outline(smooth(cut), dark(outfit.cloth.colour), 2.2)


def _collar(canvas: Canvas, colour: Colour, half_width: float) -> None:
    canvas.curve([(-9, -1), (0, 5), (9, -1)], dark(colour), 2)


def _dress_bands(canvas: Canvas, colour: Colour, half_width: float) -> None:
    canvas.curve([(-half_width * 0.98, 28), (0, 32), (half_width * 0.98, 28)], light(colour, 0.55), 4)
    canvas.curve([(-half_width * 1.45, 51), (0, 55), (half_width * 1.45, 51)], light(colour, 0.45), 3)


def _coat_front(canvas: Canvas, colour: Colour, half_width: float) -> None:
    line = dark(colour)
    canvas.curve([(0, 2), (0, 56)], line)
    for y in (14, 28, 42):
        canvas.ellipse(5, y, 2.2, 2.2, _BUTTON)
    canvas.polygon([(-12, -3), (0, 12), (12, -3), (5, -6), (-5, -6)], light(colour, 0.3), line, 1.8)


def _hoodie_front(canvas: Canvas, colour: Colour, half_width: float) -> None:
    line = dark(colour)
    canvas.blob([(-13, 30), (13, 30), (16, 46), (-16, 46)], dark(colour, 0.14), line, 1.6)
    for x in (-5, 5):
        canvas.curve([(x, 3), (x, 15)], WHITE, 1.8)
    canvas.curve([(-16, 2), (0, 9), (16, 2)], line, 2.6)


def _stripes(canvas: Canvas, colour: Colour, half_width: float) -> None:
    for y in (10, 23, 36):
        canvas.curve([(-half_width * 0.98, y), (0, y + 2.6), (half_width * 0.98, y)], _STRIPE, 5.4)


def _overalls_front(canvas: Canvas, colour: Colour, half_width: float) -> None:
    w = half_width
    canvas.blob([(-w, 0), (0, -3), (w, 0), (w * 1.05, 22), (0, 26), (-w * 1.05, 22)], _CREAM, dark(_CREAM, 0.4))
    bib = [(-14, 14), (14, 14), (w * 1.06, 30), (w, 51), (0, 53), (-w, 51), (-w * 1.06, 30)]
    canvas.blob(bib, colour, dark(colour))
    for side in (-1, 1):
        canvas.curve([(side * 12, 16), (side * 15, 0)], colour, 4.6)
        canvas.ellipse(side * 11, 18, 2.2, 2.2, _BUTTON)


_DETAILS: dict[str, Callable[[Canvas, Colour, float], None]] = {
    "shirt": _collar,
    "dress": _dress_bands,
    "coat": _coat_front,
    "hoodie": _hoodie_front,
    "striped shirt": _stripes,
    "overalls": _overalls_front,
}
