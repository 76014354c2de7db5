"""The forecast against what a run took: for each device the fullest moment of a step, and the time of a step."""

from dataclasses import dataclass

from diffusionforce.gui.model import words
from diffusionforce.gui.model.devices import split_label
from diffusionforce.gui.model.forecast_ways import step_seconds
from diffusionforce.gui.model.run_model import RunModel

SAME_SHARE = 0.005
FAR_SHARE = 0.1
"""From here on a difference is worth a word: the forecast was wrong about something."""


@dataclass(frozen=True, kw_only=True)
class MeasuredLine:
    """One thing that was forecast.

    Attributes:
        name: `GPU 0`, or `A step`.
        device_index: Position of the device, which picks its colour; None for the time.
        planned: What was forecast, in words.
        seen: What it took so far, in words.
        difference: How far the one is from the other, in words; empty while nothing was seen.
        tone: `warn` where they are far apart.
    """

    name: str
    device_index: int | None
    planned: str
    seen: str
    difference: str
    tone: str

    @property
    def spoken(self) -> str:
        """The line in a sentence, for screen readers."""
        return f"{self.name}: forecast {self.planned}, measured {self.seen}. {self.difference}".strip()


def measured_lines(model: RunModel) -> tuple[MeasuredLine, ...]:
    """Return a line for each device whose need was forecast, and one for the time of a step where that was."""
    return (*_memory_lines(model), *_time_lines(model))


def causes(model: RunModel) -> tuple[str, ...]:
    """Return why forecast and run differ and what to do about it, a sentence each; empty where they do not."""
    compared = model.compared
    if compared is None:
        return ()
    return (*compared.causes, *([compared.hint] if compared.hint else []))


def difference_words(planned: float, seen: float) -> tuple[str, str]:
    """Return in words how far `seen` is from `planned`, and the tone."""
    share = seen / planned - 1 if planned else 0.0
    if abs(share) < SAME_SHARE:
        return "as forecast", ""
    shown = f"{abs(share) * 100:.1f} %" if abs(share) < FAR_SHARE else words.percent(abs(share))
    return f"{shown} {'more' if share > 0 else 'less'}", "warn" if abs(share) > FAR_SHARE else ""


def _memory_lines(model: RunModel) -> list[MeasuredLine]:
    if model.compared is not None:
        told = [(d.device, d.label, d.planned_bytes, d.seen_bytes) for d in model.compared.devices]
    elif model.planned is not None:
        seen = {view.device: view.peak_bytes for view in model.devices.views}
        # The peak so far may have come from samples, which a step's plan says nothing about.
        told = [
            (d.device, d.label, max(d.planned_bytes, d.planned_sampling_bytes or 0), seen.get(d.device, 0))
            for d in model.planned.devices
            if d.planned_bytes is not None
        ]
    else:
        return []
    order = {view.device: view.index for view in model.devices.views}
    return [
        _line(
            split_label(label)[0],
            order.get(device, position),
            planned=(planned, words.size(planned)),
            seen=(seen_bytes, words.size(seen_bytes)),
        )
        for position, (device, label, planned, seen_bytes) in enumerate(told)
    ]


def _time_lines(model: RunModel) -> list[MeasuredLine]:
    planned_s = model.compared.planned_s if model.compared else model.planned.step_s if model.planned else None
    if planned_s is None:
        return []
    # The first steps warm up, so a usual step of the run says more than they do.
    seen_s = model.step_s or (model.compared.seen_s if model.compared else 0.0)
    return [_line("A step", None, planned=(planned_s, step_seconds(planned_s)), seen=(seen_s, step_seconds(seen_s)))]


def _line(name: str, device_index: int | None, *, planned: tuple[float, str], seen: tuple[float, str]) -> MeasuredLine:
    """Return a line; `planned` and `seen` are each a number and its words."""
    difference, tone = difference_words(planned[0], seen[0]) if seen[0] else ("", "")
    return MeasuredLine(
        name=name,
        device_index=device_index,
        planned=planned[1],
        seen=seen[1] if seen[0] else "–",
        difference=difference,
        tone=tone,
    )
