"""The devices of a run: what each holds, and its readings over the last minute."""

import re
from collections import deque
from dataclasses import dataclass, field

from diffusionforce.gui.model.words import ranges
from diffusionforce.wire import DevicePlacement, DeviceReading, Placed, Span

HISTORY = 60
_LABEL = re.compile(r"(?P<short>[^(]+?) \((?P<name>.+)\)")


@dataclass(kw_only=True)
class DeviceView:
    """One device of the run.

    Attributes:
        index: Position among the run's devices; picks its colour.
        device: Device in the engine's words, for example `cuda:0`.
        label: Device in the window's words: `GPU 0`, `CPU`, or `CPU, stage 1` when one processor plays several.
        name: Model of the device.
        blocks: Blocks of the model that lie there, from 0.
        weights_bytes: Their size.
        reading: Newest reading.
        busy: Busy shares of the last steps, 0 to 1.
        peak_bytes: Highest memory use seen.
    """

    index: int
    device: str
    label: str
    name: str = ""
    blocks: tuple[int, ...] = ()
    weights_bytes: int = 0
    total_bytes: int | None = None
    reading: DeviceReading | None = None
    peak_bytes: int = 0
    busy: deque[float] = field(default_factory=lambda: deque[float](maxlen=HISTORY))

    @property
    def memory_bytes(self) -> int | None:
        """Memory that the run holds there now."""
        return self.reading.memory_bytes if self.reading else None


class DeviceList:
    """The devices of a run, from what was placed and from the readings of each step."""

    def __init__(self) -> None:
        self.views: list[DeviceView] = []
        self.num_blocks = 0
        self.schedule = ""

    def place(self, placed: Placed) -> None:
        """Take the placement that the engine has verified."""
        self.num_blocks, self.schedule = placed.num_blocks, placed.schedule
        labels = _labels([device.device for device in placed.devices])
        self.views = [_view(i, device, labels[i]) for i, device in enumerate(placed.devices)]

    def read(self, readings: tuple[DeviceReading, ...]) -> None:
        """Take the readings of one step."""
        if [view.device for view in self.views] != [reading.device for reading in readings]:
            self._match(readings)
        for view in self.views:
            reading = next((r for r in _occurrences(readings, view.device)[self._rank(view) :][:1]), None)
            if reading is None:
                continue
            view.reading = reading
            view.total_bytes = reading.memory_total_bytes or view.total_bytes
            view.peak_bytes = max(view.peak_bytes, reading.peak_bytes or 0, reading.memory_bytes or 0)
            if reading.busy is not None:
                view.busy.append(reading.busy)

    @property
    def timeline(self) -> list[tuple[DeviceView, tuple[Span, ...]]]:
        """The work of the last step on each device that reported it."""
        return [(view, view.reading.timeline) for view in self.views if view.reading and view.reading.timeline]

    def sentence(self) -> str:
        """Say what lies where."""
        if not self.views or not self.num_blocks:
            return ""
        if len(self.views) == 1:
            return f"all {self.num_blocks} blocks on {self.views[0].label}"
        parts = [f"{ranges(view.blocks)} on {view.label}" for view in self.views]
        return f"blocks {', '.join(parts)}"

    def _rank(self, view: DeviceView) -> int:
        return sum(other.device == view.device for other in self.views[: view.index])

    def _match(self, readings: tuple[DeviceReading, ...]) -> None:
        """Add devices that were read but never placed."""
        names = [reading.device for reading in readings]
        known = [view.device for view in self.views]
        missing = [name for name in names if names.count(name) > known.count(name)]
        if missing and not self.views:
            labels = _labels(names)
            self.views = [DeviceView(index=i, device=n, label=labels[i]) for i, n in enumerate(names)]


def _view(index: int, placed: DevicePlacement, label: str) -> DeviceView:
    return DeviceView(
        index=index,
        device=placed.device,
        label=label,
        name=short_name(placed.name),
        blocks=placed.blocks,
        weights_bytes=placed.weights_bytes,
        total_bytes=placed.memory_total_bytes,
    )


def _occurrences(readings: tuple[DeviceReading, ...], device: str) -> list[DeviceReading]:
    return [reading for reading in readings if reading.device == device]


def _labels(devices: list[str]) -> list[str]:
    """Name devices for people: cards by number, the processor by stage when it plays several."""
    num_cpu = sum(not device.startswith("cuda") for device in devices)
    labels: list[str] = []
    stage = 0
    for device in devices:
        kind, _, number = device.partition(":")
        if kind == "cuda":
            labels.append(f"GPU {number or 0}")
        else:
            stage += 1
            labels.append(f"CPU, stage {stage}" if num_cpu > 1 else "CPU")
    return labels


def split_label(label: str) -> tuple[str, str]:
    """Return `GPU 0` and `RTX 4060 Ti` of `GPU 0 (RTX 4060 Ti)`; the name is empty where there is none."""
    match = _LABEL.fullmatch(label)
    return (match["short"], match["name"]) if match else (label, "")


def short_name(name: str) -> str:
    """Return a device's name without the maker's prefixes and the marks that only lawyers read."""
    for mark in ("NVIDIA ", "GeForce ", "(R)", "(TM)", " Processor", " CPU"):
        name = name.replace(mark, "")
    return " ".join(name.split())
