"""Footprints of what an engine would run: remembered where they were traced before, else traced and remembered.

A batch can be divided in many ways, and each division is a trace of its own. Memory grows with the pictures of a
micro-batch along a straight line, so only the smallest and the largest are traced, and those between are drawn. How
steep the line is does not depend on the number format of the weights, so of further formats the smallest is enough.
"""

import importlib
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from diffusionforce.engines.subjects import Inputs, TracedCall, TracedModel, TrainingVariant
from diffusionforce.runs import data_dir
from diffusionforce.ugpum.footprint import Footprint, FootprintFiles

logger = logging.getLogger(__name__)

_OF_BLOCKS = (
    *("output_bytes", "kept_bytes", "forward_bytes", "backward_bytes", "launches"),
    *("forward_flops", "backward_flops", "forward_moved_bytes", "backward_moved_bytes"),
)
_OF_OUTSIDE = ("batch_bytes", "shared_bytes", "prologue_kept_bytes", "prologue_bytes", "tail_bytes", "flops")
"""What grows with the micro-batch."""
_TRACE, _LIGHT = "diffusionforce.pipeline.tracer.trace", "diffusionforce.pipeline.tracer.light"


@dataclass(frozen=True, kw_only=True)
class CallFootprint:
    """What a module needs that runs by itself. Sizes in bytes."""

    weights_bytes: int
    input_bytes: int
    output_bytes: int
    peak_bytes: int
    """Above weights and inputs."""
    flops: int


class Traces:
    """Gives footprints; torch is loaded when the first one has to be traced.

    Args:
        folder: Where they are remembered. None: in the data folder.
        may_start_light: Whether this process does nothing with PyTorch but trace, which then starts faster.
    """

    def __init__(self, folder: Path | None = None, *, may_start_light: bool = False) -> None:
        self._files = FootprintFiles(folder or data_dir() / "footprints")
        self._known: dict[Path, Footprint] = {}
        self._may_start_light = may_start_light
        self.num_traced = 0
        """Traces that were not known before."""

    def training(self, variants: Sequence[TrainingVariant]) -> list[Footprint]:
        """The footprint of one micro-batch for each variant.

        Args:
            variants: All that a model allows.
        """
        lines: dict[str, _Line] = {}
        for weights in dict.fromkeys(variant.weights for variant in variants):
            sizes = {one.microbatch_size: one.training for one in variants if one.weights == weights}
            small, large = min(sizes), max(sizes)
            first = self.model(sizes[small])
            line = next((known.moved_to(small, first) for known in lines.values() if known.suits(first)), None)
            if line is None:
                last = first if large == small else self.model(sizes[large], like=first)
                line = _Line(small=small, first=first, large=large, last=last)
            lines[weights] = line
        return [lines[one.weights].at(one.microbatch_size) for one in variants]

    def model(self, model: TracedModel, *, backward: bool = True, like: Footprint | None = None) -> Footprint:
        """The footprint of one model.

        Args:
            model: What to trace.
            backward: Whether it is trained; else it makes samples.
            like: The same model with another batch: what does not depend on the batch is taken from it.
        """
        path = self._files.path_of(model.inputs)
        known = self._known.get(path) or self._files.load(model.inputs)
        if known is None:
            self._start()
            known = _traced(model, backward=backward, like=like)
            self._remember(model.inputs, json.dumps(asdict(known), indent=1))
        self._known[path] = known
        return known

    def call(self, call: TracedCall) -> CallFootprint:
        """What a module needs that runs by itself."""
        path = self._files.path_of(call.inputs)
        try:
            return CallFootprint(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            self._start()
            text = json.dumps(asdict(call.trace()))
            self._remember(call.inputs, text)
            return CallFootprint(**json.loads(text))

    def _start(self) -> None:
        if self._may_start_light:
            importlib.import_module(_LIGHT).start_without_compiler()

    def _remember(self, inputs: Inputs, text: str) -> None:
        self.num_traced += 1
        try:
            self._files.store(inputs, text)
        except OSError as problem:
            logger.warning("a forecast cannot be remembered (%s) and will take its time again.", problem)


def _traced(model: TracedModel, *, backward: bool, like: Footprint | None) -> Footprint:
    tracing = importlib.import_module(_TRACE)
    subject = model.make()
    if not backward:
        return Footprint.from_json(tracing.trace_sampling(subject).to_json())
    if like is None:
        return Footprint.from_json(tracing.trace_training(subject).to_json())
    # The optimiser takes a third of a trace's time.
    found = Footprint.from_json(tracing.trace_training(replace(subject, make_optimizer=None)).to_json())
    kinds = tuple(replace(kind, part=known.part) for kind, known in zip(found.kinds, like.kinds, strict=True))
    outer = replace(found.outer, part=like.outer.part)
    return replace(found, kinds=kinds, outer=outer, optimizer=like.optimizer)


@dataclass(frozen=True, kw_only=True)
class _Line:
    """The footprint of a micro-batch by its number of pictures, through the two that were traced."""

    small: int
    first: Footprint
    large: int
    last: Footprint

    def suits(self, other: Footprint) -> bool:
        """Whether another number format of the same model grows alike."""
        return self.large > self.small and other.kind_of_block == self.first.kind_of_block

    def moved_to(self, small: int, first: Footprint) -> "_Line":
        """As steep a line through another footprint."""
        rise = 1 / (self.large - self.small)
        last = _combined(first, self.first, self.last, rise)
        return _Line(small=small, first=first, large=small + 1, last=last)

    def at(self, size: int) -> Footprint:
        """The footprint for a number of pictures."""
        if size in (self.small, self.large):
            return self.first if size == self.small else self.last
        return _combined(self.first, self.first, self.last, (size - self.small) / (self.large - self.small))


def _combined(base: Footprint, low: Footprint, high: Footprint, share: float) -> Footprint:
    """`base`, and a share of what is between two others on top, as far as it depends on the batch."""

    def moved(one: Any, less: Any, more: Any, names: Sequence[str]) -> dict[str, int]:
        return {name: getattr(one, name) + round(share * (getattr(more, name) - getattr(less, name))) for name in names}

    kinds = tuple(
        replace(one, **moved(one, less, more, _OF_BLOCKS))
        for one, less, more in zip(base.kinds, low.kinds, high.kinds, strict=True)
    )
    return replace(
        base, kinds=kinds, outer=replace(base.outer, **moved(base.outer, low.outer, high.outer, _OF_OUTSIDE))
    )
