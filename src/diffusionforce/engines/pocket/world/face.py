"""Eyes, mouth, blush: what an expression changes. Faces are drawn around the origin of the head's frame."""

from diffusionforce.engines.pocket.world.canvas import Canvas
from diffusionforce.engines.pocket.world.palette import INK, WHITE, Colour, dark, light, mix

HEAD_HALF_WIDTH = 43
HEAD_HALF_HEIGHT = 38
HEAD_CENTRE_Y = -44
"""A human head's ellipse in its frame; the neck joins at y = 0."""

_MOUTH: Colour = (150, 46, 60)
_TONGUE: Colour = (240, 128, 134)


def eyes(canvas: Canvas, distance: float, y: float, *, colour: Colour, expression: str, radius: float = 7.2) -> None:
    """Both eyes, `distance` to each side of the middle, with the brows that an expression brings."""
    for side in (-1, 1):
        x = side * distance
        if expression == "sleepy":
            canvas.curve([(x - 7, y), (x, y + 4), (x + 7, y)], INK, 2.6)
        elif expression == "happy" or (expression == "winking" and side == 1):
            canvas.curve([(x - 7, y + 3), (x, y - 3.5), (x + 7, y + 3)], INK, 2.8)
        else:
            _open_eye(canvas, x, y, colour, radius * (1.18 if expression == "surprised" else 1))
            _brow(canvas, x, y, side, expression)


def _open_eye(canvas: Canvas, x: float, y: float, colour: Colour, radius: float) -> None:
    canvas.ellipse(x, y, radius * 0.9, radius * 1.18, INK)
    canvas.ellipse(x, y + radius * 0.12, radius * 0.74, radius * 0.98, colour)
    canvas.ellipse(x, y, radius * 0.46, radius * 0.62, dark(colour, 0.72))
    canvas.ellipse(x, y + radius * 0.66, radius * 0.46, radius * 0.3, light(colour, 0.4))
    canvas.ellipse(x - radius * 0.28, y - radius * 0.48, radius * 0.34, radius * 0.38, WHITE)
    canvas.ellipse(x + radius * 0.32, y + radius * 0.3, radius * 0.16, radius * 0.18, WHITE)


def _brow(canvas: Canvas, x: float, y: float, side: int, expression: str) -> None:
    if expression == "angry":
        canvas.curve([(x - side * 8, y - 9), (x + side * 8, y - 14)], INK, 3.2)
    elif expression == "sad":
        canvas.curve([(x - side * 7, y - 15), (x + side * 8, y - 11)], INK, 2.4)


def mouth(canvas: Canvas, y: float, *, expression: str, breadth: float = 1.0) -> None:
    """The mouth of an expression, with its upper edge at about `y`."""
    match expression:
        case "smiling" | "winking":
            canvas.curve([(-7 * breadth, y), (0, y + 4.4), (7 * breadth, y)], INK, 2.4)
        case "happy" | "laughing":
            _open_mouth(canvas, y, breadth)
        case "sad":
            canvas.curve([(-6 * breadth, y + 4), (0, y), (6 * breadth, y + 4)], INK, 2.4)
        case "angry":
            canvas.curve([(-6 * breadth, y + 3), (-2, y + 0.5), (2, y + 2.5), (6 * breadth, y)], INK, 2.4)
        case "surprised":
            canvas.ellipse(0, y + 3, 4.2, 5.4, _MOUTH, INK, 2)
        case _:
            canvas.ellipse(0, y + 2, 3, 2.6, _MOUTH, INK, 1.8)


def _open_mouth(canvas: Canvas, y: float, breadth: float) -> None:
    lips = [
        (-8.5 * breadth, y - 1.5),
        (0, y - 0.5),
        (8.5 * breadth, y - 1.5),
        (5.5 * breadth, y + 7),
        (0, y + 9.2),
        (-5.5 * breadth, y + 7),
    ]
    canvas.blob(lips, _MOUTH, INK, 2)
    canvas.ellipse(0, y + 6.2, 4.4 * breadth, 2.5, _TONGUE)


def blush(canvas: Canvas, distance: float, y: float, *, skin: Colour, strength: float = 0.55) -> None:
    """Two pink cheeks."""
    for side in (-1, 1):
        canvas.ellipse(side * distance, y, 6.2, 3.8, mix(skin, (244, 120, 120), strength))


def nose_line(canvas: Canvas, y: float, *, skin: Colour) -> None:
    """A human nose: one short line."""
    canvas.curve([(-1.6, y), (1.6, y)], dark(skin, 0.3), 2.4)
