"""Drawing in picture-book units: smooth shapes with ink outlines, on a canvas of any size.

Pillow draws polygons and lines in whole pixels of one fixed frame. Here a picture is always 256 units wide
whatever its size in pixels, a figure is drawn around its own origin and placed by a stack of frames (shift,
scale, turn), and everything is drawn larger and averaged down, which gives soft edges.

Legend: points are (x, y) in units of the current frame, y downwards; widths are in the same units.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from diffusionforce.engines.pocket.world.palette import WHITE, Colour

UNITS = 256.0
"""Width and height of every picture in drawing units."""

Point: TypeAlias = tuple[float, float]
Points: TypeAlias = Sequence[Point] | NDArray[np.float64]

_CIRCLE_ANGLES = np.linspace(0, 2 * math.pi, 40, endpoint=False)
UNIT_CIRCLE: NDArray[np.float64] = np.stack([np.cos(_CIRCLE_ANGLES), np.sin(_CIRCLE_ANGLES)], 1)
"""Forty points, (40, 2) float64, that pass for a circle of radius 1."""

_T = np.linspace(0, 1, 6, endpoint=False)[:, None]
_CATMULL_ROM = np.concatenate(
    [
        -0.5 * _T + _T**2 - 0.5 * _T**3,
        1 - 2.5 * _T**2 + 1.5 * _T**3,
        0.5 * _T + 2 * _T**2 - 1.5 * _T**3,
        -0.5 * _T**2 + 0.5 * _T**3,
    ],
    1,
)
"""Weights of four neighbouring control points at six places between the middle two, (6, 4)."""


def mirrored(side: int, points: Sequence[Point]) -> list[Point]:
    """The points of a right-hand shape on the asked side (-1 left, 1 right) of the vertical axis."""
    return [(side * x, y) for x, y in points]


def smooth(points: Points, *, closed: bool = True) -> NDArray[np.float64]:
    """A Catmull-Rom curve through the points: it passes each of them and has no corners.

    Args:
        points: At least two control points.
        closed: Join the last point to the first.

    Returns:
        (N, 2) float64, six points for every span.
    """
    control = np.asarray(points, float)
    count = len(control)
    if closed:
        windows = np.stack([control[(np.arange(count) + offset) % count] for offset in (-1, 0, 1, 2)], 1)
    else:
        # Reflect the ends, so that the curve starts and stops at the outer points.
        ends = np.concatenate([2 * control[:1] - control[1:2], control, 2 * control[-1:] - control[-2:-1]])
        windows = np.stack([ends[offset : offset + count - 1] for offset in range(4)], 1)
    curve = np.einsum("uk,nkd->nud", _CATMULL_ROM, windows).reshape(-1, 2)
    return curve if closed else np.concatenate([curve, control[-1:]])


class Canvas:
    """One picture in the making.

    Args:
        size_px: Width and height of the finished picture.
        oversampling: Whole factor by which it is drawn larger and averaged down at the end.
    """

    def __init__(self, size_px: int = 256, *, oversampling: int = 2) -> None:
        self._side_px = size_px * oversampling
        self._oversampling = oversampling
        self._pixels_per_unit = self._side_px / UNITS
        self._image = Image.new("RGB", (self._side_px, self._side_px), WHITE)
        self._pen = ImageDraw.Draw(self._image)
        self._matrix: NDArray[np.float64] = np.eye(2)
        self._origin: NDArray[np.float64] = np.zeros(2)

    @contextmanager
    def frame(self, x: float = 0, y: float = 0, *, scale: float = 1.0, turn: float = 0.0) -> Iterator[None]:
        """Draw around (x, y) of the present frame, scaled and turned (radians), until the block ends."""
        matrix, origin = self._matrix, self._origin
        cosine, sine = math.cos(turn), math.sin(turn)
        self._origin = matrix @ np.array([x, y]) + origin
        self._matrix = matrix @ (np.array([[cosine, -sine], [sine, cosine]]) * scale)
        try:
            yield
        finally:
            self._matrix, self._origin = matrix, origin

    def colour_at(self, x: float, y: float) -> Colour:
        """The colour drawn so far at a point in units of the whole picture, whatever the frame."""
        pixel = self._image.getpixel((int(x * self._pixels_per_unit), int(y * self._pixels_per_unit)))
        assert isinstance(pixel, tuple)
        return int(pixel[0]), int(pixel[1]), int(pixel[2])

    def outline(self, points: Points, colour: Colour, width: float) -> None:
        """Ink along a closed loop."""
        loop = self._to_pixels(points)
        # Two points more than the loop: the joint at its start is then drawn like the others.
        self._pen.line([*loop, loop[0], loop[1]], fill=colour, width=self._width_px(width), joint="curve")

    def polygon(self, points: Points, fill: Colour, line: Colour | None = None, width: float = 2.2) -> None:
        """A filled shape with straight edges and, where `line` is given, an ink outline."""
        self._pen.polygon(self._to_pixels(points), fill=fill)
        if line:
            self.outline(points, line, width)

    def box(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        """A filled rectangle."""
        self.polygon([(left, top), (right, top), (right, bottom), (left, bottom)], fill)

    def blob(self, points: Points, fill: Colour, line: Colour | None = None, width: float = 2.2) -> None:
        """A filled shape with a smooth edge through the points."""
        self.polygon(smooth(points), fill, line, width)

    def ellipse(
        self,
        x: float,
        y: float,
        half_width: float,
        half_height: float,
        fill: Colour,
        line: Colour | None = None,
        width: float = 2.2,
        *,
        turn: float = 0.0,
    ) -> None:
        """A filled ellipse around (x, y); its outline straddles the edge."""
        if line:
            outer = self._ellipse_px(x, y, half_width + width / 2, half_height + width / 2, turn)
            self._pen.polygon(outer, fill=line)
            half_width -= width / 2
            half_height -= width / 2
        self._pen.polygon(self._ellipse_px(x, y, half_width, half_height, turn), fill=fill)

    def curve(self, points: Points, colour: Colour, width: float = 2.2) -> None:
        """A smooth open line with round ends."""
        path = self._to_pixels(smooth(points, closed=False))
        width_px = self._width_px(width)
        self._pen.line(path, fill=colour, width=width_px, joint="curve")
        radius = width_px / 2 - 0.5
        for x, y in (path[0], path[-1]):
            self._pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)

    def limb(self, points: Points, fill: Colour, line: Colour, width: float = 12, line_width: float = 2.2) -> None:
        """A thick smooth line with an outline: arms, legs, tails, trunks."""
        self.curve(points, line, width + line_width)
        self.curve(points, fill, width - line_width)

    def star(
        self, x: float, y: float, radius: float, fill: Colour, line: Colour | None = None, width: float = 2.0
    ) -> None:
        """A star with five points, one of them up."""
        angles = -math.pi / 2 + np.arange(10) * math.pi / 5
        radii = np.where(np.arange(10) % 2 == 0, radius, radius * 0.48)
        self.polygon(np.stack([x + radii * np.cos(angles), y + radii * np.sin(angles)], 1), fill, line, width)

    def heart(self, x: float, y: float, radius: float, fill: Colour) -> None:
        """A heart around (x, y)."""
        t = np.linspace(0, 2 * math.pi, 30, endpoint=False)
        height = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
        shape = np.stack([16 * np.sin(t) ** 3, -height], 1) * radius / 16
        self.polygon(shape + np.array([x, y]), fill)

    def gradient(self, top: Colour, bottom: Colour, from_y: float, to_y: float) -> None:
        """Paint a band of the whole picture, from one colour at the top to another at the bottom."""
        share = np.linspace(0, 1, 32)[:, None]
        column = (np.array(top) * (1 - share) + np.array(bottom) * share).astype(np.uint8)[:, None, :]
        first, last = int(from_y * self._pixels_per_unit), int(to_y * self._pixels_per_unit)
        band = Image.fromarray(column).resize((self._side_px, last - first), Image.Resampling.BILINEAR)
        self._image.paste(band, (0, first))

    def picture(self) -> Image.Image:
        """The picture at its final size, RGB."""
        return self._image.reduce(self._oversampling) if self._oversampling > 1 else self._image

    def _to_pixels(self, points: Points) -> list[Point]:
        placed = (np.asarray(points, float) @ self._matrix.T + self._origin) * self._pixels_per_unit
        return [(x, y) for x, y in placed.tolist()]

    def _ellipse_px(self, x: float, y: float, half_width: float, half_height: float, turn: float) -> list[Point]:
        points = UNIT_CIRCLE * (half_width, half_height)
        if turn:
            cosine, sine = math.cos(turn), math.sin(turn)
            points = points @ np.array([[cosine, sine], [-sine, cosine]])
        return self._to_pixels(points + np.array([x, y]))

    def _width_px(self, width: float) -> int:
        frame_scale = math.sqrt(abs(np.linalg.det(self._matrix)))
        return max(1, round(width * self._pixels_per_unit * frame_scale))
