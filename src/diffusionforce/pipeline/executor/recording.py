"""Who was busy when: the times of every op of a real step.

On cards the times are read from events in the cards' own queues, so recording waits for nothing until the step is
over. Other devices run as they are told, and a host clock does.
"""

import time
from collections.abc import Iterable

import torch

from diffusionforce.pipeline.schedule.simulation import Span, Timeline
from diffusionforce.pipeline.schedule.ticks import Op

Mark = torch.cuda.Event | float


class Recorder:
    """Notes when ops begin and end.

    Args:
        devices: The pipeline's devices.
        is_recording: False makes every call do nothing.
    """

    def __init__(self, devices: Iterable[torch.device] = (), *, is_recording: bool = False) -> None:
        self._is_recording = is_recording
        self._marks: dict[Op, list[Mark]] = {}
        self._devices: dict[Op, torch.device] = {}
        self._zero: dict[torch.device, Mark] = {}
        if is_recording:
            cards = list(dict.fromkeys(devices))
            # Events of two cards cannot be compared: both begin idle, at the same moment.
            for device in cards:
                if device.type == "cuda":
                    torch.cuda.synchronize(device)
            self._zero = {device: self._mark(device) for device in cards}

    def begin(self, op: Op, device: torch.device) -> None:
        """The op's inputs have arrived, and its work is about to be queued."""
        if self._is_recording:
            self._devices[op] = device
            self._marks[op] = [self._mark(device)]

    def end(self, op: Op, device: torch.device) -> None:
        """All of the op's work is queued."""
        if self._is_recording:
            self._marks[op].append(self._mark(device))

    def timeline(self) -> Timeline:
        """Wait for the devices and give every op's time, from the start of the step on."""
        spans: list[Span] = []
        for op, marks in self._marks.items():
            device = self._devices[op]
            start_s, end_s = (self._seconds(self._zero[device], mark) for mark in marks)
            spans.append(Span(op, device, start_s, end_s))
        return Timeline.of_spans(spans)

    def _mark(self, device: torch.device) -> Mark:
        if device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(device))
        return event

    @staticmethod
    def _seconds(zero: Mark, mark: Mark) -> float:
        if isinstance(zero, torch.cuda.Event) and isinstance(mark, torch.cuda.Event):
            mark.synchronize()
            return zero.elapsed_time(mark) / 1000
        assert isinstance(zero, float) and isinstance(mark, float)
        return mark - zero
