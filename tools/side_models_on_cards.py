"""The models beside the transformer on a card: what a forecast says that they hold, and what they do hold there.

    python3 -m tools.side_models_on_cards [NAME ...] [--json FILE]

A forecast traces autoencoders, text encoders and image encoders on tensors without contents. Here the very same calls
are run a second time with `trace_call` replaced: what it was given to trace is made on the card, with random weights,
and called on numbers. A line for each says both, and how far they are apart; the exit code is 1 if any is off by more
than a tenth, or failed. With `--tiny` everything is small and on the processor, where live tensors are counted instead.
"""

import argparse
import gc
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi.traced import calls
from diffusionforce.engines.musubi.traced.autoencoders import AUTOENCODERS
from diffusionforce.engines.musubi.traced.encoders import IMAGE_ENCODERS, TEXT_ENCODERS
from diffusionforce.errors import UserError
from diffusionforce.pipeline.tracer.numbers import CallTrace
from tools.engine_on_cards.processor import let_engine_import
from tools.real_calls import Found, Measurement, as_in_the_engine, small_sizes, warm_up

GIB = 2**30
MOST_OFF = 0.1
_VIDEO = {"hunyuan_video", "kandinsky5", "hunyuan_video_1_5"}
_PICTURE_SIZES = [(1024, 1024, 1)]
_VIDEO_SIZES = [(832, 480, 33)]
_WAN_SIZES = [*_VIDEO_SIZES, (1024, 1024, 9)]
_TINY_SIZES, _TINY_VIDEO_SIZES = [(64, 64, 1)], [(64, 64, 5)]
_FAILURES = (RuntimeError, ValueError, TypeError, AttributeError, KeyError, ImportError, AssertionError, UserError)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call that is forecast.

    Attributes:
        name: Of the model, as `traced` has it.
        words: For people.
        run: Calls `calls.trace_call`, whatever that is at the moment.
    """

    name: str
    words: str
    run: Callable[[], CallTrace]


def cases(*, source: Path, tiny: bool) -> Iterator[Case]:
    """All calls.

    Args:
        source: The engine's folder on the import path.
        tiny: Whether pictures are small.
    """
    for name in AUTOENCODERS:
        for size in _sizes(name, tiny=tiny):
            for of, more in (("decoding", {}), ("pictures", {"image_encoder": "", "reads_twice": False})):
                values = {"of": of, "autoencoder": name, **more}
                values |= dict(zip(("width", "height", "num_frames"), size, strict=True))
                words = f"{of} {name} {'x'.join(map(str, size))}"
                yield Case(name=name, words=words, run=partial(_traced, values, source))
    for name, encoder in TEXT_ENCODERS.items():
        values = {"of": "captions", "text_encoders": [name]}
        words = f"captions {name} {encoder.num_tokens} tokens"
        yield Case(name=name, words=words, run=partial(_traced, values, source))
    for name in IMAGE_ENCODERS:
        yield Case(name=name, words=f"image {name}", run=partial(_read_picture, name, source))


def _sizes(name: str, *, tiny: bool) -> list[tuple[int, int, int]]:
    """Width, height and frames."""
    if tiny:
        return _TINY_VIDEO_SIZES if name in {"wan", *_VIDEO} else _TINY_SIZES
    if name == "wan":
        return _WAN_SIZES
    return _VIDEO_SIZES if name in _VIDEO else _PICTURE_SIZES


def _traced(values: dict[str, Any], source: Path) -> CallTrace:
    return calls.trace_of(values, source=source)


def _read_picture(name: str, source: Path) -> CallTrace:
    """No forecast has an image encoder by itself, but one that is wrong would hide behind an autoencoder."""
    reader = IMAGE_ENCODERS[name]  # Looked up here, because another may be put in its place.
    return calls.trace_call(lambda: reader.make(source), lambda _device: reader.picture(), reader.call)


def measured(case: Case, *, device: torch.device) -> Found:
    """Run one call, and leave nothing behind.

    Args:
        case: The call.
        device: Where.
    """
    measurement = Measurement(device)
    try:
        with as_in_the_engine(case.name), mock.patch.object(calls, "trace_call", measurement):
            case.run()
    finally:
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()
    assert measurement.found is not None
    return measurement.found


def compare(case: Case, traced: CallTrace, *, device: torch.device) -> dict[str, Any]:
    """One line of the table, as values.

    Args:
        case: The call.
        traced: What is forecast of it.
        device: Where it runs.
    """
    parts = {"weights_bytes": traced.weights_bytes, "input_bytes": traced.input_bytes, "peak_bytes": traced.peak_bytes}
    line: dict[str, Any] = {"words": case.words, "forecast": parts, "forecast_bytes": sum(parts.values())}
    try:
        found = measured(case, device=device)
    except _FAILURES as error:
        return {**line, "failed": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
    line |= {"found": vars(found), "off": line["forecast_bytes"] / found.peak_bytes - 1}
    return line


def shown(line: dict[str, Any]) -> str:
    """The same for people.

    Args:
        line: The values.
    """
    parts = " + ".join(f"{number / GIB:.3f}" for number in line["forecast"].values())
    forecast = f"{line['words']:<44} {parts} = {line['forecast_bytes'] / GIB:7.3f} GiB"
    if "failed" in line:
        return f"{forecast}, FAILED: {line['failed']}"
    found = line["found"]
    held = f"{found['weights_bytes'] / GIB:.3f} weights, {found['held_bytes'] / GIB:.2f} held"
    card = f"{found['peak_bytes'] / GIB:7.3f} ({held})"
    mark = "  <--" if abs(line["off"]) > MOST_OFF else ""
    return f"{forecast}, is {card}: {100 * line['off']:+5.1f} %, {found['seconds']:.2f} s{mark}"


def is_bad(line: dict[str, Any], *, tiny: bool) -> bool:
    """Whether a line is something to look into.

    Args:
        line: The values.
        tiny: Whether it was run on a processor, whose convolutions hold other things than a card's.
    """
    return "failed" in line or (not tiny and abs(line["off"]) > MOST_OFF)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, a line each, and return the exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    if unknown := set(options.names) - {*AUTOENCODERS, *TEXT_ENCODERS, *IMAGE_ENCODERS}:
        parser.error(f"not known: {', '.join(sorted(unknown))}")
    device = torch.device("cpu" if options.tiny else "cuda:0")
    source = open_engine()
    lines: list[dict[str, Any]] = []
    with small_sizes() if options.tiny else ExitStack():
        wanted = [
            case for case in cases(source=source, tiny=options.tiny) if case.name in (options.names or [case.name])
        ]
        # All are traced before any is made: then the engine's modules are loaded with the real libraries.
        traced = [case.run() for case in wanted]
        if options.tiny:
            let_engine_import()
        else:
            warm_up(device)
        for case, forecast in zip(wanted, traced, strict=True):
            lines.append(compare(case, forecast, device=device))
            sys.stdout.write(shown(lines[-1]) + "\n")
            sys.stdout.flush()
            if options.json:
                Path(options.json).write_text(json.dumps(lines, indent=1), encoding="utf-8")
    bad = [line["words"] for line in lines if is_bad(line, tiny=options.tiny)]
    sys.stdout.write(
        f"{len(lines) - len(bad)} of {len(lines)} within {MOST_OFF:.0%}; not: {', '.join(bad) or 'none'}\n"
    )
    return 1 if bad else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.side_models_on_cards", description=__doc__)
    names = [*AUTOENCODERS, *TEXT_ENCODERS, *IMAGE_ENCODERS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these, of: {', '.join(names)}")
    parser.add_argument("--json", default="", metavar="FILE", help="write everything there, line by line")
    parser.add_argument("--tiny", action="store_true", help="small sizes on the processor, to see that every call runs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
