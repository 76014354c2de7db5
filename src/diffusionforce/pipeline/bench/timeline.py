"""Who was busy when: the picture of a measured step, and the same as data.

One row a card, one bar an operation: forwards bright, backwards darker, the micro-batch's number where there is room.
What is left dark is idle time, which is what schedules are about. The window draws the same data itself.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from diffusionforce.pipeline.schedule.simulation import Span, Timeline

CARD_COLOURS = ("#3cc3d9", "#f2994a", "#9b8cf2", "#7fd67f")
"""GPU 0 cyan, GPU 1 orange, and two for larger rigs."""
_BACKGROUND, _IDLE, _TEXT, _FAINT = "#14171c", "#20252d", "#e8ebf0", "#8a93a1"
_WIDTH, _MARGIN, _LABEL_WIDTH, _ROW_HEIGHT, _ROW_GAP, _TITLE_HEIGHT, _AXIS_HEIGHT = 1600, 24, 150, 64, 14, 64, 44
_BACKWARD_SHADE = 0.55


def timeline_record(timeline: Timeline, *, title: str, names: Sequence[str]) -> dict[str, Any]:
    """The timeline as JSON-ready data: seconds from the start of the step, cards by index."""
    return {
        "title": title,
        "step_s": timeline.step_s,
        "cards": [{"name": name, "busy_share": timeline.busy_share(card)} for card, name in enumerate(names)],
        "spans": [
            {
                "card": span.device,
                "kind": span.op.kind,
                "chunk": span.op.chunk,
                "microbatch": span.op.microbatch,
                "start_s": round(span.start_s, 6),
                "end_s": round(span.end_s, 6),
            }
            for span in timeline.spans
        ],
    }


def draw_timeline(timeline: Timeline, path: Path, *, title: str, names: Sequence[str]) -> None:
    """Write the picture.

    Args:
        timeline: Devices named by card index.
        path: The PNG file to write.
        title: One line above the rows.
        names: The cards' names.
    """
    height = _TITLE_HEIGHT + len(names) * (_ROW_HEIGHT + _ROW_GAP) + _AXIS_HEIGHT
    image = Image.new("RGB", (_WIDTH, height), _BACKGROUND)
    draw = ImageDraw.Draw(image)
    draw.text((_MARGIN, 20), title, fill=_TEXT, font=_font(22))
    for card in range(len(names)):
        _draw_row(draw, timeline, card)
    _draw_axis(draw, timeline.step_s, height - _AXIS_HEIGHT + 6)
    image.save(path)


def _draw_row(draw: ImageDraw.ImageDraw, timeline: Timeline, card: int) -> None:
    top = _TITLE_HEIGHT + card * (_ROW_HEIGHT + _ROW_GAP)
    colour = CARD_COLOURS[card % len(CARD_COLOURS)]
    draw.text((_MARGIN, top + 10), f"GPU {card}", fill=colour, font=_font(20))
    draw.text((_MARGIN, top + 36), f"{timeline.busy_share(card):.0%} busy", fill=_FAINT, font=_font(16))
    draw.rectangle((_LABEL_WIDTH, top, _WIDTH - _MARGIN, top + _ROW_HEIGHT), fill=_IDLE)
    for span in timeline.spans:
        if span.device == card:
            _draw_span(draw, span, timeline.step_s, top, colour)


def _draw_span(draw: ImageDraw.ImageDraw, span: Span, step_s: float, top: int, colour: str) -> None:
    left, right = _across(span.start_s, step_s), _across(span.end_s, step_s)
    fill = colour if span.op.kind == "F" else _shaded(colour)
    draw.rectangle((left, top, max(left, right - 1), top + _ROW_HEIGHT), fill=fill)
    label = str(span.op.microbatch + 1)
    if right - left > 10 + 10 * len(label):
        font = _font(18)
        place = ((left + right) / 2, top + _ROW_HEIGHT / 2)
        draw.text(place, label, fill=_BACKGROUND if span.op.kind == "F" else _TEXT, font=font, anchor="mm")


def _draw_axis(draw: ImageDraw.ImageDraw, step_s: float, top: int) -> None:
    for part in range(5):
        seconds = step_s * part / 4
        anchor = "la" if part == 0 else "ra" if part == 4 else "ma"
        draw.text((_across(seconds, step_s), top), f"{seconds:.2f} s", fill=_FAINT, font=_font(16), anchor=anchor)


def _across(seconds: float, step_s: float) -> float:
    return _LABEL_WIDTH + (_WIDTH - _MARGIN - _LABEL_WIDTH) * seconds / max(step_s, 1e-12)


def _shaded(colour: str) -> str:
    parts = [int(int(colour[start : start + 2], 16) * _BACKWARD_SHADE) for start in (1, 3, 5)]
    return "#{:02x}{:02x}{:02x}".format(*parts)


def _font(size: int) -> Any:
    return ImageFont.load_default(size)
