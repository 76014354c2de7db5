"""How near a picture is looked at, and which part of it: one view for all pictures that are compared."""

from dataclasses import dataclass

MAX_SCALE = 16.0
STEP = 1.25
"""By how much a key or a notch of the wheel comes nearer."""


@dataclass
class Zoom:
    """What is seen of pictures of one shape. Places are shares of the picture, from 0 to 1.

    Attributes:
        scale: 1 shows all of it, 2 half of its width.
        left: Where the part that is seen begins.
        top: Where it begins from above.
    """

    scale: float = 1.0
    left: float = 0.0
    top: float = 0.0

    @property
    def span(self) -> float:
        """Width and height of the part that is seen."""
        return 1 / self.scale

    @property
    def is_near(self) -> bool:
        """Whether less than all is seen."""
        return self.scale > 1

    def by(self, factor: float, *, x: float = 0.5, y: float = 0.5) -> None:
        """Come nearer, or go back; what is at a place of the view stays there.

        Args:
            factor: Above 1 comes nearer.
            x: The place, as a share of the view's width.
            y: The place, as a share of the view's height.
        """
        before = self.span
        self.scale = min(MAX_SCALE, max(1.0, self.scale * factor))
        self.move((before - self.span) * x, (before - self.span) * y)

    def pan(self, x: float, y: float) -> None:
        """Move the picture with the mouse.

        Args:
            x: How far to the right, as a share of the view's width.
            y: How far down, as a share of the view's height.
        """
        self.move(-x * self.span, -y * self.span)

    def move(self, right: float, down: float) -> None:
        """Look farther right and down, by shares of the picture, as far as there is something."""
        self.left = min(1 - self.span, max(0.0, self.left + right))
        self.top = min(1 - self.span, max(0.0, self.top + down))

    def reset(self) -> None:
        """Show all of it."""
        self.scale, self.left, self.top = 1.0, 0.0, 0.0
