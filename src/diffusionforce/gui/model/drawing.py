"""How long the preview that is being drawn has taken so far, and how long one takes here.

A trainer tells of a preview when it is done, not of its denoising steps; so the time is what there is to say about the
one that is under way.
"""

import statistics
from collections import deque
from collections.abc import Iterable

from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import tr

RECENT = 8
WORTH_TELLING_S = 2.0
"""Nobody reads what is over sooner."""


class Drawing:
    """The preview that is being drawn.

    Attributes:
        begun_s: When it was begun, by the clock of whoever tells it; None while none is, or nobody saw it begin.
    """

    def __init__(self) -> None:
        self.begun_s: float | None = None
        self._at: tuple[int, int] | None = None
        self._took_s: deque[float] = deque(maxlen=RECENT)
        self._since_step_s = 0.0

    def begin(self, step: int, index: int, *, now_s: float | None) -> None:
        """Note that a preview of a step is begun, unless it was before. `now_s` is None where nobody saw it begin."""
        if (step, index) != self._at:
            self._at, self.begun_s = (step, index), now_s

    def drawn(self, seconds: float) -> None:
        """Note how long a preview took."""
        self._took_s.append(seconds)
        self._since_step_s += seconds

    def took_before(self, seconds: Iterable[float]) -> None:
        """Note how long the previews of a run took that this one goes on from."""
        self._took_s.extendleft(reversed(list(seconds)[-RECENT:]))

    def step(self) -> None:
        """Note that a step of the training was made, so that no preview is being drawn."""
        self._since_step_s = 0.0
        self.end()

    def since_step_s(self, *, now_s: float) -> float:
        """Return what was drawn since the last step, in seconds of the time that all of it is expected to take."""
        usual_s = self.usual_s
        if self.begun_s is None or usual_s is None:
            return self._since_step_s
        return self._since_step_s + min(max(0.0, now_s - self.begun_s), usual_s)

    def end(self) -> None:
        """Note that none is being drawn."""
        self._at = self.begun_s = None

    @property
    def usual_s(self) -> float | None:
        """What a preview takes here, by the median of the last ones; None before the first."""
        return statistics.median(self._took_s) if self._took_s else None

    def told(self, *, now_s: float) -> str:
        """Return how long it takes so far, and of how much; empty where that is not known or too short to speak of."""
        if self.begun_s is None:
            return ""
        usual_s, elapsed_s = self.usual_s, max(0, int(now_s - self.begun_s))
        if usual_s is not None and max(usual_s, elapsed_s) < WORTH_TELLING_S:
            return ""
        elapsed = words.duration(elapsed_s)
        if usual_s is None:
            return elapsed
        return tr("{elapsed} of about {usual}").format(elapsed=elapsed, usual=words.duration(usual_s))
