"""A clock for schedules: how long a step takes, and who is busy when. No torch here.

Devices run their ops in issue order, one at a time. What an op makes starts its way as soon as the op ends, on a link
that carries one thing at a time in each direction, while the devices go on. The tail has a stream of its own, so it
only delays the backward that waits for it.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diffusionforce.pipeline.schedule.ticks import Op, needs

TransferSeconds = float | Mapping[tuple[Any, Any], float]
"""Seconds that a boundary takes between two devices: one number, or one for each (from, to)."""


@dataclass(frozen=True, slots=True)
class Span:
    """One op's time on its device."""

    op: Op
    device: Hashable
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """What a clock saw, simulated or measured."""

    step_s: float
    """From the first op's start to the last op's end."""
    busy_s: dict[Hashable, float]
    """Seconds of work per device."""
    spans: tuple[Span, ...]
    """Every op's time, in issue order."""

    def busy_share(self, device: Hashable) -> float:
        """The part of the step in which the device works, 0 to 1."""
        return self.busy_s.get(device, 0.0) / self.step_s if self.step_s else 0.0

    @classmethod
    def of_spans(cls, spans: Sequence[Span]) -> "Timeline":
        """Sum spans up; the step begins with the earliest."""
        busy_s: dict[Hashable, float] = {}
        for span in spans:
            busy_s[span.device] = busy_s.get(span.device, 0.0) + span.end_s - span.start_s
        step_s = max((span.end_s for span in spans), default=0.0) - min((span.start_s for span in spans), default=0.0)
        return cls(step_s, busy_s, tuple(spans))


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What a model's chunks cost where they are."""

    device_of: Sequence[Hashable]
    """The device of each chunk."""
    forward_s: Sequence[float]
    """Seconds of each chunk's forward on its device."""
    backward_s: Sequence[float]
    """Seconds of each chunk's backward on its device, recomputing included."""
    transfer_s: TransferSeconds = 0.0
    """Seconds a boundary is under way."""
    tail_s: float = 0.0
    """Seconds from the end of the last chunk's forward until its backward may start: the way home, head, loss and the
    gradient's way back."""

    def __post_init__(self) -> None:
        if not len(self.device_of) == len(self.forward_s) == len(self.backward_s):
            raise ValueError(
                f"every chunk needs a device, a forward and a backward, not {len(self.device_of)} devices, "
                f"{len(self.forward_s)} forwards and {len(self.backward_s)} backwards"
            )

    @classmethod
    def equal(
        cls,
        device_of: Sequence[Hashable],
        *,
        forward_s: float = 1.0,
        backward_s: float = 2.0,
        transfer_s: TransferSeconds = 0.0,
        tail_s: float = 0.0,
    ) -> "Costs":
        """Chunks that all cost the same wherever they are.

        Args:
            device_of: The device of each chunk.
            forward_s: Seconds of a chunk's forward.
            backward_s: Seconds of a chunk's backward.
            transfer_s: Seconds that a boundary is under way.
            tail_s: Seconds between the last chunk's forward and its backward.
        """
        return cls(
            device_of=device_of,
            forward_s=[forward_s] * len(device_of),
            backward_s=[backward_s] * len(device_of),
            transfer_s=transfer_s,
            tail_s=tail_s,
        )

    @property
    def num_chunks(self) -> int:
        """Number of chunks."""
        return len(self.device_of)

    def seconds(self, op: Op) -> float:
        """How long an op occupies its device."""
        return (self.forward_s if op.kind == "F" else self.backward_s)[op.chunk]

    def between(self, source: Hashable, destination: Hashable) -> float:
        """How long a boundary is under way."""
        if source == destination:
            return 0.0
        if isinstance(self.transfer_s, Mapping):
            return self.transfer_s[source, destination]
        return self.transfer_s


class Clock:
    """Runs ops one after the other in a list's order and knows when each would start."""

    def __init__(self, costs: Costs) -> None:
        self.spans: list[Span] = []
        self._costs = costs
        self._ready_s: dict[Op, float] = {}
        self._device_free_s: dict[Hashable, float] = {}
        self._link_free_s: dict[tuple[Hashable, Hashable], float] = {}

    def is_ready(self, op: Op) -> bool:
        """Whether what the op needs has been run."""
        return op in self._ready_s or needs(op, num_chunks=self._costs.num_chunks) is None

    def start_s(self, op: Op) -> float:
        """When the op would start if it were run next."""
        free_s = self._device_free_s.get(self._costs.device_of[op.chunk], 0.0)
        return max(self._ready_s.get(op, 0.0), free_s)

    def run(self, op: Op) -> Span:
        """Run an op; its result starts its way."""
        device = self._costs.device_of[op.chunk]
        start_s = self.start_s(op)
        span = Span(op, device, start_s, start_s + self._costs.seconds(op))
        self.spans.append(span)
        self._device_free_s[device] = span.end_s
        self._send(op, device, span.end_s)
        return span

    def _send(self, op: Op, device: Hashable, end_s: float) -> None:
        last = self._costs.num_chunks - 1
        if op.kind == "F" and op.chunk == last:
            self._ready_s[Op("B", last, op.microbatch)] = end_s + self._costs.tail_s
            return
        chunk = op.chunk + (1 if op.kind == "F" else -1)
        if chunk < 0:
            return
        receiver = self._costs.device_of[chunk]
        link = (device, receiver)
        arrival_s = max(end_s, self._link_free_s.get(link, 0.0)) + self._costs.between(device, receiver)
        if device != receiver:
            self._link_free_s[link] = arrival_s
        self._ready_s[Op(op.kind, chunk, op.microbatch)] = arrival_s


def simulate(order: Sequence[Op], *, costs: Costs) -> Timeline:
    """Run a schedule on the clock.

    Args:
        order: A valid schedule in issue order.
        costs: What the chunks cost and where they are.

    Returns:
        The modelled step time, every device's busy seconds and every op's span.
    """
    clock = Clock(costs)
    for op in order:
        clock.run(op)
    return Timeline.of_spans(clock.spans)


def draw(timeline: Timeline, *, tick_s: float = 1.0) -> str:
    """Draw a timeline as text: one row a device, one cell a tick, `F0.1` where an op starts, `-` where it goes on.

    Args:
        timeline: Spans whose times are multiples of `tick_s`.
        tick_s: Seconds a cell.
    """
    devices = list(dict.fromkeys(span.device for span in timeline.spans))
    num_ticks = round(timeline.step_s / tick_s)
    rows = {device: ["."] * num_ticks for device in devices}
    for span in timeline.spans:
        first, last = round(span.start_s / tick_s), round(span.end_s / tick_s)
        rows[span.device][first:last] = [str(span.op), *["-"] * (last - first - 1)]
    width = max(len(cell) for row in rows.values() for cell in row)
    name_width = max(len(str(device)) for device in devices)
    return "\n".join(
        f"{device!s:{name_width}} | " + " ".join(cell.ljust(width) for cell in row).rstrip()
        for device, row in rows.items()
    )
