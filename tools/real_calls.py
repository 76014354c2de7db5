"""What is otherwise traced, made and run: the calls of models beside the transformer on a device.

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

import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast
from unittest import mock

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from diffusionforce.engines.musubi.traced import autoencoders, encoders, language
from diffusionforce.engines.musubi.traced.encoders import IMAGE_ENCODERS, TEXT_ENCODERS
from diffusionforce.pipeline.nesting import list_tensors
from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.pipeline.tracer.numbers import CallTrace
from diffusionforce.pipeline.tracer.standins import autocast_for_cards

_NUM_WORDS = 100
"""Of those that captions are made of: fewer than any encoder knows."""
_HALF = {torch.float16, torch.bfloat16}
_CONVOLUTIONS = {torch.conv1d, torch.conv2d, torch.conv3d}


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
def as_in_the_engine(name: str) -> Iterator[None]:
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


def warm_up(device: torch.device) -> None:
    """Let matrix products have their workspaces, which stay.

    Args:
        device: A card.
    """
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        layer = nn.Linear(256, 256, device=device, dtype=dtype)
        with torch.no_grad():
            layer(torch.ones(256, 256, device=device, dtype=dtype) @ layer.weight)
    torch.cuda.synchronize(device)
