"""How a picture is brought to the training size: scaled until it covers it, and cropped around its middle.

The engines do exactly this with every picture, so the window shows it, and says how much is lost.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

BLURRY_SCALE = 1.5
"""From this enlargement on a picture teaches blur."""
# Shapes that people have words for, as width to height.
_SHAPES = ((1, 1), (5, 4), (4, 3), (3, 2), (16, 10), (16, 9), (2, 1), (21, 9))


@dataclass(frozen=True, kw_only=True)
class Framing:
    """What of one picture is trained on. Sizes in pixels.

    Attributes:
        width: Width of the picture, upright.
        height: Its height.
        target_width: Width that is trained on.
        target_height: Height that is trained on.
    """

    width: int
    height: int
    target_width: int
    target_height: int

    @property
    def scale(self) -> float:
        """By how much the picture is enlarged, below 1 where it shrinks."""
        return max(self.target_width / self.width, self.target_height / self.height)

    @property
    def crop(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of what is kept, as shares from 0 to 1."""
        kept_w = self.target_width / self.scale / self.width
        kept_h = self.target_height / self.scale / self.height
        return (1 - kept_w) / 2, (1 - kept_h) / 2, (1 + kept_w) / 2, (1 + kept_h) / 2

    @property
    def cropped_share(self) -> float:
        """Share of the picture that is cut off, 0 to 1."""
        left, top, right, bottom = self.crop
        return 1 - (right - left) * (bottom - top)

    @property
    def is_blurry(self) -> bool:
        """Whether it is enlarged so much that it teaches blur."""
        return self.scale > BLURRY_SCALE

    @property
    def is_cut_at_sides(self) -> bool:
        """Whether what is lost lies left and right, not above and below."""
        return self.crop[0] > self.crop[1]


@lru_cache(maxsize=4096)
def shape(width: int, height: int) -> tuple[int, int]:
    """Return the usual shape that comes closest, as width to height, like (3, 2) or (9, 16)."""
    long, short = max(width, height), max(1, min(width, height))
    a, b = min(_SHAPES, key=lambda pair: abs(pair[0] / pair[1] - long / short))
    return (a, b) if width >= height else (b, a)


@dataclass(frozen=True, kw_only=True)
class ShapeCount:
    """Pictures of one shape.

    Attributes:
        shape: Width to height.
        num: How many there are.
        cropped_share: How much of them is cut off on average, 0 to 1.
        num_blurry: How many are enlarged so much that they teach blur.
    """

    shape: tuple[int, int]
    num: int
    cropped_share: float
    num_blurry: int


def count_shapes(framings: Iterable[Framing]) -> list[ShapeCount]:
    """Return how many pictures there are of each shape, from the tallest to the widest."""
    nums: Counter[tuple[int, int]] = Counter()
    blurry: Counter[tuple[int, int]] = Counter()
    lost: dict[tuple[int, int], float] = {}
    for framing in framings:
        key = shape(framing.width, framing.height)
        nums[key] += 1
        blurry[key] += framing.is_blurry
        lost[key] = lost.get(key, 0.0) + framing.cropped_share
    return [
        ShapeCount(shape=key, num=nums[key], cropped_share=lost[key] / nums[key], num_blurry=blurry[key])
        for key in sorted(nums, key=lambda pair: pair[0] / pair[1])
    ]
