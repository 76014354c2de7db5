"""The product's icon and the pictures of the set-up program, drawn from the two beams of the logo.

Drawn larger than needed and scaled down, which smooths the edges. The same Pillow draws the same bytes.
"""

import io
import math
import struct
from collections.abc import Iterable
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter

CYAN, ORANGE = (0x3C, 0xC3, 0xD9), (0xF2, 0x99, 0x4A)
TILE_TOP, TILE_BOTTOM = (0x2A, 0x2F, 0x39), (0x14, 0x16, 0x1A)
BEAMS = (
    (CYAN, ((3, 6), (15, 6), (16, 15.5), (30, 15.5)), ((30, 16.5), (17, 16.5), (15, 15), (3, 15))),
    (ORANGE, ((3, 26), (15, 26), (16, 16.5), (30, 16.5)), ((30, 15.5), (17, 15.5), (15, 17), (3, 17))),
)
"""Of the logo, on a grid of 32: a colour, and the cubic curves of both edges. `gui/icons.py` has the same as SVG."""
ICON_SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)
"""Edges in pixels; Windows takes the one that suits its scale."""
SMOOTHING = 8
WELCOME_SIZE, HEADER_SIZE = (164, 314), (150, 57)
"""Pixels that NSIS gives its pictures at a scale of 100 %."""

Point = tuple[float, float]
Colour = tuple[int, int, int]


def icon(size: int) -> Image.Image:
    """Return the product's icon, RGBA: the beams on a dark tile, so that it shows on light and dark alike.

    Args:
        size: Edge in pixels.
    """
    large = size * SMOOTHING
    tile = shaded((large, large), top=TILE_TOP, bottom=TILE_BOTTOM).convert("RGBA")
    mask = Image.new("L", tile.size)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, large - 1, large - 1), radius=large * 0.21, fill=255)
    # Small, the beams take more of the tile, or they would be lines. They are 27 steps long, around (16.5, 16).
    scale = large * (0.88 if size <= 24 else 0.76) / 27
    draw_beams(tile, origin=(large / 2 - 16.5 * scale, large / 2 - 16 * scale), scale=scale)
    tile.putalpha(mask)
    return tile.resize((size, size), Image.Resampling.LANCZOS)


def welcome() -> Image.Image:
    """Return the tall picture of the first and last page, RGB: two beams that meet."""
    width, height = WELCOME_SIZE[0] * SMOOTHING, WELCOME_SIZE[1] * SMOOTHING
    picture = shaded((width, height), top=TILE_TOP, bottom=(0x0B, 0x0C, 0x0F)).convert("RGBA")
    # Drawn to the right, as wide as the picture and beginning outside of it, they come down when turned.
    beams = Image.new("RGBA", (height, width))
    scale = width / 21
    draw_beams(beams, origin=(-5.5 * scale, width / 2 - 16 * scale), scale=scale)
    beams = beams.transpose(Image.Transpose.ROTATE_270)
    glow = beams.filter(ImageFilter.GaussianBlur(9 * SMOOTHING))
    picture = Image.alpha_composite(picture, glow)
    picture = Image.alpha_composite(picture, beams)
    return picture.convert("RGB").resize(WELCOME_SIZE, Image.Resampling.LANCZOS)


def header() -> Image.Image:
    """Return the small picture at the top of the other pages, RGB on white."""
    width, height = HEADER_SIZE[0] * SMOOTHING, HEADER_SIZE[1] * SMOOTHING
    picture = Image.new("RGB", (width, height), (255, 255, 255))
    edge = int(height * 0.8)
    tile = icon(edge)
    picture.paste(tile, (width - edge - (height - edge) // 2, (height - edge) // 2), tile)
    return picture.resize(HEADER_SIZE, Image.Resampling.LANCZOS)


def shaded(size: tuple[int, int], *, top: Colour, bottom: Colour) -> Image.Image:
    """Return an RGB picture that goes from one colour to another, downwards.

    Args:
        size: Width and height in pixels.
        top: The colour above.
        bottom: The colour below.
    """
    ramp = Image.linear_gradient("L").resize(size, Image.Resampling.BILINEAR)
    return Image.composite(Image.new("RGB", size, bottom), Image.new("RGB", size, top), ramp)


def draw_beams(picture: Image.Image, *, origin: Point, scale: float) -> None:
    """Paint the beams over a picture.

    Args:
        picture: RGB or RGBA.
        origin: Where the logo's grid begins, in pixels.
        scale: Pixels of one step of the grid.
    """
    draw = ImageDraw.Draw(picture)
    for colour, *edges in BEAMS:
        points = [point for edge in edges for point in curve(*edge)]
        draw.polygon([(origin[0] + x * scale, origin[1] + y * scale) for x, y in points], fill=colour)


def curve(start: Point, first: Point, second: Point, end: Point, *, num_points: int = 64) -> list[Point]:
    """Return points of a cubic Bézier curve, its ends included."""
    points: list[Point] = []
    for index in range(num_points):
        t = index / (num_points - 1)
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
        x, y = (
            math.fsum(w * p[axis] for w, p in zip(weights, (start, first, second, end), strict=True)) for axis in (0, 1)
        )
        points.append((x, y))
    return points


def ico(pictures: Iterable[Image.Image]) -> bytes:
    """Return an `.ico` file: bitmaps, which everything reads, and a PNG for the one of 256 pixels.

    Args:
        pictures: Square RGBA pictures of at most 256 pixels.
    """
    images = [(picture.width, _png(picture) if picture.width >= 256 else _bitmap(picture)) for picture in pictures]
    offset = 6 + 16 * len(images)
    entries = b""
    for size, data in images:
        entries += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(data), offset)
        offset += len(data)
    return struct.pack("<HHH", 0, 1, len(images)) + entries + b"".join(data for _, data in images)


def _bitmap(picture: Image.Image) -> bytes:
    """Return a picture as an icon's bitmap: colours from the bottom row up, then an empty mask of one bit a pixel."""
    size = picture.width
    header_bytes = struct.pack("<IiiHHIIiiII", 40, size, 2 * size, 1, 32, 0, 0, 0, 0, 0, 0)
    colours = picture.transpose(Image.Transpose.FLIP_TOP_BOTTOM).tobytes("raw", "BGRA")
    return header_bytes + colours + bytes((size + 31) // 32 * 4 * size)


def _png(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def draw_all(folder: Path) -> Path:
    """Draw everything into a folder: `app.ico`, `welcome.bmp`, `header.bmp`, and `diffusionforce.png` for Linux.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "app.ico").write_bytes(ico(icon(size) for size in ICON_SIZES))
    welcome().save(folder / "welcome.bmp")
    header().save(folder / "header.bmp")
    (folder / "diffusionforce.png").write_bytes(_png(icon(256)))
    return folder
