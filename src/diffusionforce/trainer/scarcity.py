"""RAM that runs short while a run goes on: a word and a save, before the system ends whoever it likes.

Where RAM is used up, Linux kills a process and Windows lets every program crawl; neither gives notice. The forecast
counts what the run itself needs, but not what somebody opens during the night.
"""

import time
from collections.abc import Callable

import psutil

from diffusionforce.rig import in_gb
from diffusionforce.wire import Warn

GIB = 1 << 30
LOOK_EVERY_S = 5.0
SCARCE_SHARE, MOST_SCARCE_BYTES = 0.04, GIB
"""Less than this share of the computer's RAM, or than so many bytes if that is less, is scarce."""
_AMPLE_TIMES = 2
"""So many times as much has to be there before the next word about it."""


class ScarceRam:
    """Looks at the computer's RAM during one run.

    Args:
        warn: Told once when it has become scarce.
        save: Asks for a checkpoint then.
        clock: Seconds, for tests.
    """

    def __init__(
        self, *, warn: Callable[[Warn], None], save: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._warn, self._save, self._clock = warn, save, clock
        self._looked_s = float("-inf")
        self._is_scarce = False

    def look(self) -> None:
        """Look, if it is time to."""
        if self._clock() - self._looked_s < LOOK_EVERY_S:
            return
        self._looked_s = self._clock()
        memory = psutil.virtual_memory()
        scarce_bytes = min(MOST_SCARCE_BYTES, int(SCARCE_SHARE * memory.total))
        if memory.available >= _AMPLE_TIMES * scarce_bytes:
            self._is_scarce = False
        elif memory.available < scarce_bytes and not self._is_scarce:
            self._is_scarce = True
            self._warn(
                Warn(
                    sentence=f"The computer runs short of RAM: {in_gb(memory.available)} of {in_gb(memory.total)} are "
                    "left.",
                    hint="Close other programs: where RAM is used up, the system may end this run without a word. It "
                    "saves now, so that little would be lost.",
                )
            )
            self._save()
