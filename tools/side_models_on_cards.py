"""The models beside the transformer on a card: what a forecast says that they hold, and what they do hold there.

    python3 -m tools.side_models_on_cards [NAME ...] [--json FILE]

A forecast traces autoencoders, text encoders and image encoders on tensors without contents. Here the very same calls
are run a second time with `trace_call` replaced: what it was given to trace is made on the card, with random weights,
and called on numbers. A line for each says both, and how far they are apart; the exit code is 1 if any is off by more
than a tenth, or failed. With `--tiny` everything is small and on the processor, where live tensors are counted instead.

What stands in for something while tracing is treated as follows.

- Tiles of HunyuanVideo's, Kandinsky's and HunyuanVideo 1.5's autoencoders: each runs, and they are blended, as in the
  engine. Tracing runs one of each shape and blends none.
- Masks of their attention: the engine's own function fills them. Tracing takes them as they come. (For Kandinsky the
  engine has another one beyond 4096 tokens, which its own attention cannot take; here all get the usual one.)
- What they take from diffusers: the library's own, where it can be imported. Tracing has one layer that stands for it.
- T5: all layers are made and run. Tracing makes two, and keeps room for the others.
- Decoders, CLIP L and SigLIP: the layers written down in `traced.language`, for the library's are not what is traced.
  Their memory shows whether the count is right, not whether the library holds the same, and their times are their own.
- Wan's CLIP is called in mixed precision, as the engine calls it; its norms refuse anything else on a card.
- Modules are set to evaluate, as the engine sets them all.

Modules are made in 32 bits and converted, and leave PyTorch's memory in pieces: what is "held" says little of those
with gigabytes of weights. The workspace of matrix products is allocated before anything is measured, and counts for
nobody: it comes once in a process, whatever runs, and forecasts have it among what a card is left without.
"""

import argparse
import gc
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi.traced import autoencoders, calls, encoders, language
from diffusionforce.engines.musubi.traced.autoencoders import AUTOENCODERS
from diffusionforce.engines.musubi.traced.encoders import IMAGE_ENCODERS, TEXT_ENCODERS
from diffusionforce.errors import UserError
from diffusionforce.pipeline.nesting import list_tensors
from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.pipeline.tracer.numbers import CallTrace
from diffusionforce.pipeline.tracer.standins import autocast_for_cards
from tools.engine_on_cards.processor import let_engine_import

GIB = 2**30
MOST_OFF = 0.1
_VIDEO = {"hunyuan_video", "kandinsky5", "hunyuan_video_1_5"}
_PICTURE_SIZES = [(1024, 1024, 1)]
_VIDEO_SIZES = [(832, 480, 33)]
_WAN_SIZES = [*_VIDEO_SIZES, (1024, 1024, 9)]
_TINY_SIZES, _TINY_VIDEO_SIZES = [(64, 64, 1)], [(64, 64, 5)]
_NUM_WORDS = 100
"""Of those that captions are made of: fewer than any encoder knows."""
_HALF = {torch.float16, torch.bfloat16}
_CONVOLUTIONS = {torch.conv1d, torch.conv2d, torch.conv3d}
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


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a module held on a card.

    Attributes:
        weights_bytes: Allocated for the module.
        peak_bytes: The most that was allocated, weights and inputs included.
        held_bytes: The most that PyTorch held; 0 on a processor.
        seconds: Of the second call.
    """

    weights_bytes: int
    peak_bytes: int
    held_bytes: int
    seconds: float


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


class Contents(TorchFunctionMode):
    """Fills what is made empty, so that nothing runs on what happened to lie there."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _CONVOLUTIONS and args[0].device.type == "cpu" and args[1].dtype in _HALF:
            return _convolved_in_32_bits(func, args, kwargs)
        result = func(*args, **kwargs)
        if func in (torch.empty, torch.empty_like) and not result.is_meta:
            result.detach().fill_(1)
        return result


def _convolved_in_32_bits(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> torch.Tensor:
    """What a convolution gives, of whose 16 bits a processor takes minutes; its copies are not counted."""

    def full(value: Any) -> Any:
        return value.float() if isinstance(value, torch.Tensor) else value

    with torch.autocast("cpu", enabled=False), torch._C._DisableTorchDispatch():
        found = func(*map(full, args), **{name: full(value) for name, value in kwargs.items()})
    return torch.empty(found.shape, dtype=args[1].dtype).copy_(found)


class Measurement:
    """Stands in the place of `trace_call`, and does what that only traces.

    Args:
        device: Where.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.found: Found | None = None

    def __call__(
        self,
        make_module: Callable[[], nn.Module],
        make_inputs: Callable[[torch.device], Any],
        call: Callable[[nn.Module, Any], Any],
    ) -> CallTrace:
        with ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            stack.enter_context(self._device)
            stack.enter_context(Contents())
            meter = _CardMeter(self._device) if self._device.type == "cuda" else _ProcessorMeter(stack)
            module = make_module().eval()
            if self._device.type == "cpu":
                _with_norms_in_32_bits(module)
            weights_bytes = meter.weights_bytes(module)
            inputs = make_inputs(self._device)
            for tensor in list_tensors(inputs):
                _ = tensor.normal_() if tensor.is_floating_point() else tensor.random_(0, _NUM_WORDS)
            meter.begin(inputs)
            call(module, inputs)
            meter.wait()
            begin_s = time.perf_counter()
            call(module, inputs)
            meter.wait()
            seconds = time.perf_counter() - begin_s
            peak_bytes, held_bytes = meter.most_bytes()
        self.found = Found(weights_bytes=weights_bytes, peak_bytes=peak_bytes, held_bytes=held_bytes, seconds=seconds)
        return CallTrace(weights_bytes=weights_bytes, input_bytes=0, output_bytes=0, peak_bytes=peak_bytes, flops=0)


def _with_norms_in_32_bits(module: nn.Module) -> None:
    """A processor's mixed precision leaves norms alone, which a card's works out in 32 bits."""
    for part in module.modules():
        if isinstance(part, nn.LayerNorm):
            part.float()


class _CardMeter:
    """What PyTorch allocated since now."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._before_bytes = torch.cuda.memory_allocated(device)
        self._held_before_bytes = torch.cuda.memory_reserved(device)

    def weights_bytes(self, _module: nn.Module) -> int:
        self.wait()
        torch.cuda.empty_cache()  # It was made in 32 bits, and then another time.
        return torch.cuda.memory_allocated(self._device) - self._before_bytes

    def begin(self, _inputs: Any) -> None:
        torch.cuda.reset_peak_memory_stats(self._device)

    def wait(self) -> None:
        torch.cuda.synchronize(self._device)

    def most_bytes(self) -> tuple[int, int]:
        most, held = torch.cuda.max_memory_allocated(self._device), torch.cuda.max_memory_reserved(self._device)
        return most - self._before_bytes, held - self._held_before_bytes


class _ProcessorMeter:
    """What live tensors take, counted; convolutions of a processor have copies of their own in it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack, self._counter = stack, StorageCounter()

    def weights_bytes(self, module: nn.Module) -> int:
        for tensor in (*module.parameters(), *module.buffers()):
            self._counter.note(tensor)
        return self._counter.live

    def begin(self, inputs: Any) -> None:
        for tensor in list_tensors(inputs):
            self._counter.note(tensor)
        self._stack.enter_context(autocast_for_cards())
        self._stack.enter_context(self._counter)

    def wait(self) -> None:
        pass

    def most_bytes(self) -> tuple[int, int]:
        return self._counter.peak, 0


@contextmanager
def as_in_the_engine(source: Path, name: str) -> Iterator[None]:
    """Without what stands in for something while tracing; see above."""
    with ExitStack() as stack:

        def put(module: Any, attribute: str, value: Any) -> None:
            stack.enter_context(mock.patch.object(module, attribute, value))

        put(autoencoders, "_in_tiles", lambda _model: None)
        if name in {"hunyuan_video", "kandinsky5"} and (blocks := _blocks_with_diffusers()) is not None:
            put(autoencoders, "allowing_all", blocks.prepare_causal_attention_mask)
            put(autoencoders, "import_light", lambda name, **_others: importlib.import_module(name))
        if (make := getattr(TEXT_ENCODERS.get(name), "make", None)) and isinstance(make, partial):
            put(encoders, "_MADE_LAYERS", make.keywords.get("num_layers", 24))
        if name == "wan_clip":
            reader = IMAGE_ENCODERS[name]
            in_mixed_precision = replace(reader, call=partial(_in_mixed_precision, reader.call))
            stack.enter_context(mock.patch.dict(IMAGE_ENCODERS, {name: in_mixed_precision}))
        yield


def _blocks_with_diffusers() -> Any:
    """The engine's module that takes most from diffusers; None where that does not come."""
    try:
        return importlib.import_module("musubi_tuner.modules.unet_causal_3d_blocks")
    except (ImportError, RuntimeError, AttributeError) as error:
        sys.stderr.write(f"what stands for diffusers is used, for it does not come: {error}\n")
        return None


def _in_mixed_precision(call: Callable[..., Any], *given: Any) -> Any:
    with torch.autocast("cuda", dtype=torch.float16):
        return call(*given)


@contextmanager
def small_sizes() -> Iterator[None]:
    """Let large models have few layers and words; what is wrong with a call shows all the same."""
    made: Callable[..., None] = language.Decoder.__init__
    small_t5 = {"vocab": 512, "dim": 64, "dim_attn": 64, "dim_ffn": 128, "num_heads": 4, "num_layers": 3}

    def small(self: Any, sizes: language.DecoderSizes) -> None:
        few = {"num_words": 512, "num_layers": 2, "other_numbers": 64, "width": 256, "feed_forward_width": 512}
        made(self, replace(sizes, **cast(Any, few)))

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(language.Decoder, "__init__", small))
        for name, encoder in TEXT_ENCODERS.items():
            if isinstance(encoder.make, partial):
                smaller = replace(encoder, make=partial(encoder.make, **small_t5))
                stack.enter_context(mock.patch.dict(TEXT_ENCODERS, {name: smaller}))
        yield


def measured(case: Case, *, source: Path, device: torch.device) -> Found:
    """Run one call, and leave nothing behind.

    Args:
        case: The call.
        source: The engine's folder on the import path.
        device: Where.
    """
    measurement = Measurement(device)
    try:
        with as_in_the_engine(source, case.name), mock.patch.object(calls, "trace_call", measurement):
            case.run()
    finally:
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()
    assert measurement.found is not None
    return measurement.found


def compare(case: Case, traced: CallTrace, *, source: Path, device: torch.device) -> dict[str, Any]:
    """One line of the table, as values.

    Args:
        case: The call.
        traced: What is forecast of it.
        source: The engine's folder on the import path.
        device: Where it runs.
    """
    parts = {"weights_bytes": traced.weights_bytes, "input_bytes": traced.input_bytes, "peak_bytes": traced.peak_bytes}
    line: dict[str, Any] = {"words": case.words, "forecast": parts, "forecast_bytes": sum(parts.values())}
    try:
        found = measured(case, source=source, device=device)
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


def _warm_up(device: torch.device) -> None:
    """Let matrix products have their workspaces, which stay."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        layer = nn.Linear(256, 256, device=device, dtype=dtype)
        with torch.no_grad():
            layer(torch.ones(256, 256, device=device, dtype=dtype) @ layer.weight)
    torch.cuda.synchronize(device)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, a line each, and return the exit code."""
    options = _parser().parse_args(argv)
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
            _warm_up(device)
        for case, forecast in zip(wanted, traced, strict=True):
            lines.append(compare(case, forecast, source=source, device=device))
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
