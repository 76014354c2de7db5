"""Reads what uv says while it works: which packages it downloads, how large they are, which have come.

uv draws bars on a terminal. Into a pipe it writes a line when the download of a larger package begins, with its size,
and one when it has ended; how far a download is in between it does not say. So the bytes of the network are counted
meanwhile, and no more of them than the packages that are on their way have.
"""

import re
import time

import psutil

from diffusionforce.wire.environment import BuildStep, EnvironmentProgress

_BEGUN = re.compile(r"^\s*(?:Downloading|Building) (?P<name>\S+)(?: \((?P<number>[\d.]+)(?P<unit>[KMGT]?i?B)\))?$")
_ENDED = re.compile(r"^\s*(?:Downloaded|Built) (?P<name>\S+)$")
_COUNTED = re.compile(r"^(?:Resolved|Prepared|Installed|Checked|Audited) (?P<number>\d+) packages?\b")
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SPEED_OVER_S = 5.0


class UvOutput:
    """What one call of uv has said so far.

    Args:
        step: The step that it does.
    """

    def __init__(self, step: BuildStep) -> None:
        self._step: BuildStep = step
        self._sizes: dict[str, int] = {}
        self._ended: dict[str, None] = {}
        self._num_packages = 0
        self._start_bytes: int | None = None
        self._marks: list[tuple[float, int]] = []

    def take(self, line: str) -> None:
        """Take in a line."""
        if begun := _BEGUN.match(line):
            if self._start_bytes is None:
                self._start_bytes = _received_bytes()
            self._sizes[begun["name"]] = _bytes(begun["number"], begun["unit"])
        elif (ended := _ENDED.match(line)) and ended["name"] in self._sizes:
            self._ended[ended["name"]] = None
        elif counted := _COUNTED.match(line):
            self._num_packages = max(self._num_packages, int(counted["number"]))

    def progress(self) -> EnvironmentProgress:
        """Return how far it is."""
        coming, total = self._coming(), sum(self._sizes.values())
        received = 0 if self._start_bytes is None else _received_bytes() - self._start_bytes
        done = min(max(received, total - sum(coming.values())), total)
        return EnvironmentProgress(
            step=self._step,
            package=max(coming, key=lambda name: coming[name], default=""),
            done_bytes=done,
            total_bytes=total,
            bytes_per_s=self._speed(done),
            done=len(self._ended),
            total=self._num_packages,
        )

    def _coming(self) -> dict[str, int]:
        return {name: size for name, size in self._sizes.items() if name not in self._ended}

    def _speed(self, done_bytes: int) -> int:
        now_s = time.monotonic()
        self._marks = [mark for mark in self._marks if now_s - mark[0] <= _SPEED_OVER_S] + [(now_s, done_bytes)]
        (first_s, first_bytes), *_ = self._marks
        return max(0, round((done_bytes - first_bytes) / (now_s - first_s))) if now_s > first_s else 0


def _bytes(number: str | None, unit: str | None) -> int:
    return round(float(number) * _UNITS.get(unit or "B", 1)) if number else 0


def _received_bytes() -> int:
    """What this computer has received; 0 where the system does not tell."""
    counters = psutil.net_io_counters()
    return counters.bytes_recv if counters else 0
