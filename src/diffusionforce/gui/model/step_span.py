"""Which steps of a chart are looked at: all of them, the last ones as they come, or those that somebody chose."""

from dataclasses import dataclass

LEAST_STEPS = 10
"""Nobody comes nearer than that."""
LAST_STEPS = 200
FACTOR = 1.5
"""By how much a key or a notch of the wheel comes nearer."""


@dataclass
class StepSpan:
    """The part of the steps that is in sight.

    Attributes:
        chosen: First and last step that somebody chose; None for all.
        follows: Whether the last steps are looked at, whichever these are.
    """

    chosen: tuple[float, float] | None = None
    follows: bool = False

    @property
    def is_near(self) -> bool:
        """Whether less than all may be in sight."""
        return self.follows or self.chosen is not None

    def ends(self, *, newest: float, last: float) -> tuple[float, float]:
        """Return the first and the last step in sight.

        Args:
            newest: The newest step that there is something of.
            last: The last step of all, which may be still to come.
        """
        if self.follows:
            return max(0.0, newest - LAST_STEPS), max(newest, float(LEAST_STEPS))
        if self.chosen is None:
            return 0.0, max(1.0, last)
        return self.chosen

    def reset(self) -> None:
        """Look at all steps."""
        self.chosen, self.follows = None, False

    def follow(self) -> None:
        """Look at the last steps from now on."""
        self.chosen, self.follows = None, True

    def choose(self, first: float, other: float, *, last: float) -> None:
        """Look at the steps between two, in either order."""
        first, other = sorted(min(max(0.0, step), last) for step in (first, other))
        lacking = max(0.0, min(LEAST_STEPS, last) - (other - first))
        first = max(0.0, min(first - lacking / 2, last - (other - first) - lacking))
        other = max(other, min(last, first + LEAST_STEPS))
        self.follows = False
        self.chosen = None if first <= 0 and other >= last else (first, other)

    def zoom(self, factor: float, *, at: float, newest: float, last: float) -> None:
        """Come nearer by a factor, or go back with one below 1; the step `at` stays where it is."""
        first, other = self.ends(newest=newest, last=last)
        at = min(max(first, at), other)
        self.choose(at - (at - first) / factor, at + (other - at) / factor, last=last)

    def move(self, share: float, *, newest: float, last: float) -> None:
        """Look farther to the right, by a share of what is in sight; as far as there is something."""
        if not self.is_near:
            return
        first, other = self.ends(newest=newest, last=last)
        by = min(max(share * (other - first), -first), last - other)
        self.choose(first + by, other + by, last=last)
